/* The reach of VMs as the leading scheduler says it, with a stand-in for its
 * answers. */
#include "aggregator/apiserver/vm_reach.h"

#include "aggregator/ingest/questions.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "proto/report.h"
#include "tests/support/cm.h"
#include "tests/support/fake_timers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { POLL_MS = 1000 };

static struct scene {
	uv_loop_t loop;
	bool has_leader, is_old;
	question_done done; /* the open question; NULL: none */
	void *owner;
	char body[64];
	unsigned asked, cancelled;
	struct vm_reach *reach;
} scene;

/* ---- stand-ins ---- */

bool __wrap_questions_has_leader(const struct questions *questions);
bool __wrap_questions_has_leader(const struct questions *questions)
{
	(void)questions;
	return scene.has_leader;
}

int __wrap_questions_ask(struct questions *questions, const struct asked *asked,
	question_done done, void *owner, struct error *err);
int __wrap_questions_ask(struct questions *questions, const struct asked *asked,
	question_done done, void *owner, struct error *err)
{
	(void)questions;
	assert_null(scene.done);
	assert_int_equal(asked->kind, QUESTION_REACH);
	assert_string_equal(asked->namespace, "");
	assert_true(asked->is_reserved);
	scene.asked++;
	if (scene.is_old) {
		return error_set(err, -EHOSTUNREACH, "too old");
	}
	scene.done = done;
	scene.owner = owner;
	(void)snprintf(scene.body, sizeof(scene.body), "%.*s", (int)asked->len,
		asked->body);
	return 0;
}

void __wrap_questions_cancel(struct questions *questions, const void *owner);
void __wrap_questions_cancel(struct questions *questions, const void *owner)
{
	(void)questions;
	(void)owner;
	scene.cancelled++;
	scene.done = NULL;
}

/* ---- steps ---- */

static void pass_ms(uint64_t ms)
{
	fake_clock_move(ms * 1000);
	(void)uv_run(&scene.loop, UV_RUN_NOWAIT);
}

static void say(unsigned status, const char *body)
{
	question_done done = take_ptr(scene.done);

	assert_non_null(done);
	done(scene.owner, status, body, strlen(body));
	(void)uv_run(&scene.loop, UV_RUN_NOWAIT);
}

static void expect(const char *vm, uint64_t nodes)
{
	assert_true(
		vm_reach_nodes(scene.reach, vm, clock_monotonic_us()) == nodes);
}

static int setup(void **state)
{
	(void)state;
	scene = (struct scene){ .has_leader = true };
	fake_clock_set(1000000000, 2000000000);
	assert_int_equal(uv_loop_init(&scene.loop), 0);
	scene.reach = vm_reach_new(&scene.loop, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vm_reach_free(scene.reach);
	(void)uv_run(&scene.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene.loop), 0);
	return 0;
}

/* ---- tests ---- */

static void pages_follow_each_other_at_once(void **state)
{
	(void)state;
	expect("shop/web", REPORT_UNKNOWN);
	pass_ms(POLL_MS);
	assert_string_equal(scene.body, "{\"from\":0}");
	say(200, "{\"reach\":{\"shop/web\":3,\"shop/db\":0},\"next\":2}");
	assert_string_equal(scene.body, "{\"from\":2}");
	say(200, "{\"reach\":{\"bank/db\":1}}");
	assert_null(scene.done);
	expect("shop/web", 3);
	expect("shop/db", 0);
	expect("bank/db", 1);
	expect("bank/web", REPORT_UNKNOWN);
}

static void the_next_round_begins_after_a_rest(void **state)
{
	(void)state;
	pass_ms(POLL_MS);
	say(200, "{\"reach\":{\"shop/web\":3}}");
	pass_ms(VM_REACH_EVERY_MS - 1);
	assert_null(scene.done);
	pass_ms(1);
	assert_string_equal(scene.body, "{\"from\":0}");
	say(200, "{\"reach\":{\"shop/web\":2}}");
	expect("shop/web", 2);
}

