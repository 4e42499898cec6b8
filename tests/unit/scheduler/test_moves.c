#include "scheduler/mover/move_actions.h"
#include "scheduler/moves.h"

#include "scheduler/cache/cache.h"
#include "scheduler/loads/aggregators.h"
#include "scheduler/make_room/room_report.h"
#include "scheduler/mover/mover.h"
#include "scheduler/mover/recorder.h"
#include "scheduler/planner/planner.h"
#include "tests/support/cm.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- stand-ins: a report for which too many wait ---- */

enum { WAITING_MAX = 2 };

/* Those who wait for the report, if it takes any. */
static struct {
	void (*done)(void *owner, const char *fits, const char *error);
	void *owner;
} waiting[WAITING_MAX];
static size_t waiting_count;
static bool report_takes;

struct mover *__wrap_mover_new(const struct mover_options *options);
struct mover *__wrap_mover_new(const struct mover_options *options)
{
	(void)options;
	return NULL;
}

struct move_actions *__wrap_mover_actions(struct mover *mover);
struct move_actions *__wrap_mover_actions(struct mover *mover)
{
	static struct recorder recorder;
	static struct move_actions actions = { .recorder = &recorder };

	(void)mover;
	return &actions;
}

struct planner *__wrap_planner_new(const struct planner_options *options);
struct planner *__wrap_planner_new(const struct planner_options *options)
{
	(void)options;
	return NULL;
}

struct room_report *__wrap_room_report_new(uv_loop_t *loop, struct cache *cache,
	const struct kubevirt *kubevirt, struct planner *planner);
struct room_report *__wrap_room_report_new(uv_loop_t *loop, struct cache *cache,
	const struct kubevirt *kubevirt, struct planner *planner)
{
	static max_align_t report;

	(void)loop;
	(void)cache;
	(void)kubevirt;
	(void)planner;
	return (struct room_report *)&report;
}

struct reach *__wrap_reach_new(const struct reach_options *options);
struct reach *__wrap_reach_new(const struct reach_options *options)
{
	(void)options;
	return NULL;
}

void __wrap_mover_use_reach(struct mover *mover, const struct reach *reach);
void __wrap_mover_use_reach(struct mover *mover, const struct reach *reach)
{
	(void)mover;
	assert_null(reach);
}

bool __wrap_room_report_ask(struct room_report *report,
	void (*done)(void *owner, const char *fits, const char *error),
	void *owner);
bool __wrap_room_report_ask(struct room_report *report,
	void (*done)(void *owner, const char *fits, const char *error),
	void *owner)
{
	(void)report;
	if (!report_takes) {
		return false;
	}
	assert_true(waiting_count < WAITING_MAX);
	waiting[waiting_count].done = done;
	waiting[waiting_count++].owner = owner;
	return true;
}

void __wrap_room_report_forget(struct room_report *report, void *owner);
void __wrap_room_report_forget(struct room_report *report, void *owner)
{
	(void)report;
	for (size_t i = 0; i < waiting_count; i++) {
		if (waiting[i].owner == owner) {
			waiting[i] = waiting[--waiting_count];
			return;
		}
	}
	fail();
}

void __wrap_room_report_close(struct room_report *report);
void __wrap_room_report_close(struct room_report *report)
{
	(void)report;
}

static struct rebalance_teller teller;

void __wrap_question_client_tell(struct question_client *client,
	const struct rebalance_teller *to);
void __wrap_question_client_tell(struct question_client *client,
	const struct rebalance_teller *to)
{
	(void)client;
	teller = *to;
}

/* ---- the tests ---- */

static struct aggregators aggregators;
static struct cache cache;

struct answer {
	unsigned count;
	int status;
	char body[1024];
};

static void on_room(void *owner, int status, const struct buffer *body)
{
	struct answer *answer = owner;

	answer->count++;
	answer->status = status;
	(void)snprintf(answer->body, sizeof(answer->body), "%s", body->data);
}

/* With both flags off, nothing else is opened or asked. */
static void without_moves_the_room_is_answered_at_once(void **state)
{
	const struct scheduler_config config = { .make_room_timeout_us =
							 60000000 };
	struct moves *moves =
		moves_new(&(struct moves_options){ .config = &config,
			.cache = &cache,
			.aggregators = &aggregators });
	struct answer answer = { 0 };
	struct moves_stats stats;
	(void)state;

	moves_ask_room(moves, on_room, &answer);
	assert_int_equal(answer.count, 1);
	assert_int_equal(answer.status, 200);
	assert_non_null(strstr(answer.body, "\"mode\":\"off\""));
	assert_non_null(strstr(answer.body, "\"timeout_s\":60"));
	assert_non_null(strstr(answer.body, "\"making\":[]"));
	assert_non_null(strstr(answer.body, "\"fits_error\":\"nothing"));
	moves_stats(moves, &stats);
	assert_false(stats.has_moves);
	moves_forget_rooms(moves);
	moves_close(moves);
	moves_close(NULL);
}

static void more_than_may_wait_for_room_get_503_at_once(void **state)
{
	const struct scheduler_config config = { .rebalance = MOVER_RECOMMEND };
	struct moves *moves =
		moves_new(&(struct moves_options){ .config = &config,
			.cache = &cache,
			.aggregators = &aggregators });
	struct answer answer = { 0 };
	(void)state;

	moves_ask_room(moves, on_room, &answer);
	assert_int_equal(answer.count, 1);
	assert_int_equal(answer.status, 503);
	assert_non_null(strstr(answer.body,
		"\"fits_error\":\"too many requests wait\""));
	moves_close(moves);
}

static void one_who_left_is_not_told_of_the_room(void **state)
{
	const struct scheduler_config config = { .rebalance = MOVER_RECOMMEND };
	struct moves *moves =
		moves_new(&(struct moves_options){ .config = &config,
			.cache = &cache,
			.aggregators = &aggregators });
	const struct answers_room room = moves_room(moves);
	struct answer stays = { 0 }, leaves = { 0 };
	(void)state;

	report_takes = true;
	room.ask(room.moves, on_room, &leaves);
	room.ask(room.moves, on_room, &stays);
	room.forget(room.moves, &leaves);
	assert_int_equal(waiting_count, 1);
	waiting[0].done(waiting[0].owner, "{}", NULL);
	assert_int_equal(stays.count, 1);
	assert_non_null(strstr(stays.body, "\"fits\":{}"));
	assert_int_equal(leaves.count, 0);
	waiting_count = 0;
	report_takes = false;
	moves_close(moves);
}

static void without_moves_aggregators_are_told_that_they_are_off(void **state)
{
	const struct scheduler_config config = { 0 };
	struct moves *moves =
		moves_new(&(struct moves_options){ .config = &config,
			.cache = &cache,
			.aggregators = &aggregators });
	struct rebalance_state told = { 0 };
	(void)state;

	teller.tell(teller.owner, &told);
	assert_string_equal(told.mode, "Off");
	assert_string_equal(told.why, "--rebalance is off");
	moves_close(moves);
	assert_null(teller.tell);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_moves_the_room_is_answered_at_once),
		cmocka_unit_test(more_than_may_wait_for_room_get_503_at_once),
		cmocka_unit_test(one_who_left_is_not_told_of_the_room),
		cmocka_unit_test(
			without_moves_aggregators_are_told_that_they_are_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
