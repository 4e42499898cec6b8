#include "scheduler/loads/profile_client.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"
#include "scheduler/cache/cache.h"
#include "scheduler/loads/aggregator_client.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/loads/fake_aggregator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A minimal aggregator on the same event loop, and a queue. */
struct fixture {
	struct fake_aggregator aggregator;
	struct profile_client *profile_client;
	struct queue queue;
	size_t asked;
	bool is_mute; /* does not reply */
	struct mq_request *kept[8];
	bool is_answered;
	struct cache cache;
};

static void answer(struct fixture *f, struct mq_request *request,
	const char *name)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct vm_profile profile;

	(void)f;
	vm_profile_init(&profile);
	if (strcmp(name, "busy") == 0) {
		profile.seconds = 90000;
		profile.mean_cores = 3;
		profile.stdev_cores = 1;
	}
	wire_pack_profile(&out, &profile);
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

static void on_profile(void *owner)
{
	struct fixture *f = owner;

	f->is_answered = true;
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	cache_init(&f.cache);
	queue_init(&f.queue);
	fake_aggregator_open(&f.aggregator,
		(struct mq_server_options){ .serve = serve, .owner = &f });
	assert_int_equal(
		profile_client_new(&f.profile_client, &f.aggregator.loop,
			&(struct aggregators_options){
				.urls = &f.aggregator.urls,
				.credentials = &f.aggregator.credentials,
				.on_profile = on_profile,
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

	profile_client_close(f->profile_client);
	queue_fini(&f->queue);
	cache_fini(&f->cache);
	fake_aggregator_close(&f->aggregator);
	return 0;
}

static struct pod *make_pod(const char *uid, const char *vm)
{
	struct pod *pod = xcalloc(1, sizeof(*pod));

	pod->uid = xstrdup(uid);
	pod->namespace = xstrdup("ns");
	pod->name = xstrdup(uid);
	pod->vm_name = xstrdup(vm);
	pod->vmi_uid = xstrdup("");
	pod->is_vm = true;
	return pod;
}

static struct queued_pod *put(struct fixture *f, const char *uid,
	const char *vm)
{
	queue_put(&f->queue, make_pod(uid, vm), 1);
	return queue_find(&f->queue, uid);
}

static bool may_schedule(const struct fixture *f, struct queued_pod *pod)
{
	return profile_client_may_schedule(f->profile_client, pod,
		(int64_t)clock_monotonic_us());
}

/* The client notices its connection before or after the first request is
 * served. */
static bool is_first_asked(void *owner)
{
	struct fixture *f = owner;

	return !may_schedule(f, queue_find(&f->queue, "first")) && f->asked > 0;
}

/* Asks for another VM, which is answered when the client is connected. */
static void await_connection(struct fixture *f)
{
	f->is_mute = true;
	(void)put(f, "first", "first");
	run_until_true(&f->aggregator.loop, is_first_asked, f);
	f->is_mute = false;
	answer(f, f->kept[0], "first");
	run_until(&f->aggregator.loop, &f->is_answered);
	f->is_answered = false;
	queue_remove(&f->queue, "first");
}

static void a_pod_waits_for_its_vms_profile(void **state)
{
	struct fixture *f = *state;
	struct queued_pod *pod;
	int64_t now;

	await_connection(f);
	pod = put(f, "u1", "busy");
	now = (int64_t)clock_monotonic_us();
	assert_false(may_schedule(f, pod));
	assert_int_equal(pod->not_before_us, now + PROFILE_CLIENT_WAIT_US);
	run_until(&f->aggregator.loop, &f->is_answered);
	assert_int_equal(pod->not_before_us, 0);
	assert_true(may_schedule(f, pod));
	assert_true(fabs(pod->pod->usage.mean_cores - 3) < 1e-9);
	assert_true(fabs(usage_variance(&pod->pod->usage) - 1) < 1e-9);
	assert_true(pod->pod->usage.seconds <= USAGE_MEMORY_S);
	/* The next pod of the VM uses the same profile. */
	pod = put(f, "u2", "busy");
	assert_true(may_schedule(f, pod));
	assert_int_equal(f->asked, 2);
}

static void an_unknown_vm_waits_only_for_the_reply(void **state)
{
	struct fixture *f = *state;
	struct queued_pod *pod;

	await_connection(f);
	pod = put(f, "u1", "new");
	assert_false(may_schedule(f, pod));
	run_until(&f->aggregator.loop, &f->is_answered);
	assert_true(may_schedule(f, pod));
	assert_true(pod->pod->usage.seconds <= 0);
}

static void a_pod_waits_for_a_limited_time(void **state)
{
	struct fixture *f = *state;
	struct queued_pod *pod;
	int64_t now;

	await_connection(f);
	f->is_mute = true;
	pod = put(f, "u1", "busy");
	now = (int64_t)clock_monotonic_us();
	assert_false(may_schedule(f, pod));
	assert_false(profile_client_may_schedule(f->profile_client, pod,
		now + PROFILE_CLIENT_WAIT_US - 1));
	assert_true(profile_client_may_schedule(f->profile_client, pod,
		now + PROFILE_CLIENT_WAIT_US));
	/* A pod that was tried before does not wait, nor one that is no VM. */
	pod = put(f, "u2", "other");
	pod->failures = 1;
	assert_true(may_schedule(f, pod));
	pod = put(f, "u3", "third");
	pod->pod->is_vm = false;
	assert_true(may_schedule(f, pod));
}

static void without_a_connection_no_pod_waits(void **state)
{
	struct fixture *f = *state;
	struct queued_pod *pod = put(f, "u1", "busy");

	assert_true(may_schedule(f, pod));
	assert_true(pod->pod->usage.seconds <= 0);
}

/* Another scheduler bound the pod to node n. */
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

	return node_vms_model(&node->vms, uid)->usage.mean_cores;
}

static void put_node(struct fixture *f)
{
	static const char text[] = "{\"metadata\":{\"name\":\"n\"}}";
	struct json_value *object = NULL;
	bool changed = false;

	assert_int_equal(json_value_parse(&object, text, strlen(text), NULL),
		0);
	assert_int_equal(cache_put_node(&f->cache, &changed, object, 0, NULL),
		0);
	json_value_free(object);
}

static bool is_u2_known(void *owner)
{
	return known_cores(owner, "u2") > 0;
}

static void asks_once_for_each_running_vm(void **state)
{
	struct fixture *f = *state;

	put_node(f);
	run_vm(f, "u1", "new");
	run_vm(f, "u2", "busy");
	run_vm(f, "u3", "");
	profile_client_backfill(f->profile_client);
	run_until_true(&f->aggregator.loop, is_u2_known, f);
	assert_true(fabs(known_cores(f, "u2") - 3) < 1e-9);
	assert_true(known_cores(f, "u1") <= 0);
	assert_int_equal(f->asked, 2);
	assert_null(cache_next_unprofiled(&f->cache));

	/* Updates and pods that we bind are not unprofiled. */
	run_vm(f, "u2", "busy");
	cache_assume(&f->cache, make_pod("u4", "busy"), "n", 0);
	run_vm(f, "u4", "busy");
	assert_null(cache_next_unprofiled(&f->cache));
	assert_true(fabs(known_cores(f, "u2") - 3) < 1e-9);

	/* A pod that is deleted before its turn is not asked for. */
	run_vm(f, "u5", "busy");
	(void)cache_remove_pod(&f->cache, "u5");
	assert_null(cache_next_unprofiled(&f->cache));
}

static bool is_asked_twice(void *owner)
{
	return ((const struct fixture *)owner)->asked == 2;
}

static bool is_backfill_asking(void *owner)
{
	const struct fixture *f = owner;

	return TAILQ_EMPTY(&f->cache.unprofiled.list);
}

/* The pod is the target of a migration, or of a VM that runs twice. */
static void a_pod_that_waits_keeps_its_question_when_a_backfill_asks_it_too(
	void **state)
{
	struct fixture *f = *state;
	struct queued_pod *pod;

	await_connection(f);
	f->is_mute = true;
	pod = put(f, "u1", "busy");
	assert_false(may_schedule(f, pod));
	put_node(f);
	run_vm(f, "u2", "busy");
	profile_client_backfill(f->profile_client);
	run_until_true(&f->aggregator.loop, is_backfill_asking, f);
	run_until_true(&f->aggregator.loop, is_asked_twice, f);
	answer(f, f->kept[1], "busy");
	run_until_true(&f->aggregator.loop, is_u2_known, f);
	assert_int_equal(pod->not_before_us, 0);
	assert_true(f->is_answered);
	assert_int_equal(f->asked, 2);
}

/* In the background, the reader of an aggregator is free nearly all of the
 * time. */
static void pauses_in_proportion_to_the_last_answer(void **state)
{
	(void)state;
	assert_int_equal(profile_client_pause_us(0), 0);
	assert_int_equal(profile_client_pause_us(2000), 118000);
	assert_int_equal(profile_client_pause_us(UINT64_C(60000000)), 5000000);
}

static void unknown_values_make_no_usage(void **state)
{
	struct vm_profile profile;

	(void)state;
	vm_profile_init(&profile);
	assert_true(profile_client_usage(&profile).seconds <= 0);
	profile.seconds = 60;
	assert_true(profile_client_usage(&profile).seconds <= 0);
	profile.mean_cores = 2;
	assert_true(profile_client_usage(&profile).seconds > 59);
	assert_true(usage_variance(&(struct usage){ .seconds = 60,
			    .mean_cores = 2,
			    .square_cores = 4 }) <= 0);
}

static void a_profile_becomes_a_usage_with_its_variance(void **state)
{
	struct vm_profile profile;
	struct usage usage;

	(void)state;
	vm_profile_init(&profile);
	profile.seconds = 60;
	profile.mean_cores = 3;
	profile.stdev_cores = 2;
	usage = profile_client_usage(&profile);
	assert_true(usage.seconds == 60 && usage.mean_cores == 3);
	assert_true(usage.square_cores == 13);
	profile.seconds = 1e12;
	assert_true(profile_client_usage(&profile).seconds == USAGE_MEMORY_S);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_pod_waits_for_its_vms_profile),
		test(an_unknown_vm_waits_only_for_the_reply),
		test(pauses_in_proportion_to_the_last_answer),
		test(a_pod_waits_for_a_limited_time),
		test(without_a_connection_no_pod_waits),
		test(asks_once_for_each_running_vm),
		test(a_pod_that_waits_keeps_its_question_when_a_backfill_asks_it_too),
		cmocka_unit_test(unknown_values_make_no_usage),
		cmocka_unit_test(a_profile_becomes_a_usage_with_its_variance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