static void what_nobody_repeats_is_not_known_any_more(void **state)
{
	(void)state;
	pass_ms(POLL_MS);
	say(200, "{\"reach\":{\"shop/web\":3}}");
	scene.has_leader = false;
	pass_ms(VM_REACH_KEPT_US / 1000);
	expect("shop/web", 3);
	pass_ms(1);
	expect("shop/web", REPORT_UNKNOWN);
	assert_int_equal(scene.asked, 1);
	scene.has_leader = true;
	pass_ms(POLL_MS);
	assert_int_equal(scene.asked, 2);
}

static void a_scheduler_that_does_not_know_is_asked_again_later(void **state)
{
	(void)state;
	pass_ms(POLL_MS);
	say(503, "what VMs can reach is not known yet");
	pass_ms(VM_REACH_RETRY_MS - 1);
	assert_null(scene.done);
	pass_ms(1);
	assert_non_null(scene.done);
	say(200, "{\"reach\":{\"shop/web\":3");
	pass_ms(VM_REACH_RETRY_MS);
	assert_non_null(scene.done);
	scene.is_old = true;
	say(503, "it died");
	pass_ms(VM_REACH_RETRY_MS);
	assert_null(scene.done);
	assert_int_equal(scene.asked, 4);
	expect("shop/web", REPORT_UNKNOWN);
}

static void nonsense_changes_nothing(void **state)
{
	static const char *const bodies[] = {
		"[]",
		"{}",
		"{\"reach\":[1,2]}",
		"{\"reach\":{\"a/b\":-1,\"a/c\":1e300}}",
		"{\"reach\":{\"a/d\":\"1\",\"a/e\":null}}",
		/* These would go on for ever. */
		"{\"reach\":{},\"next\":0}",
		"{\"reach\":{},\"next\":1e300}",
		"{\"reach\":{},\"next\":\"x\"}",
	};
	(void)state;

	pass_ms(POLL_MS);
	for (size_t i = 0; i < count_of(bodies); i++) {
		say(200, bodies[i]);
		assert_null(scene.done);
		expect("a/b", REPORT_UNKNOWN);
		expect("a/c", REPORT_UNKNOWN);
		expect("a/d", REPORT_UNKNOWN);
		expect("a/e", REPORT_UNKNOWN);
		pass_ms(VM_REACH_EVERY_MS);
	}
}

static void further_vms_than_the_limit_have_no_reach(void **state)
{
	scoped_buffer struct buffer body = BUFFER_MAX(8 << 20);
	unsigned pages = VM_REACH_MAX / 50000;

	(void)state;
	pass_ms(POLL_MS);
	for (unsigned page = 0; page <= pages; page++) {
		buffer_clear(&body);
		buffer_text(&body, "{\"reach\":{\"n/first\":1");
		for (unsigned i = 0; i < 50000; i++) {
			buffer_printf(&body, ",\"n/%u-%u\":1", page, i);
		}
		buffer_printf(&body, "},\"next\":%u}", page + 1);
		say(200, body.data);
	}
	expect("n/0-0", 1);
	expect("n/3-49998", 1);
	expect("n/3-49999", REPORT_UNKNOWN);
	expect("n/4-0", REPORT_UNKNOWN);
	expect("n/first", 1);
}

static void the_end_cancels_the_question(void **state)
{
	(void)state;
	pass_ms(POLL_MS);
	assert_non_null(scene.done);
	vm_reach_free(scene.reach);
	assert_int_equal(scene.cancelled, 1);
	scene.reach = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pages_follow_each_other_at_once),
		TEST(the_next_round_begins_after_a_rest),
		TEST(what_nobody_repeats_is_not_known_any_more),
		TEST(a_scheduler_that_does_not_know_is_asked_again_later),
		TEST(nonsense_changes_nothing),
		TEST(further_vms_than_the_limit_have_no_reach),
		TEST(the_end_cancels_the_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
