#include "scheduler/loads/profile_client.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "proto/wire.h"
#include "tests/support/cm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An aggregator of a few lines, in the same loop, and a queue. */
struct fixture {
	uv_loop_t loop;
	struct mq_server *server;
	struct pasts *pasts;
	struct queue queue;
	char url[64];
	struct option_list urls;
	struct dial_config dial;
	size_t asked;
	bool is_mute; /* keeps the questions, says nothing */
	struct mq_request *kept[8];
	bool is_told;
	struct cache cache;
};

static void answer(struct fixture *f, struct mq_request *request,
	const char *name)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct vm_past past;

	(void)f;
	vm_past_init(&past);
	if (strcmp(name, "busy") == 0) {
		past.seconds = 90000;
		past.mean_cores = 3;
		past.stdev_cores = 1;
	}
	wire_pack_profile(&out, &past);
	mq_reply(request, (const uint8_t *)out.data, out.len);
}

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;
	struct wire_request asked;

	assert_int_equal(wire_unpack_request(&asked, bytes, len, NULL), 0);
	assert_int_equal(asked.kind, WIRE_PROFILE_REQUEST);
	assert_string_equal(asked.profile.namespace, "ns");
	if (f->is_mute) {
		f->kept[f->asked] = request;
	} else {
		answer(f, request, asked.profile.name);
	}
	f->asked++;
	wire_request_fini(&asked);
}

static void on_answer(void *owner)
{
	struct fixture *f = owner;

	f->is_told = true;
}

