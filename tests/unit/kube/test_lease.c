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

/* A lease as the API server returns it. */
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

/* Checks a member of the body's spec or metadata. */
static void body_says(uint64_t now_us, const char *path, const char *expected)
{
	scoped_buffer struct buffer body = BUFFER_MAX(4096);
	struct json_value *object;

	lease_body(&lease, &body, now_us, WALL);
	assert_int_equal(json_value_parse(&object, body.data, body.len, NULL),
		0);
	assert_string_equal(json_value_text_at(object, path, ""), expected);
	json_value_free(object);
}

static double body_number(uint64_t now_us, const char *path)
{
	scoped_buffer struct buffer body = BUFFER_MAX(4096);
	struct json_value *object;
	double number = -1;

	lease_body(&lease, &body, now_us, WALL);
	assert_int_equal(json_value_parse(&object, body.data, body.len, NULL),
		0);
	assert_true(json_value_number(&number, json_value_at(object, path)));
	json_value_free(object);
	return number;
}

static void creates_a_missing_lease(void **state)
{
	(void)state;
	assert_int_equal(lease_begin(&lease, START), LEASE_READ);
	lease_not_found(&lease);
	body_says(START, "spec/holderIdentity", "me");
	body_says(START, "spec/renewTime", "2026-01-01T00:00:00.000000Z");
	body_says(START, "spec/acquireTime", "2026-01-01T00:00:00.000000Z");
	body_says(START, "metadata/resourceVersion", "");
	body_says(START, "metadata/name", "plimsoll-scheduler");
	body_says(START, "metadata/namespace", "plimsoll");
	body_says(START, "apiVersion", "coordination.k8s.io/v1");
	body_says(START, "kind", "Lease");
	assert_true(body_number(START, "spec/leaseDurationSeconds") == 15);
	assert_true(body_number(START, "spec/leaseTransitions") == 0);
	assert_false(lease_is_held(&lease, START));
	write_at(START, "1");
	assert_true(lease_is_held(&lease, START));
}

static void holds_the_lease_for_ten_seconds_after_a_renewal(void **state)
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

static void a_renewal_keeps_acquire_time_and_transitions(void **state)
{
	(void)state;
	write_at(START, "7");
	body_says(START, "metadata/resourceVersion", "7");
	body_says(START, "spec/acquireTime", "2025-12-31T00:00:00.000000Z");
	body_says(START, "spec/renewTime", "2026-01-01T00:00:00.000000Z");
	assert_true(body_number(START, "spec/leaseTransitions") == 3);
}

static void a_lease_that_ended_is_acquired_anew(void **state)
{
	(void)state;
	write_at(START, "7");
	body_says(START + 10 * SECOND, "spec/acquireTime",
		"2026-01-01T00:00:00.000000Z");
	assert_true(
		body_number(START + 10 * SECOND, "spec/leaseTransitions") == 3);
}

static void respects_another_holder_that_renews(void **state)
{
	uint64_t now = START;

	(void)state;
	assert_int_equal(read_at(now, "1", "other"), LEASE_WAIT);
	for (int version = 2; version < 20; version++) {
		scoped_free char *text = xasprintf("%d", version);

		now += 14 * SECOND;
		assert_int_equal(read_at(now, text, "other"), LEASE_WAIT);
	}
	/* No change for the lease's duration, by this process's clock. */
	assert_int_equal(read_at(now + 15 * SECOND - 1, "19", "other"),
		LEASE_WAIT);
	assert_int_equal(read_at(now + 15 * SECOND, "19", "other"),
		LEASE_UPDATE);
	body_says(now, "spec/acquireTime", "2026-01-01T00:00:00.000000Z");
	assert_true(body_number(now, "spec/leaseTransitions") == 4);
}

static void acquires_a_released_lease_at_once(void **state)
{
	(void)state;
	assert_int_equal(read_at(START, "1", "other"), LEASE_WAIT);
	assert_int_equal(read_at(START + 1, "2", ""), LEASE_UPDATE);
}

static void respects_the_holders_duration_within_limits(void **state)
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

static void stops_holding_when_another_process_took_over(void **state)
{
	(void)state;
	write_at(START, "1");
	lease_invalidate(&lease);
	assert_true(lease_is_held(&lease, START + SECOND));
	assert_int_equal(lease_begin(&lease, START + SECOND), LEASE_READ);
	assert_int_equal(read_at(START + SECOND, "2", "other"), LEASE_WAIT);
	assert_false(lease_is_held(&lease, START + SECOND));
}

static void a_lost_response_does_not_end_the_lease_early(void **state)
{
	(void)state;
	write_at(START, "1");
	lease_invalidate(&lease);
	assert_int_equal(read_at(START + SECOND, "2", "me"), LEASE_UPDATE);
	assert_int_equal(lease_begin(&lease, START + SECOND), LEASE_UPDATE);
	assert_true(lease_is_held(&lease, START + 10 * SECOND - 1));
	assert_false(lease_is_held(&lease, START + 10 * SECOND));
}

/* The wall clocks of this process and of others may jump. */
static void wall_clocks_do_not_decide(void **state)
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
	/* Its renewTime is a day old, but the change was seen just now. */
	assert_int_equal(read_at(START + 60 * SECOND, "9", "other"),
		LEASE_WAIT);
	assert_int_equal(read_at(START + 75 * SECOND - 1, "9", "other"),
		LEASE_WAIT);
	assert_int_equal(read_at(START + 75 * SECOND, "9", "other"),
		LEASE_UPDATE);
}

static void releasing_clears_the_holder(void **state)
{
	scoped_buffer struct buffer body = BUFFER_MAX(4096);
	struct json_value *object;

	(void)state;
	write_at(START, "5");
	lease_release(&lease, &body, WALL);
	assert_false(lease_is_held(&lease, START));
	assert_int_equal(json_value_parse(&object, body.data, body.len, NULL),
		0);
	assert_string_equal(
		json_value_text_at(object, "spec/holderIdentity", "?"), "");
	assert_string_equal(
		json_value_text_at(object, "metadata/resourceVersion", ""),
		"5");
	json_value_free(object);
}

static void refuses_a_body_that_is_not_a_lease(void **state)
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
		LEASE_TEST(creates_a_missing_lease),
		LEASE_TEST(holds_the_lease_for_ten_seconds_after_a_renewal),
		LEASE_TEST(a_renewal_keeps_acquire_time_and_transitions),
		LEASE_TEST(a_lease_that_ended_is_acquired_anew),
		LEASE_TEST(respects_another_holder_that_renews),
		LEASE_TEST(acquires_a_released_lease_at_once),
		LEASE_TEST(respects_the_holders_duration_within_limits),
		LEASE_TEST(stops_holding_when_another_process_took_over),
		LEASE_TEST(a_lost_response_does_not_end_the_lease_early),
		LEASE_TEST(wall_clocks_do_not_decide),
		LEASE_TEST(releasing_clears_the_holder),
		LEASE_TEST(refuses_a_body_that_is_not_a_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
