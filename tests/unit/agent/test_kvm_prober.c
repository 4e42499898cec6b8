#include "agent/kvm_prober.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/loop.h"
#include "tests/support/cm.h"

/* Blocks the probe's thread until the test opens the gate. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static bool has_no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
	void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
	void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
	void *(*run)(void *), void *argument)
{
	return has_no_threads
		? EAGAIN
		: __real_pthread_create(thread, attributes, run, argument);
}

struct fixture {
	uv_loop_t loop;
	struct kvm_prober *prober;
	struct kvm last;
	int count;
	bool got, got_two, got_ok;
	bool close_at_once;
};

static void on_probed(void *owner, const struct kvm *kvm)
{
	struct fixture *f = owner;

	f->last = *kvm;
	f->count++;
	f->got = true;
	f->got_two = f->count >= 2;
	f->got_ok = kvm->state == KVM_OK;
	if (f->close_at_once) {
		kvm_prober_close(f->prober);
		f->prober = NULL;
	}
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	has_no_threads = false;
	assert_int_equal(uv_loop_init(&f.loop), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kvm_prober_close(f->prober);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	return 0;
}

static const uint64_t patience_ms = PATIENCE_S * UINT64_C(1000);

static void probe_with(struct fixture *f, kvm_probe_body body, uint64_t cpu_ms,
	uint64_t wall_ms)
{
	f->prober = kvm_prober_new(&f->loop,
		&(const struct kvm_prober_options){
			.body = body,
			.plan = { -1, -1, KVM_LEVEL_RUN },
			.every_ms = 1,
			.cpu_ms = cpu_ms,
			.wall_ms = wall_ms,
			.probed = on_probed,
			.owner = f,
		});
}

static void no_permission(struct kvm *out, const struct kvm_plan *plan)
{
	assert(plan->level == KVM_LEVEL_RUN);
	out->state = kvm_classify(KVM_STEP_CREATE, EPERM);
	out->level = KVM_LEVEL_OPEN;
	out->error_number = EPERM;
	out->latency_us = 5;
}

static void hang(struct kvm *out, const struct kvm_plan *plan)
{
	(void)plan;
	(void)pthread_mutex_lock(&gate);
	(void)pthread_mutex_unlock(&gate);
	out->state = KVM_OK;
	out->level = KVM_LEVEL_RUN;
}

static void probes_periodically(void **state)
{
	struct fixture *f = *state;

	probe_with(f, no_permission, patience_ms, patience_ms);
	run_until(&f->loop, &f->got_two);
	assert_int_equal(f->last.state, KVM_UNVERIFIED);
	assert_int_equal(f->last.level, KVM_LEVEL_OPEN);
	assert_int_equal(f->last.error_number, EPERM);
	assert_int_equal(f->last.latency_us, 5);
}

/* It says nothing about the node. */
static void a_probe_without_a_thread_has_not_failed(void **state)
{
	struct fixture *f = *state;

	has_no_threads = true;
	probe_with(f, no_permission, patience_ms, patience_ms);
	run_until(&f->loop, &f->got);
	assert_int_equal(f->last.state, KVM_UNVERIFIED);
	assert_int_equal(f->last.error_number, EAGAIN);
	has_no_threads = false;
	f->got = false;
	run_until(&f->loop, &f->got);
	assert_int_equal(f->last.error_number, EPERM);
}

static void a_hung_probe_counts_as_failed_until_it_returns(void **state)
{
	struct fixture *f = *state;

	(void)pthread_mutex_lock(&gate);
	probe_with(f, hang, patience_ms, 20);
	run_until(&f->loop, &f->got);
	assert_int_equal(f->last.state, KVM_RUN_FAILED);
	assert_int_equal(f->last.error_number, ETIMEDOUT);
	assert_int_equal(f->last.latency_us, 20000);
	(void)pthread_mutex_unlock(&gate);
	run_until(&f->loop, &f->got_ok);
	assert_int_equal(f->last.error_number, 0);
}