static int setup(void **state)
{
	static struct fixture f;
	struct mq_server_options options = { .url = "tcp://127.0.0.1:0",
		.contexts = 4,
		.serve = serve,
		.owner = &f };

	f = (struct fixture){ 0 };
	cache_init(&f.cache);
	queue_init(&f.queue);
	log_setup(LOG_TEXT, LOG_ERROR);
	assert_int_equal(uv_loop_init(&f.loop), 0);
	assert_int_equal(mq_server_new(&f.server, &f.loop, &options, NULL), 0);
	(void)snprintf(f.url, sizeof(f.url), "tcp://127.0.0.1:%u",
		(unsigned)mq_server_port(f.server));
	f.urls = (struct option_list){ { f.url }, 1 };
	assert_int_equal(
		pasts_new(&f.pasts, &f.loop,
			&(struct pasts_options){ .aggregators = &f.urls,
				.dial = &f.dial,
				.on_answer = on_answer,
				.owner = &f,
				.queue = &f.queue,
				.cache = &f.cache },
			NULL),
		0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	pasts_close(f->pasts);
	mq_server_close(f->server);
	queue_fini(&f->queue);
	cache_fini(&f->cache);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	return 0;
}

static struct pod *make_pod(const char *uid, const char *vm)
{
	struct pod *pod = xcalloc(1, sizeof(*pod));

	pod->uid = xstrdup(uid);
	pod->namespace = xstrdup("ns");
	pod->name = xstrdup(uid);
	pod->vm_name = xstrdup(vm);
	pod->is_vm = true;
	return pod;
}

static struct waiting *put(struct fixture *f, const char *uid, const char *vm)
{
	queue_put(&f->queue, make_pod(uid, vm), 1);
	return queue_find(&f->queue, uid);
}

/* Asks for a VM of no interest until the connection is there. */
static void await_connection(struct fixture *f)
{
	struct waiting *first = put(f, "first", "first");

	while (pasts_may_place(f->pasts, first,
		(int64_t)clock_monotonic_us())) {
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
		if (f->asked > 0) {
			break;
		}
	}
	run_until(&f->loop, &f->is_told);
	f->is_told = false;
	queue_remove(&f->queue, "first");
}

static void a_pod_waits_for_its_past_and_gets_it(void **state)
{
	struct fixture *f = *state;
	struct waiting *pod;
	int64_t now;

	await_connection(f);
	pod = put(f, "u1", "busy");
	now = (int64_t)clock_monotonic_us();
	assert_false(pasts_may_place(f->pasts, pod, now));
	assert_int_equal(pod->not_before_us, now + PASTS_WAIT_US);
	run_until(&f->loop, &f->is_told);
	assert_int_equal(pod->not_before_us, 0);
	assert_true(pasts_may_place(f->pasts, pod, now));
	assert_true(fabs(pod->pod->past.mean_cores - 3) < 1e-9);
	assert_true(fabs(profile_variance(&pod->pod->past) - 1) < 1e-9);
	assert_true(pod->pod->past.seconds <= PROFILE_MEMORY_S);
	/* The next pod of the VM need not ask. */
	pod = put(f, "u2", "busy");
	assert_true(pasts_may_place(f->pasts, pod, now));
	assert_int_equal(f->asked, 2);
}

static void a_vm_nobody_knows_is_placed_at_once_when_that_is_said(void **state)
{
	struct fixture *f = *state;
	struct waiting *pod;
	int64_t now;

	await_connection(f);
	pod = put(f, "u1", "new");
	now = (int64_t)clock_monotonic_us();
	assert_false(pasts_may_place(f->pasts, pod, now));
	run_until(&f->loop, &f->is_told);
	assert_true(pasts_may_place(f->pasts, pod, now));
	assert_true(pod->pod->past.seconds <= 0);
}

static void nobody_waits_long(void **state)
{
	struct fixture *f = *state;
	struct waiting *pod;
	int64_t now;

	await_connection(f);
	f->is_mute = true;
	pod = put(f, "u1", "busy");
	now = (int64_t)clock_monotonic_us();
	assert_false(pasts_may_place(f->pasts, pod, now));
	assert_false(pasts_may_place(f->pasts, pod, now + PASTS_WAIT_US - 1));
	assert_true(pasts_may_place(f->pasts, pod, now + PASTS_WAIT_US));
	/* Nor a pod that was tried before, nor what is no VM. */
	pod = put(f, "u2", "other");
	pod->failures = 1;
	assert_true(pasts_may_place(f->pasts, pod, now));
	pod = put(f, "u3", "third");
	pod->pod->is_vm = false;
	assert_true(pasts_may_place(f->pasts, pod, now));
}

static void without_a_connection_nobody_waits_at_all(void **state)
{
	struct fixture *f = *state;
	struct waiting *pod = put(f, "u1", "busy");

	assert_true(
		pasts_may_place(f->pasts, pod, (int64_t)clock_monotonic_us()));
	assert_true(pod->pod->past.seconds <= 0);
}

/* It runs on the cache's node n, bound by somebody. */
static void run_vm(struct fixture *f, const char *uid, const char *vm)
{
	struct pod *pod = make_pod(uid, vm);

	pod->node_name = xstrdup("n");
	pod->vcpus = 4;
	cache_put_pod(&f->cache, pod, 0);
}

static double known_cores(const struct fixture *f, const char *uid)
{
	const struct node *node = cache_node(&f->cache, "n");

	return node_vms_model(&node->vms, uid)->past.mean_cores;
}

static void put_node(struct fixture *f)
{
	static const char text[] = "{\"metadata\":{\"name\":\"n\"}}";
	struct value *object = NULL;
	bool changed = false;

	assert_int_equal(value_parse(&object, text, strlen(text), NULL), 0);
	assert_int_equal(cache_put_node(&f->cache, &changed, object, 0, NULL),
		0);
	value_free(object);
}

/* After a start of the scheduler, and for VMs that others place. */
static void vms_that_run_are_asked_for_once_each(void **state)
{
	struct fixture *f = *state;
	uint64_t until_us;

	put_node(f);
	run_vm(f, "u1", "new");
	run_vm(f, "u2", "busy");
	run_vm(f, "u3", "");
	pasts_recall(f->pasts);
	until_us = clock_monotonic_us() + 10000000;
	while (known_cores(f, "u2") <= 0 && clock_monotonic_us() < until_us) {
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	}
	assert_true(fabs(known_cores(f, "u2") - 3) < 1e-9);
	assert_true(known_cores(f, "u1") <= 0);
	assert_int_equal(f->asked, 2);
	assert_null(cache_take_stranger(&f->cache));

	/* An update is no stranger, nor is one that we place. */
	run_vm(f, "u2", "busy");
	cache_assume(&f->cache, make_pod("u4", "busy"), "n", 0);
	run_vm(f, "u4", "busy");
	assert_null(cache_take_stranger(&f->cache));
	assert_true(fabs(known_cores(f, "u2") - 3) < 1e-9);

	/* One that goes before its turn is not asked for. */
	run_vm(f, "u5", "busy");
	(void)cache_remove_pod(&f->cache, "u5");
	assert_null(cache_take_stranger(&f->cache));
}

static void what_is_not_known_makes_no_profile(void **state)
{
	struct vm_past past;

	(void)state;
	vm_past_init(&past);
	assert_true(pasts_profile(&past).seconds <= 0);
	past.seconds = 60;
	assert_true(pasts_profile(&past).seconds <= 0);
	past.mean_cores = 2;
	assert_true(pasts_profile(&past).seconds > 59);
	assert_true(profile_variance(&(struct vm_profile){ 60, 2, 4 }) <= 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_pod_waits_for_its_past_and_gets_it),
		test(a_vm_nobody_knows_is_placed_at_once_when_that_is_said),
		test(nobody_waits_long),
		test(without_a_connection_nobody_waits_at_all),
		test(vms_that_run_are_asked_for_once_each),
		cmocka_unit_test(what_is_not_known_makes_no_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
