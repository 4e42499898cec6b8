#include "scheduler/moves.h"

#include "scheduler/loads/aggregators.h"
#include "scheduler/make_room/planner.h"
#include "scheduler/make_room/room_report.h"
#include "scheduler/mover/journal.h"
#include "scheduler/mover/mover.h"
#include "tests/support/cm.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- stand-ins: a report for which too many wait ---- */

struct mover *__wrap_mover_new(const struct mover_options *options);
struct mover *__wrap_mover_new(const struct mover_options *options)
{
	(void)options;
	return NULL;
}

struct mover_parts __wrap_mover_parts(struct mover *mover);
struct mover_parts __wrap_mover_parts(struct mover *mover)
{
	static struct journal journal;

	(void)mover;
	return (struct mover_parts){ .journal = &journal };
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

bool __wrap_room_report_ask(struct room_report *report,
	void (*done)(void *owner, const char *fits, const char *error),
	void *owner);
bool __wrap_room_report_ask(struct room_report *report,
	void (*done)(void *owner, const char *fits, const char *error),
	void *owner)
{
	(void)report;
	(void)done;
	(void)owner;
	return false;
}

void __wrap_room_report_close(struct room_report *report);
void __wrap_room_report_close(struct room_report *report)
{
	(void)report;
}

/* ---- the tests ---- */

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
		moves_new(&(struct moves_options){ .config = &config });
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
	static struct aggregators aggregators;
	const struct scheduler_config config = { .rebalance = MOVER_RECOMMEND };
	struct moves *moves =
		moves_new(&(struct moves_options){ .config = &config,
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_moves_the_room_is_answered_at_once),
		cmocka_unit_test(more_than_may_wait_for_room_get_503_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
