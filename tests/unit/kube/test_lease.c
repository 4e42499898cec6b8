/* Leases, with times as arguments. */
#include "kube/lease.h"

#include "kube/json_value.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

#define SECOND UINT64_C(1000000)
#define START (1000 * SECOND)
#define WALL UINT64_C(1767225600000000) /* 2026-01-01T00:00:00Z */

static struct lease lease;

static int setup(void **state)
{
	(void)state;
	lease_init(&lease, "plimsoll", "plimsoll-scheduler", "me");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	lease_fini(&lease);
	return 0;
}

/* A lease as the API server answers it. */
static char *stored(const char *version, const char *holder, unsigned seconds,
	unsigned transitions)
{
	return xasprintf(
		"{\"metadata\":{\"name\":\"plimsoll-scheduler\","
		"\"resourceVersion\":\"%s\"},\"spec\":{"
		"\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%u,"
		"\"acquireTime\":\"2025-12-31T00:00:00.000000Z\","
		"\"renewTime\":\"2025-12-31T00:00:00.000000Z\","
		"\"leaseTransitions\":%u}}",
		version, holder, seconds, transitions);
}

static enum lease_step read_at(uint64_t now_us, const char *version,
	const char *holder)
{
	scoped_free char *text = stored(version, holder, 15, 3);
	enum lease_step next;

	assert_int_equal(
		lease_read(&lease, &next, text, strlen(text), now_us, NULL), 0);
	return next;
}

static void write_at(uint64_t sent_us, const char *version)
{
	scoped_free char *text = stored(version, "me", 15, 3);

	assert_int_equal(
		lease_written(&lease, text, strlen(text), sent_us, NULL), 0);
}

/* A member of the body's spec or metadata, as text. */
static void body_says(uint64_t now_us, const char *path, const char *expected)
{
	scoped_buffer struct buffer body = BUFFER_MAX(4096);
	struct value *object;

	lease_body(&lease, &body, now_us, WALL);
	assert_int_equal(value_parse(&object, body.data, body.len, NULL), 0);
	assert_string_equal(value_text_at(object, path, ""), expected);
	value_free(object);
}

static double body_number(uint64_t now_us, const char *path)
{
	scoped_buffer struct buffer body = BUFFER_MAX(4096);
	struct value *object;
	double number = -1;

	lease_body(&lease, &body, now_us, WALL);
	assert_int_equal(value_parse(&object, body.data, body.len, NULL), 0);
	assert_true(value_number(&number, value_at(object, path)));
	value_free(object);
	return number;
}

static void a_lease_that_is_not_there_is_made(void **state)
{
	(void)state;
	assert_int_equal(lease_begin(&lease, START), LEASE_READ);
	lease_missing(&lease);
	body_says(START, "spec/holderIdentity", "me");
	body_says(START, "spec/renewTime", "2026-01-01T00:00:00.000000Z");
	body_says(START, "spec/acquireTime", "2026-01-01T00:00:00.000000Z");
	body_says(START, "metadata/resourceVersion", "");
	assert_true(body_number(START, "spec/leaseDurationSeconds") == 15);
	assert_true(body_number(START, "spec/leaseTransitions") == 0);
	assert_false(lease_is_held(&lease, START));
	write_at(START, "1");
	assert_true(lease_is_held(&lease, START));
}

static void what_is_held_ends_ten_seconds_after_it_was_renewed(void **state)
{
	(void)state;
	write_at(START, "1");
	assert_true(lease_is_held(&lease, START + 10 * SECOND - 1));
	assert_false(lease_is_held(&lease, START + 10 * SECOND));
	assert_int_equal(lease_begin(&lease, START + 2 * SECOND), LEASE_UPDATE);
	assert_int_equal(lease_begin(&lease, START + 10 * SECOND), LEASE_READ);
	write_at(START + 2 * SECOND, "2");
	assert_true(lease_is_held(&lease, START + 12 * SECOND - 1));
	assert_false(lease_is_held(&lease, START + 12 * SECOND));
}

static void a_renewal_keeps_the_time_of_taking_and_the_count(void **state)
{
	(void)state;
	write_at(START, "7");
	body_says(START, "metadata/resourceVersion", "7");
	body_says(START, "spec/acquireTime", "2025-12-31T00:00:00.000000Z");
	body_says(START, "spec/renewTime", "2026-01-01T00:00:00.000000Z");
	assert_true(body_number(START, "spec/leaseTransitions") == 3);
}

static void another_holder_is_left_alone_while_it_shows_life(void **state)
{
	uint64_t now = START;

	(void)state;
	assert_int_equal(read_at(now, "1", "other"), LEASE_WAIT);
	for (int version = 2; version < 20; version++) {
		scoped_free char *text = xasprintf("%d", version);

		now += 14 * SECOND;
		assert_int_equal(read_at(now, text, "other"), LEASE_WAIT);
	}
	/* Nothing new for as long as it asked for, by our own clock. */
	assert_int_equal(read_at(now + 15 * SECOND - 1, "19", "other"),
		LEASE_WAIT);
	assert_int_equal(read_at(now + 15 * SECOND, "19", "other"),
		LEASE_UPDATE);
	body_says(now, "spec/acquireTime", "2026-01-01T00:00:00.000000Z");
	assert_true(body_number(now, "spec/leaseTransitions") == 4);
}

static void a_lease_that_was_given_up_is_taken_at_once(void **state)
{
	(void)state;
	assert_int_equal(read_at(START, "1", "other"), LEASE_WAIT);
	assert_int_equal(read_at(START + 1, "2", ""), LEASE_UPDATE);
}

