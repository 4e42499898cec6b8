#include "scheduler/make_room/room_report.h"

#include "lib/buffer.h"
#include "lib/clock.h"
#include "scheduler/cache/cache.h"
#include "scheduler/planner/planner.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/scheduler/make_room/fits_world.h"

enum { OWNERS = ROOM_REPORT_WAITING_MAX + 2 };

struct asker {
	unsigned answers;
	char *fits, *error; /* owned; of the last answer */
	struct asker *forgets;
	bool asks_again;
};

static struct scene {
	uv_loop_t loop;
	struct cache cache;
	struct room_world world; /* what the planner's thread sees */
	struct room_report *report;
	struct planner_job job; /* that waits or runs */
	bool has_job, refuses;
	bool is_working; /* a cancelled job ends later */
	unsigned jobs, cancelled;
	struct asker askers[OWNERS];
} scene;

static int64_t now_us(void)
{
	return (int64_t)clock_monotonic_us();
}

/* ---- stand-ins ---- */

bool planner_start(struct planner *planner, const struct planner_job *job)
{
	(void)planner;
	assert_false(scene.has_job);
	if (scene.refuses) {
		return false;
	}
	scene.jobs++;
	scene.has_job = true;
	scene.job = *job;
	return true;
}

void planner_cancel(struct planner *planner, const void *owner)
{
	(void)planner;
	assert_true(scene.has_job);
	assert_ptr_equal(owner, scene.job.owner);
	scene.cancelled++;
	scene.has_job = false;
	if (!scene.is_working) {
		scene.job.done(scene.job.owner, NULL, false);
	}
}

void plan_find(struct plan *out, const struct plan_input *input,
	const struct plan_goal *goal)
{
	(void)input;
	(void)goal;
	*out = (struct plan){ .node = PLAN_NOWHERE };
}

void plan_fini(struct plan *plan)
{
	*plan = (struct plan){ 0 };
}

/* The job works on the cluster as of this time and ends. */
static void end_job(int64_t as_of_us, bool is_done)
{
	assert_true(scene.has_job);
	scene.has_job = false;
	scene.world.input.now_us = as_of_us;
	if (is_done) {
		scene.job.work(scene.job.owner, &scene.world.input);
	}
	scene.job.done(scene.job.owner, is_done ? &scene.world.input : NULL,
		is_done);
}

/* ---- who asks ---- */

static void on_answer(void *owner, const char *fits, const char *error)
{
	struct asker *asker = owner;

	assert_true((fits == NULL) != (error == NULL));
	asker->answers++;
	xreplace(&asker->fits, fits);
	xreplace(&asker->error, error);
	if (asker->forgets != NULL) {
		room_report_forget(scene.report, asker->forgets);
	}
	if (asker->asks_again) {
		asker->asks_again = false;
		assert_true(room_report_ask(scene.report, on_answer, asker));
	}
}

static bool ask(size_t index)
{
	unsigned before = scene.askers[index].answers;
	bool may_wait =
		room_report_ask(scene.report, on_answer, &scene.askers[index]);

	/* Never inside the call. */
	assert_int_equal(scene.askers[index].answers, before);
	return may_wait;
}

static void turn_loop(void)
{
	(void)uv_run(&scene.loop, UV_RUN_NOWAIT);
}

/* ---- the tests ---- */

static void those_who_ask_meanwhile_share_a_search(void **state)
{
	(void)state;
	assert_true(ask(0));
	assert_true(ask(1));
	turn_loop();
	assert_int_equal(scene.askers[0].answers, 0);
	end_job(now_us() - 250000, true);
	assert_int_equal(scene.jobs, 1);
	assert_int_equal(scene.askers[0].answers, 1);
	assert_int_equal(scene.askers[1].answers, 1);
	assert_string_equal(scene.askers[0].fits, scene.askers[1].fits);
	assert_memory_equal(scene.askers[0].fits,
		"{\"age_s\":0.25,\"nodes\":1,\"vms\":0,", 32);
}

