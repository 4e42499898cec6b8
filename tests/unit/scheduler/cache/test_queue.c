#include "scheduler/cache/queue.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stdio.h>

#define SECOND INT64_C(1000000)

static struct pod *make_pod(const char *uid, int32_t priority,
	int64_t generation)
{
	struct pod *pod = xcalloc(1, sizeof(*pod));

	pod->uid = xstrdup(uid);
	pod->priority = priority;
	pod->generation = generation;
	return pod;
}

static struct queued_pod *put(struct queue *queue, const char *uid,
	int32_t priority, int64_t now)
{
	queue_put(queue, make_pod(uid, priority, 1), now);
	return queue_find(queue, uid);
}

static struct queued_pod *next_of(struct queue *queue, int64_t now)
{
	struct queued_pod *next = NULL;

	(void)queue_next(queue, &next, 1, now);
	return next;
}

static void returns_several_pods_in_order(void **state)
{
	static const char *const expected[] = { "e", "d", "a", "b" };
	struct queued_pod *next[4];
	struct queue queue;
	(void)state;

	queue_init(&queue);
	assert_int_equal(queue_next(&queue, next, 4, 0), 0);
	put(&queue, "c", 0, 3 * SECOND);
	put(&queue, "a", 0, 1 * SECOND);
	put(&queue, "d", 7, 4 * SECOND);
	put(&queue, "b", 0, 2 * SECOND);
	put(&queue, "e", 9, 5 * SECOND);
	assert_int_equal(queue_next(&queue, next, 0, 9 * SECOND), 0);
	assert_int_equal(queue_next(&queue, next, 4, 9 * SECOND), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(next[i]->pod->uid, expected[i]);
	}
	queue_remove(&queue, "e");
	queue_remove(&queue, "a");
	assert_int_equal(queue_next(&queue, next, 4, 9 * SECOND), 3);
	assert_string_equal(next[2]->pod->uid, "c");
	queue_fini(&queue);
}

static void orders_by_priority_then_by_arrival(void **state)
{
	struct queue queue;
	(void)state;

	queue_init(&queue);
	put(&queue, "late", 0, 3 * SECOND);
	put(&queue, "early", 0, 1 * SECOND);
	put(&queue, "important", 5, 9 * SECOND);
	assert_string_equal(next_of(&queue, 10 * SECOND)->pod->uid,
		"important");
	queue_remove(&queue, "important");
	assert_string_equal(next_of(&queue, 10 * SECOND)->pod->uid, "early");
	queue_remove(&queue, "early");
	assert_string_equal(next_of(&queue, 10 * SECOND)->pod->uid, "late");
	queue_remove(&queue, "late");
	assert_null(next_of(&queue, 10 * SECOND));
	assert_true(queue_wake_us(&queue) == INT64_MAX);
	queue_fini(&queue);
}

static void errors_back_off_1_2_4_8_10_10_seconds(void **state)
{
	static const int expected[] = { 1, 2, 4, 8, 10, 10 };
	struct queue queue;
	struct queued_pod *queued;
	int64_t now = 0;
	(void)state;

	queue_init(&queue);
	queued = put(&queue, "a", 0, 0);
	for (size_t i = 0; i < count_of(expected); i++) {
		queue_failed(&queue, queued, false, now);
		assert_true(
			queue_wake_us(&queue) == now + expected[i] * SECOND);
		now += expected[i] * SECOND;
		assert_null(next_of(&queue, now - 1));
		assert_ptr_equal(next_of(&queue, now), queued);
	}
	queue_fini(&queue);
}

static void an_unschedulable_pod_waits_for_a_change_and_its_backoff(
	void **state)
{
	struct queue queue;
	struct queued_pod *queued;
	(void)state;

	queue_init(&queue);
	queued = put(&queue, "a", 0, 0);
	queue_failed(&queue, queued, true, 0);
	assert_null(next_of(&queue, 100 * SECOND));
	queue_wake_all(&queue);
	assert_null(next_of(&queue, SECOND - 1));
	assert_ptr_equal(next_of(&queue, SECOND), queued);
	queue_fini(&queue);
}

static void an_unschedulable_pod_is_tried_again_after_5_minutes(void **state)
{
	struct queue queue;
	struct queued_pod *queued;
	(void)state;

	queue_init(&queue);
	queued = put(&queue, "a", 0, 0);
	queue_failed(&queue, queued, true, 7 * SECOND);
	assert_true(queue_wake_us(&queue) == 307 * SECOND);
	assert_null(next_of(&queue, 307 * SECOND - 1));
	assert_ptr_equal(next_of(&queue, 307 * SECOND), queued);
	queue_fini(&queue);
}