static void a_holder_may_ask_for_less_time_but_not_for_ever(void **state)
{
	static const struct {
		unsigned seconds;
		uint64_t counts_us;
	} cases[] = {
		{ 1, SECOND },
		{ 60, 60 * SECOND },
		{ 4000000, 15 * SECOND },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *version = xasprintf("v%zu", i);
		scoped_free char *text =
			stored(version, "other", cases[i].seconds, 0);
		enum lease_step next;

		assert_int_equal(lease_read(&lease, &next, text, strlen(text),
					 START, NULL),
			0);
		assert_int_equal(lease_read(&lease, &next, text, strlen(text),
					 START + cases[i].counts_us - 1, NULL),
			0);
		assert_int_equal(next, LEASE_WAIT);
		assert_int_equal(lease_read(&lease, &next, text, strlen(text),
					 START + cases[i].counts_us, NULL),
			0);
		assert_int_equal(next, LEASE_UPDATE);
	}
}

static void who_lost_it_to_another_holds_it_no_longer(void **state)
{
	(void)state;
	write_at(START, "1");
	lease_lost_track(&lease);
	assert_true(lease_is_held(&lease, START + SECOND));
	assert_int_equal(lease_begin(&lease, START + SECOND), LEASE_READ);
	assert_int_equal(read_at(START + SECOND, "2", "other"), LEASE_WAIT);
	assert_false(lease_is_held(&lease, START + SECOND));
}

static void a_lost_answer_ends_nothing_before_its_time(void **state)
{
	(void)state;
	write_at(START, "1");
	lease_lost_track(&lease);
	assert_int_equal(read_at(START + SECOND, "2", "me"), LEASE_UPDATE);
	assert_int_equal(lease_begin(&lease, START + SECOND), LEASE_UPDATE);
	assert_true(lease_is_held(&lease, START + 10 * SECOND - 1));
	assert_false(lease_is_held(&lease, START + 10 * SECOND));
}

/* Wall clocks are stepped, ours and the others'. */
static void no_wall_clock_decides_who_leads(void **state)
{
	static const uint64_t steps[] = { WALL, WALL / 2, WALL * 2, 0 };

	(void)state;
	for (size_t i = 0; i < count_of(steps); i++) {
		scoped_buffer struct buffer body = BUFFER_MAX(4096);
		uint64_t now_us = START + i * 2 * SECOND;

		lease_body(&lease, &body, now_us, steps[i]);
		write_at(now_us, "1");
		assert_true(lease_is_held(&lease, now_us + 10 * SECOND - 1));
		assert_false(lease_is_held(&lease, now_us + 10 * SECOND));
	}
	/* Renewed a day ago, as it says, and seen just now. */
	assert_int_equal(read_at(START + 60 * SECOND, "9", "other"),
		LEASE_WAIT);
	assert_int_equal(read_at(START + 75 * SECOND - 1, "9", "other"),
		LEASE_WAIT);
	assert_int_equal(read_at(START + 75 * SECOND, "9", "other"),
		LEASE_UPDATE);
}

static void giving_up_names_nobody_and_holds_nothing(void **state)
{
	scoped_buffer struct buffer body = BUFFER_MAX(4096);
	struct value *object;

	(void)state;
	write_at(START, "5");
	lease_give_up(&lease, &body, WALL);
	assert_false(lease_is_held(&lease, START));
	assert_int_equal(value_parse(&object, body.data, body.len, NULL), 0);
	assert_string_equal(value_text_at(object, "spec/holderIdentity", "?"),
		"");
	assert_string_equal(
		value_text_at(object, "metadata/resourceVersion", ""), "5");
	value_free(object);
}

static void what_is_no_lease_is_refused_and_changes_nothing(void **state)
{
	static const char *const texts[] = { "", "[]", "{}", "nonsense",
		"{\"metadata\":{}}", "{\"spec\":{\"holderIdentity\":\"me\"}}" };

	(void)state;
	write_at(START, "1");
	for (size_t i = 0; i < count_of(texts); i++) {
		enum lease_step next = LEASE_WAIT;

		assert_int_equal(lease_read(&lease, &next, texts[i],
					 strlen(texts[i]), START, NULL),
			-EBADMSG);
		assert_int_equal(
			lease_written(&lease, texts[i], strlen(texts[i]),
				START + SECOND, NULL),
			-EBADMSG);
	}
	assert_false(lease_is_held(&lease, START + 10 * SECOND));
	body_says(START, "metadata/resourceVersion", "1");
}

#define LEASE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEASE_TEST(a_lease_that_is_not_there_is_made),
		LEASE_TEST(what_is_held_ends_ten_seconds_after_it_was_renewed),
		LEASE_TEST(a_renewal_keeps_the_time_of_taking_and_the_count),
		LEASE_TEST(another_holder_is_left_alone_while_it_shows_life),
		LEASE_TEST(a_lease_that_was_given_up_is_taken_at_once),
		LEASE_TEST(a_holder_may_ask_for_less_time_but_not_for_ever),
		LEASE_TEST(who_lost_it_to_another_holds_it_no_longer),
		LEASE_TEST(a_lost_answer_ends_nothing_before_its_time),
		LEASE_TEST(no_wall_clock_decides_who_leads),
		LEASE_TEST(giving_up_names_nobody_and_holds_nothing),
		LEASE_TEST(what_is_no_lease_is_refused_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