static void an_answer_is_kept_for_a_while(void **state)
{
	(void)state;
	assert_true(ask(0));
	end_job(now_us(), true);

	fake_clock_move(ROOM_REPORT_KEPT_US - 1);
	assert_true(ask(1));
	turn_loop();
	assert_int_equal(scene.jobs, 1);
	assert_int_equal(scene.askers[1].answers, 1);
	assert_non_null(
		strstr(scene.askers[1].fits, "{\"age_s\":9.999999,\"nodes\""));

	fake_clock_move(1);
	assert_true(ask(2));
	turn_loop();
	assert_int_equal(scene.jobs, 2);
	assert_int_equal(scene.askers[2].answers, 0);
	end_job(now_us(), true);
	assert_int_equal(scene.askers[2].answers, 1);
	assert_int_equal(scene.askers[0].answers, 1);
}

static void the_kept_answer_is_the_newest(void **state)
{
	(void)state;
	assert_true(ask(0));
	end_job(now_us(), true);
	(void)world_add(&scene.world, (struct room_node){ .name = "second" });
	fake_clock_move(ROOM_REPORT_KEPT_US);
	assert_true(ask(0));
	end_job(now_us(), true);
	assert_non_null(strstr(scene.askers[0].fits, "\"nodes\":2,\"vms\""));
	assert_true(ask(1));
	turn_loop();
	assert_string_equal(scene.askers[1].fits, scene.askers[0].fits);
}

static void only_so_many_wait(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROOM_REPORT_WAITING_MAX; i++) {
		assert_true(ask(i));
	}
	assert_false(ask(ROOM_REPORT_WAITING_MAX));
	end_job(now_us(), true);
	for (size_t i = 0; i < ROOM_REPORT_WAITING_MAX; i++) {
		assert_int_equal(scene.askers[i].answers, 1);
	}
	assert_int_equal(scene.askers[ROOM_REPORT_WAITING_MAX].answers, 0);
	assert_true(ask(ROOM_REPORT_WAITING_MAX));
}

static void who_left_is_not_answered(void **state)
{
	(void)state;
	assert_true(ask(0));
	assert_true(ask(1));
	assert_true(ask(2));
	room_report_forget(scene.report, &scene.askers[1]);
	/* The first one's end takes the last one along. */
	scene.askers[0].forgets = &scene.askers[2];
	end_job(now_us(), true);
	assert_int_equal(scene.askers[0].answers, 1);
	assert_int_equal(scene.askers[1].answers, 0);
	assert_int_equal(scene.askers[2].answers, 0);

	/* Nor one who waits for a kept answer. */
	assert_true(ask(3));
	room_report_forget(scene.report, &scene.askers[3]);
	turn_loop();
	assert_int_equal(scene.askers[3].answers, 0);
}

static void who_asks_again_when_answered_waits_for_the_next_turn(void **state)
{
	(void)state;
	scene.askers[0].asks_again = true;
	assert_true(ask(0));
	end_job(now_us(), true);
	assert_int_equal(scene.askers[0].answers, 1);
	turn_loop();
	assert_int_equal(scene.askers[0].answers, 2);
}

static void a_planner_that_refuses_gives_a_sentence(void **state)
{
	(void)state;
	scene.refuses = true;
	assert_true(ask(0));
	turn_loop();
	assert_int_equal(scene.askers[0].answers, 1);
	assert_string_equal(scene.askers[0].error,
		"too many searches for plans wait; ask again later");

	scene.refuses = false;
	assert_true(ask(0));
	end_job(now_us(), true);
	assert_non_null(scene.askers[0].fits);
}

static void who_was_refused_shares_a_search_that_begins_meanwhile(void **state)
{
	(void)state;
	scene.refuses = true;
	assert_true(ask(0));
	scene.refuses = false;
	assert_true(ask(1));
	turn_loop();
	assert_int_equal(scene.askers[0].answers, 0);
	end_job(now_us(), true);
	assert_non_null(scene.askers[0].fits);
	assert_non_null(scene.askers[1].fits);
}