/* After a change or after the flush. */
static void a_pod_that_returns_keeps_its_position(void **state)
{
	static const char *const expected[] = { "b", "a", "c", "d" };
	struct queued_pod *next[4];
	struct queue queue;
	(void)state;

	queue_init(&queue);
	put(&queue, "a", 0, 1 * SECOND);
	put(&queue, "b", 3, 2 * SECOND);
	put(&queue, "c", 0, 3 * SECOND);
	queue_failed(&queue, queue_find(&queue, "c"), true, 4 * SECOND);
	queue_failed(&queue, queue_find(&queue, "a"), true, 5 * SECOND);
	queue_failed(&queue, queue_find(&queue, "b"), true, 6 * SECOND);
	put(&queue, "d", 0, 7 * SECOND);
	assert_int_equal(queue_next(&queue, next, 4, 304 * SECOND), 2);
	assert_string_equal(next[0]->pod->uid, "c");
	assert_string_equal(next[1]->pod->uid, "d");
	assert_true(queue_wake_us(&queue) == 0);
	queue_wake_all(&queue);
	assert_int_equal(queue_next(&queue, next, 4, 304 * SECOND), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(next[i]->pod->uid, expected[i]);
	}
	queue_fini(&queue);
}

static void a_new_spec_wakes_a_pod_but_a_condition_does_not(void **state)
{
	struct queue queue;
	struct queued_pod *queued;
	(void)state;

	queue_init(&queue);
	queued = put(&queue, "a", 0, 0);
	queue_failed(&queue, queued, true, 0);
	queue_put(&queue, make_pod("a", 0, 1), SECOND);
	assert_null(next_of(&queue, 100 * SECOND));
	queue_put(&queue, make_pod("a", 0, 2), SECOND);
	assert_ptr_equal(next_of(&queue, 100 * SECOND), queued);
	assert_true(queue.by_uid.count == 1);
	queue_fini(&queue);
}

static void does_not_return_a_pod_that_is_being_bound(void **state)
{
	struct queue queue;
	struct queued_pod *queued;
	(void)state;

	queue_init(&queue);
	queued = put(&queue, "a", 0, 0);
	queue_set(&queue, queued, QUEUED_BINDING);
	pod_free(take_ptr(queued->pod));
	assert_null(next_of(&queue, 1000 * SECOND));
	queue_wake_all(&queue);
	assert_null(next_of(&queue, 1000 * SECOND));
	queue_put(&queue, make_pod("a", 0, 2), SECOND);
	assert_int_equal(queued->state, QUEUED_BINDING);
	assert_non_null(queued->pod);
	queue_fini(&queue);
}

static void a_pod_on_a_node_wakes_pods_that_depend_on_pods(void **state)
{
	struct queue queue;
	struct queued_pod *plain;
	struct queued_pod *apart;
	struct queued_pod *even;
	(void)state;

	queue_init(&queue);
	plain = put(&queue, "plain", 0, 0);
	apart = put(&queue, "apart", 0, 0);
	even = put(&queue, "even", 0, 0);
	apart->pod->affinity.required_anti.count = 1;
	even->pod->spread.hard_count = 1;
	assert_false(queue_wake_related(&queue));
	queue_failed(&queue, plain, true, 0);
	queue_failed(&queue, apart, true, 0);
	queue_failed(&queue, even, true, 0);
	assert_true(queue_wake_related(&queue));
	assert_int_equal(plain->state, QUEUED_UNSCHEDULABLE);
	assert_int_equal(apart->state, QUEUED_READY);
	assert_int_equal(even->state, QUEUED_READY);
	apart->pod->affinity.required_anti.count = 0;
	queue_fini(&queue);
}

static void a_gated_pod_waits_until_its_gates_are_removed(void **state)
{
	struct queue queue;
	struct pod *gated = make_pod("a", 0, 1);
	(void)state;

	queue_init(&queue);
	gated->is_gated = true;
	queue_put(&queue, gated, 1 * SECOND);
	assert_null(next_of(&queue, 999 * SECOND));
	assert_true(queue_wake_us(&queue) == INT64_MAX);
	queue_wake_all(&queue);
	assert_null(next_of(&queue, 999 * SECOND));
	assert_int_equal(queue.added, 0);
	put(&queue, "b", 0, 2 * SECOND);
	put(&queue, "a", 0, 3 * SECOND);
	assert_int_equal(queue.added, 2);
	/* Its arrival is when its gates were removed. */
	assert_string_equal(next_of(&queue, 4 * SECOND)->pod->uid, "b");
	queue_remove(&queue, "b");
	assert_string_equal(next_of(&queue, 4 * SECOND)->pod->uid, "a");
	queue_fini(&queue);
}

