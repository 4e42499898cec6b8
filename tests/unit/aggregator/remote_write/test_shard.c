#include "aggregator/remote_write/shard.h"

#include "aggregator/remote_write/request_body.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_when_there_is_something_to_send),
		cmocka_unit_test(has_one_request_at_a_time),
		cmocka_unit_test(goes_on_at_once_only_after_a_full_request),
		cmocka_unit_test(
			sends_a_refused_request_again_in_halves_of_its_own),
		cmocka_unit_test(waits_longer_after_each_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
