#include "aggregator/remote_write/shard.h"

#include "aggregator/remote_write/request_body.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

static const uint64_t now_us = 1000000000;

static struct shard reading(void)
{
	struct shard shard;

	shard_init(&shard);
	shard_note_queue(&shard, 100);
	assert_true(shard_may_read(&shard));
	shard.state = SHARD_READING;
	return shard;
}

static void reads_when_there_is_something_to_send(void **state)
{
	struct shard shard;

	(void)state;
	shard_init(&shard);
	assert_false(shard_may_read(&shard));
	shard_note_queue(&shard, 0);
	assert_false(shard_may_read(&shard));
	shard_note_queue(&shard, 7);
	assert_true(shard_may_read(&shard));
	shard_advance(&shard, 7, false);
	/* The store has not deleted them yet. */
	shard_note_queue(&shard, 7);
	assert_false(shard_may_read(&shard));
	shard_note_queue(&shard, 8);
	assert_true(shard_may_read(&shard));
}

static void has_one_request_at_a_time(void **state)
{
	static const enum shard_state busy[] = { SHARD_READING, SHARD_SENDING,
		SHARD_WAITING };
	struct shard shard = reading();

	(void)state;
	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
		shard.state = busy[i];
		shard_note_queue(&shard, 200);
		assert_false(shard_may_read(&shard));
	}
}

static void goes_on_at_once_only_after_a_full_request(void **state)
{
	struct shard shard = reading();

	(void)state;
	shard_note_queue(&shard, 200); /* while the request is under way */
	shard_advance(&shard, 50, false);
	assert_false(shard_may_read(&shard));
	shard_note_queue(&shard, 200);
	shard_advance(&shard, 150, true);
	assert_true(shard_may_read(&shard));
	assert_int_equal(shard.sent_id, 150);
}

static void sends_a_refused_request_again_in_halves_of_its_own(void **state)
{
	struct shard shard = reading();

	(void)state;
	assert_int_equal(shard.limit, REQUEST_REPORTS_MAX);
	shard_split(&shard, 9);
	assert_int_equal(shard.limit, 4);
	assert_int_equal(shard.sent_id, 0);
	assert_true(shard_may_read(&shard));
	shard_grow(&shard);
	assert_int_equal(shard.limit, 8);
}

static void waits_longer_after_each_failure(void **state)
{
	struct shard shard = reading();

	(void)state;
	shard_wait(&shard, now_us, 0, 0);
	assert_false(shard_is_retry_due(&shard, now_us + 999999));
	assert_true(shard_is_retry_due(&shard, now_us + 1000000));
	shard_wait(&shard, now_us, 0, 0);
	assert_false(shard_is_retry_due(&shard, now_us + 1999999));
	assert_true(shard_is_retry_due(&shard, now_us + 2000000));
	shard_wait(&shard, now_us, 17000, 0);
	assert_false(shard_is_retry_due(&shard, now_us + 16999999));
	assert_true(shard_is_retry_due(&shard, now_us + 17000000));
	shard.state = SHARD_SENDING;
	assert_false(shard_is_retry_due(&shard, now_us + 17000000));
}

static void judges_each_status(void **state)
{
	static const struct {
		int status;
		enum shard_verdict verdict;
	} cases[] = {
		{ 200, SHARD_SENT },
		{ 204, SHARD_SENT },
		{ 0, SHARD_AGAIN },
		{ 302, SHARD_AGAIN },
		{ 400, SHARD_REFUSED },
		{ 401, SHARD_AGAIN },
		{ 403, SHARD_AGAIN },
		{ 404, SHARD_AGAIN },
		{ 408, SHARD_AGAIN },
		{ 409, SHARD_REFUSED },
		{ 413, SHARD_REFUSED },
		{ 422, SHARD_REFUSED },
		{ 429, SHARD_AGAIN },
		{ 500, SHARD_AGAIN },
		{ 503, SHARD_AGAIN },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(shard_judge(cases[i].status),
			cases[i].verdict);
	}
}

/* The wait after so many failures in a row. */
static uint64_t wait_ms(unsigned failures, uint64_t asked_ms, double random)
{
	struct shard shard = reading();

	shard.failures = failures - 1;
	shard_wait(&shard, now_us, asked_ms, random);
	return (shard.retry_us - now_us) / 1000;
}

static void backs_off_and_honors_retry_after(void **state)
{
	(void)state;
	assert_in_range(wait_ms(1, 0, 0), 1000, 2000);
	assert_in_range(wait_ms(3, 0, 0.999), 4000, 8000);
	assert_in_range(wait_ms(100, 0, 0.999), 15000, 30000);
	assert_int_equal(wait_ms(1, 17000, 0), 17000);
	/* Retry-After is limited. */
	assert_int_equal(wait_ms(1, 86400000, 0), 300000);
}

static void halves_a_refused_request_and_grows_again(void **state)
{
	static const struct {
		uint64_t before, after;
	} cases[] = { { 1, 2 }, { 500, 1000 }, { 501, 1000 }, { 1000, 1000 } };
	struct shard shard = reading();
	int steps = 0;

	(void)state;
	for (; shard.limit > 1; steps++) {
		shard_split(&shard, shard.limit);
	}
	assert_int_equal(steps, 9);
	shard_split(&shard, 1);
	assert_int_equal(shard.limit, 1);
	for (size_t i = 0; i < count_of(cases); i++) {
		shard.limit = cases[i].before;
		shard_grow(&shard);
		assert_int_equal(shard.limit, cases[i].after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_when_there_is_something_to_send),
		cmocka_unit_test(has_one_request_at_a_time),
		cmocka_unit_test(goes_on_at_once_only_after_a_full_request),
		cmocka_unit_test(
			sends_a_refused_request_again_in_halves_of_its_own),
		cmocka_unit_test(waits_longer_after_each_failure),
		cmocka_unit_test(judges_each_status),
		cmocka_unit_test(backs_off_and_honors_retry_after),
		cmocka_unit_test(halves_a_refused_request_and_grows_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