static void put_target(struct queue *queue, const char *uid, int32_t priority,
	bool is_move, int64_t now)
{
	struct pod *pod = make_pod(uid, priority, 1);

	pod->is_target = true;
	pod->is_move = is_move;
	queue_put(queue, pod, now);
}

static void targets_of_ordered_moves_go_first_then_other_targets(void **state)
{
	static const char *const expected[] = { "move", "high", "drain",
		"plain" };
	struct queued_pod *next[4];
	struct queue queue;
	(void)state;

	queue_init(&queue);
	put(&queue, "plain", 0, 1 * SECOND);
	put(&queue, "high", 7, 2 * SECOND);
	put_target(&queue, "drain", 0, false, 3 * SECOND);
	put_target(&queue, "move", 0, true, 4 * SECOND);
	assert_int_equal(queue_next(&queue, next, 4, 9 * SECOND), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(next[i]->pod->uid, expected[i]);
	}
	queue_fini(&queue);
}

static void few_pods_at_a_time_go_before_others_of_higher_priority(void **state)
{
	struct queued_pod *next[QUEUE_MOVES_MAX + 2];
	struct queue queue;
	(void)state;

	queue_init(&queue);
	put(&queue, "high", 7, 0);
	for (int i = 0; i <= QUEUE_MOVES_MAX; i++) {
		scoped_free char *uid = xasprintf("m%d", i);

		put_target(&queue, uid, 0, true, i);
	}
	assert_int_equal(queue_next(&queue, next, QUEUE_MOVES_MAX + 2, SECOND),
		QUEUE_MOVES_MAX + 2);
	assert_string_equal(next[QUEUE_MOVES_MAX]->pod->uid, "high");
	queue_remove(&queue, "m0");
	put_target(&queue, "again", 0, true, SECOND);
	assert_int_equal(queue_next(&queue, next, QUEUE_MOVES_MAX + 2, SECOND),
		QUEUE_MOVES_MAX + 2);
	assert_string_equal(next[QUEUE_MOVES_MAX - 1]->pod->uid, "again");
	queue_fini(&queue);
}

static void only_pods_that_may_be_tried_go_first(void **state)
{
	struct queued_pod *next[2];
	struct queue queue;
	(void)state;

	queue_init(&queue);
	for (int i = 0; i < QUEUE_MOVES_MAX; i++) {
		scoped_free char *uid = xasprintf("fake%d", i);

		put_target(&queue, uid, 0, true, i);
		queue_failed(&queue, queue_find(&queue, uid), true, SECOND);
	}
	assert_int_equal(queue.moves, 0);
	put(&queue, "high", 7, 0);
	put_target(&queue, "move", 0, true, SECOND);
	assert_int_equal(queue_next(&queue, next, 2, SECOND), 2);
	assert_string_equal(next[0]->pod->uid, "move");
	queue_wake_all(&queue);
	assert_int_equal(queue.moves, QUEUE_MOVES_MAX);
	queue_fini(&queue);
}

static void a_pod_goes_first_once_its_move_is_known(void **state)
{
	struct queue queue;
	(void)state;

	queue_init(&queue);
	put(&queue, "high", 7, 0);
	put_target(&queue, "move", 0, false, SECOND);
	assert_string_equal(next_of(&queue, SECOND)->pod->uid, "high");
	put_target(&queue, "move", 0, true, SECOND);
	assert_string_equal(next_of(&queue, SECOND)->pod->uid, "move");
	put_target(&queue, "move", 0, false, SECOND);
	assert_string_equal(next_of(&queue, SECOND)->pod->uid, "high");
	assert_int_equal(queue.moves, 0);
	queue_fini(&queue);
}

static void a_pod_may_be_tried_at_once_whatever_its_backoff(void **state)
{
	struct queued_pod *queued;
	struct queue queue;
	(void)state;

	queue_init(&queue);
	queued = put(&queue, "a", 0, SECOND);
	queue_failed(&queue, queued, true, SECOND);
	assert_null(next_of(&queue, SECOND));
	queue_hurry(&queue, "a");
	assert_ptr_equal(next_of(&queue, SECOND), queued);
	/* It is ready, and waits for its back-off. */
	queue_failed(&queue, queued, false, SECOND);
	assert_null(next_of(&queue, SECOND));
	queue_hurry(&queue, "a");
	assert_ptr_equal(next_of(&queue, SECOND), queued);
	queue_set(&queue, queued, QUEUED_BINDING);
	queue_hurry(&queue, "a");
	assert_null(next_of(&queue, SECOND));
	queue_hurry(&queue, "nobody");
	queue_fini(&queue);
}

