#include "aggregator/query/profile_cache.h"

#include "aggregator/query/profile_builder.h"
#include "lib/clock.h"
#include "tests/unit/aggregator/scratch.h"

#include <errno.h>

static const uint64_t day_us = UINT64_C(86400000000);
static const uint64_t minute_ms = 60000;

enum { HELD_MAX = 32 };

/* A source that answers at once or is held, and those who ask. */
struct fixture {
	struct scratch *s;
	struct profile_cache *cache;
	size_t minutes; /* that the source adds */
	int error;	/* its error, or 0 */
	bool holds;
	size_t asked; /* the source was */
	size_t answered, missing;
	bool is_answered;
	profile_source_done held[HELD_MAX];
	void *held_owners[HELD_MAX];
	struct profile_answer answer; /* the last one */
	struct error why;	      /* code 0: there is a profile */
};

static void fill(void *owner, const struct profile_request *vm,
	struct profile_builder *builder, profile_source_done done,
	void *done_owner)
{
	struct fixture *f = owner;
	struct error error;

	assert_string_equal(vm->namespace, "ns");
	if (f->holds) {
		assert_true(f->asked < HELD_MAX);
		f->held[f->asked] = done;
		f->held_owners[f->asked++] = done_owner;
		return;
	}
	f->asked++;
	for (size_t i = 0; i < f->minutes; i++) {
		struct rollup_row row = {
			.from_ms = profile_builder_from_ms(builder) +
				i * minute_ms,
			.covered_ms = (uint32_t)minute_ms,
		};

		row.figures[ROLLUP_VM_used_cores] =
			(struct rollup_figure){ 2, 3, NAN };
		profile_builder_add(builder, &row);
	}
	if (f->error != 0) {
		(void)error_set(&error, f->error, "the engine is broken");
	}
	done(done_owner, f->minutes, f->error == 0 ? NULL : &error);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	void *scratch = NULL;

	assert_int_equal(scratch_setup(&scratch), 0);
	f->s = scratch;
	scratch_open(f->s, 8 * day_us);
	f->cache = profile_cache_new(f->s->store,
		&(struct profile_source){ fill, f });
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	void *scratch = f->s;

	scratch_close(f->s);
	profile_cache_free(f->cache);
	assert_int_equal(scratch_teardown(&scratch), 0);
	free(f);
	return 0;
}

static void on_answer(void *owner, const struct profile_answer *answer,
	const struct error *err)
{
	struct fixture *f = owner;

	f->answer = *answer;
	f->why = err == NULL ? (struct error){ 0 } : *err;
	f->is_answered = ++f->answered >= f->missing;
}

static void ask(struct fixture *f, const char *name)
{
	struct profile_request vm = { "ns", "" };

	(void)snprintf(vm.name, sizeof(vm.name), "%s", name);
	profile_cache_ask(f->cache, &vm, on_answer, f);
}

static void ask_and_wait(struct fixture *f, const char *name)
{
	f->answered = 0;
	f->missing = 1;
	f->is_answered = false;
	ask(f, name);
	run_until(&f->s->loop, &f->is_answered);
}

static void a_vm_that_the_store_lost_has_the_sources_minutes(void **state)
{
	struct fixture *f = *state;

	f->minutes = 30;
	for (int i = 0; i < 2; i++) {
		ask_and_wait(f, "vm");
		assert_int_equal(f->why.code, 0);
		assert_float_equal(f->answer.profile.mean_cores, 2, 1e-9);
		assert_float_equal(f->answer.profile.max_cores, 3, 1e-9);
		assert_float_equal(f->answer.profile.covered_s, 1800, 1e-9);
		assert_true(f->answer.sources.is_known);
		assert_int_equal(f->answer.sources.error.code, 0);
		assert_true(f->answer.sources.joined_us >
			f->answer.sources.from_us);
	}
	assert_int_equal(f->asked, 1); /* it is remembered */
}

static void that_the_source_has_nothing_is_remembered(void **state)
{
	struct fixture *f = *state;

	ask_and_wait(f, "vm");
	assert_int_equal(f->why.code, -ENOENT);
	ask_and_wait(f, "vm");
	assert_int_equal(f->why.code, -ENOENT);
	assert_int_equal(f->asked, 1);
}

static void after_a_failure_no_vm_is_asked_about_for_a_while(void **state)
{
	struct fixture *f = *state;

	f->error = -ETIMEDOUT;
	ask_and_wait(f, "vm");
	assert_int_equal(f->why.code, -ETIMEDOUT);
	ask_and_wait(f, "other");
	assert_int_equal(f->why.code, -ETIMEDOUT);
	assert_string_equal(f->why.text, "the engine is broken");
	assert_string_equal(f->answer.sources.error.text,
		"the engine is broken");
	assert_int_equal(f->asked, 1);
}

static void a_busy_source_is_asked_again(void **state)
{
	struct fixture *f = *state;

	f->error = -EBUSY;
	ask_and_wait(f, "vm");
	assert_int_equal(f->why.code, -EBUSY);
	f->error = 0;
	f->minutes = 1;
	ask_and_wait(f, "vm");
	assert_int_equal(f->why.code, 0);
}

static void few_questions_to_the_source_are_open_at_a_time(void **state)
{
	struct fixture *f = *state;
	const size_t more = 7;
	size_t released = 0;

	f->holds = true;
	f->missing = more;
	for (size_t i = 0; i < PROFILE_CACHE_SOURCE_OPEN + more; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "vm-%zu", i);
		ask(f, name);
	}
	run_until(&f->s->loop, &f->is_answered);
	assert_int_equal(f->answered, more);
	assert_int_equal(f->why.code, -EBUSY);
	f->missing += PROFILE_CACHE_SOURCE_OPEN;
	f->is_answered = false;
	/* One that waited for too long is not asked. */
	while (!f->is_answered) {
		assert_true(f->asked - released <= PROFILE_CACHE_RUNNING);
		if (released == f->asked) {
			(void)uv_run(&f->s->loop, UV_RUN_ONCE);
		} else {
			f->held[released](f->held_owners[released], 0, NULL);
			released++;
		}
	}
	assert_in_range(f->asked, 1, PROFILE_CACHE_SOURCE_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_vm_that_the_store_lost_has_the_sources_minutes, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			that_the_source_has_nothing_is_remembered, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			after_a_failure_no_vm_is_asked_about_for_a_while, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_busy_source_is_asked_again,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			few_questions_to_the_source_are_open_at_a_time, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