static void end_wait(void *owner)
{
	bool *is_over = owner;

	*is_over = true;
}

/* A timer that is due later fires later. */
static void a_probe_that_has_returned_does_not_fail_later(void **state)
{
	struct fixture *f = *state;
	struct timer *later;
	bool is_over = false;
	int count;

	f->prober = kvm_prober_new(&f->loop,
		&(const struct kvm_prober_options){
			.body = no_permission,
			.plan = { -1, -1, KVM_LEVEL_RUN },
			.every_ms = patience_ms,
			.cpu_ms = 1,
			.wall_ms = 1,
			.probed = on_probed,
			.owner = f,
		});
	do {
		f->got = false;
		run_until(&f->loop, &f->got);
	} while (f->last.error_number != EPERM);
	count = f->count;
	later = timer_new(&f->loop, end_wait, &is_over);
	timer_start(later, 2, 0);
	run_until(&f->loop, &is_over);
	timer_close(later);
	assert_int_equal(f->count, count);
}

/* The thread waits and uses no CPU, as on a starved node. */
static void a_probe_that_gets_no_cpu_has_not_failed(void **state)
{
	enum { CHECKS = 5 };
	struct fixture *f = *state;

	(void)pthread_mutex_lock(&gate);
	probe_with(f, hang, 1, patience_ms);
	for (int i = 0; i < CHECKS; i++) {
		(void)uv_run(&f->loop, UV_RUN_ONCE);
	}
	assert_int_equal(f->count, 0);
	(void)pthread_mutex_unlock(&gate);
	run_until(&f->loop, &f->got);
	assert_int_equal(f->last.state, KVM_OK);
}

static atomic_bool may_end;

static void spin(struct kvm *out, const struct kvm_plan *plan)
{
	(void)plan;
	while (!may_end) {
	}
	out->state = KVM_OK;
	out->level = KVM_LEVEL_RUN;
}

static void a_guest_that_never_stops_has_failed(void **state)
{
	struct fixture *f = *state;

	may_end = false;
	probe_with(f, spin, 10, patience_ms);
	run_until(&f->loop, &f->got);
	assert_int_equal(f->last.state, KVM_RUN_FAILED);
	assert_int_equal(f->last.error_number, ETIMEDOUT);
	may_end = true;
	run_until(&f->loop, &f->got_ok);
}

static void closes_without_waiting_for_a_hung_probe(void **state)
{
	struct fixture *f = *state;

	(void)pthread_mutex_lock(&gate);
	probe_with(f, hang, patience_ms, 5);
	run_until(&f->loop, &f->got);
	kvm_prober_close(f->prober);
	f->prober = NULL;
	f->count = 0;
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	(void)pthread_mutex_unlock(&gate);
	assert_int_equal(f->count, 0);
}

static void can_be_closed_in_its_callback(void **state)
{
	struct fixture *f = *state;

	f->close_at_once = true;
	probe_with(f, no_permission, patience_ms, patience_ms);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(f->count, 1);
}

static void closes_without_a_callback_right_after_the_start(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++) {
		probe_with(f, no_permission, patience_ms, patience_ms);
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
		kvm_prober_close(f->prober);
		f->prober = NULL;
		f->count = 0;
		(void)uv_run(&f->loop, UV_RUN_DEFAULT);
		assert_int_equal(f->count, 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(probes_periodically),
		TEST(a_probe_without_a_thread_has_not_failed),
		TEST(a_hung_probe_counts_as_failed_until_it_returns),
		TEST(a_probe_that_has_returned_does_not_fail_later),
		TEST(a_probe_that_gets_no_cpu_has_not_failed),
		TEST(a_guest_that_never_stops_has_failed),
		TEST(closes_without_waiting_for_a_hung_probe),
		TEST(can_be_closed_in_its_callback),
		TEST(closes_without_a_callback_right_after_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