static struct queued_pod *put_in(struct queue *queue, uint32_t namespace,
	const char *uid, int32_t priority, int64_t now)
{
	struct queued_pod *queued = put(queue, uid, priority, now);

	queued->pod->namespace_id = namespace;
	return queued;
}

/* The ids are of no interner. */
static void end(struct queue *queue)
{
	size_t at = 0;
	void *value;

	while (map_next(&queue->by_uid, &at, NULL, &value)) {
		struct queued_pod *queued = value;

		queued->pod->namespace_id = 0;
	}
	queue_fini(queue);
}

/* Its pods came first, and one has a priority. */
static void a_namespace_over_its_share_goes_after_others(void **state)
{
	struct queued_pod *next[4];
	struct queued_pod *greedy;
	struct queue queue;
	(void)state;

	queue_init(&queue);
	greedy = put_in(&queue, 1, "greedy", 9, 0);
	put_in(&queue, 1, "more", 0, 0);
	put_in(&queue, 2, "other", 0, 1);
	assert_ptr_equal(next_of(&queue, SECOND), greedy);
	queue_spent(&queue, greedy, TIME_SHARES_BURST_US + 1, SECOND);
	assert_int_equal(queue_next(&queue, next, 4, SECOND), 1);
	assert_string_equal(next[0]->pod->uid, "other");
	/* Its quarter of the time that passed. */
	assert_ptr_equal(next_of(&queue, SECOND + 4), greedy);
	end(&queue);
}

static void a_namespace_over_its_share_is_alone_and_goes_on(void **state)
{
	struct queued_pod *greedy, *other;
	struct queue queue;
	(void)state;

	queue_init(&queue);
	greedy = put_in(&queue, 1, "greedy", 0, 0);
	other = put_in(&queue, 2, "other", 0, 0);
	queue_failed(&queue, other, false, SECOND);
	queue_spent(&queue, greedy, 2 * TIME_SHARES_BURST_US, SECOND);
	assert_ptr_equal(next_of(&queue, SECOND), greedy);
	end(&queue);
}

static void a_move_that_was_ordered_goes_first_whatever_its_share(void **state)
{
	struct queued_pod *move;
	struct queue queue;
	(void)state;

	queue_init(&queue);
	put_in(&queue, 2, "other", 0, 0);
	move = put_in(&queue, 1, "move", 0, 0);
	move->pod->is_move = true;
	queue_set(&queue, move, QUEUED_READY);
	queue_spent(&queue, move, 2 * TIME_SHARES_BURST_US, SECOND);
	assert_ptr_equal(next_of(&queue, SECOND), move);
	end(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_pod_on_a_node_wakes_pods_that_depend_on_pods),
		cmocka_unit_test(orders_by_priority_then_by_arrival),
		cmocka_unit_test(errors_back_off_1_2_4_8_10_10_seconds),
		cmocka_unit_test(
			an_unschedulable_pod_waits_for_a_change_and_its_backoff),
		cmocka_unit_test(
			an_unschedulable_pod_is_tried_again_after_5_minutes),
		cmocka_unit_test(a_pod_that_returns_keeps_its_position),
		cmocka_unit_test(
			a_new_spec_wakes_a_pod_but_a_condition_does_not),
		cmocka_unit_test(does_not_return_a_pod_that_is_being_bound),
		cmocka_unit_test(a_gated_pod_waits_until_its_gates_are_removed),
		cmocka_unit_test(returns_several_pods_in_order),
		cmocka_unit_test(
			targets_of_ordered_moves_go_first_then_other_targets),
		cmocka_unit_test(
			few_pods_at_a_time_go_before_others_of_higher_priority),
		cmocka_unit_test(only_pods_that_may_be_tried_go_first),
		cmocka_unit_test(a_pod_goes_first_once_its_move_is_known),
		cmocka_unit_test(
			a_pod_may_be_tried_at_once_whatever_its_backoff),
		cmocka_unit_test(a_namespace_over_its_share_goes_after_others),
		cmocka_unit_test(
			a_namespace_over_its_share_is_alone_and_goes_on),
		cmocka_unit_test(
			a_move_that_was_ordered_goes_first_whatever_its_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