static void a_search_that_did_not_run_gives_a_sentence(void **state)
{
	(void)state;
	assert_true(ask(0));
	end_job(now_us(), false);
	assert_string_equal(scene.askers[0].error,
		"not all nodes and pods are known, or the scheduler stops");
	/* It is not kept. */
	assert_true(ask(0));
	assert_int_equal(scene.jobs, 2);
	end_job(now_us(), true);
	assert_non_null(scene.askers[0].fits);
}

static void a_search_may_end_after_the_report_is_closed(void **state)
{
	(void)state;
	assert_true(ask(0));
	scene.is_working = true;
	room_report_close(scene.report);
	scene.report = NULL;
	assert_int_equal(scene.cancelled, 1);
	scene.job.work(scene.job.owner, &scene.world.input);
	scene.job.done(scene.job.owner, &scene.world.input, false);
	assert_int_equal(scene.askers[0].answers, 0);
}

static void a_search_goes_after_those_for_waiting_pods(void **state)
{
	(void)state;
	assert_true(ask(0));
	assert_true(scene.job.is_report);
	end_job(now_us(), true);
}

static void a_search_that_nobody_waits_for_is_cancelled(void **state)
{
	(void)state;
	assert_true(ask(0));
	assert_true(ask(1));
	room_report_forget(scene.report, &scene.askers[0]);
	assert_int_equal(scene.cancelled, 0);
	room_report_forget(scene.report, &scene.askers[1]);
	assert_int_equal(scene.cancelled, 1);
	room_report_forget(scene.report, &scene.askers[1]);
	assert_int_equal(scene.cancelled, 1);
	assert_int_equal(scene.askers[0].answers, 0);
	assert_int_equal(scene.askers[1].answers, 0);
}

/* The results of the stopped search are cut off, and answer nobody. */
static void who_asks_after_that_begins_a_search(void **state)
{
	struct planner_job stopped;

	(void)state;
	assert_true(ask(0));
	stopped = scene.job;
	scene.is_working = true;
	room_report_forget(scene.report, &scene.askers[0]);
	assert_true(ask(1));
	assert_int_equal(scene.jobs, 2);
	stopped.done(stopped.owner, &scene.world.input, false);
	assert_int_equal(scene.askers[1].answers, 0);
	end_job(now_us(), true);
	assert_int_equal(scene.askers[0].answers, 0);
	assert_int_equal(scene.askers[1].answers, 1);
	assert_non_null(scene.askers[1].fits);
}

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	(void)uv_loop_init(&scene.loop);
	cache_init(&scene.cache);
	world_init(&scene.world, scene.cache.interner);
	(void)world_add(&scene.world,
		(struct room_node){ .name = "first",
			.cpu_milli = 64000,
			.memory_bytes = 100 * GIB });
	scene.report = room_report_new(&scene.loop, &scene.cache, NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	room_report_close(scene.report);
	if (scene.has_job) {
		end_job(now_us(), false);
	}
	(void)uv_run(&scene.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	world_fini(&scene.world);
	cache_fini(&scene.cache);
	for (size_t i = 0; i < OWNERS; i++) {
		free(scene.askers[i].fits);
		free(scene.askers[i].error);
	}
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(those_who_ask_meanwhile_share_a_search),
		TEST(an_answer_is_kept_for_a_while),
		TEST(the_kept_answer_is_the_newest),
		TEST(only_so_many_wait),
		TEST(who_left_is_not_answered),
		TEST(who_asks_again_when_answered_waits_for_the_next_turn),
		TEST(a_planner_that_refuses_gives_a_sentence),
		TEST(who_was_refused_shares_a_search_that_begins_meanwhile),
		TEST(a_search_that_did_not_run_gives_a_sentence),
		TEST(a_search_may_end_after_the_report_is_closed),
		TEST(a_search_goes_after_those_for_waiting_pods),
		TEST(a_search_that_nobody_waits_for_is_cancelled),
		TEST(who_asks_after_that_begins_a_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
