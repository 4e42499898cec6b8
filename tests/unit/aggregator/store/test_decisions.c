#include "aggregator/store/records.h"

#include "lib/clock.h"
#include "tests/unit/aggregator/scratch.h"

#include <errno.h>

static const uint64_t day_us = UINT64_C(86400000000);

/* Writes count records of one pod, a second apart, up to last_us. */
static void write_records(struct scratch *s, const char *pod, size_t count,
	uint64_t last_us)
{
	struct store_batch *batch = store_decisions_new();
	struct decision_record record = { .namespace = "a",
		.uid = "u",
		.policy = "real-load",
		.margin = NAN };

	(void)snprintf(record.pod, sizeof(record.pod), "%s", pod);
	if (strncmp(pod, "vm-", 3) == 0) {
		(void)snprintf(record.vm, sizeof(record.vm), "%s", pod + 3);
	}
	for (size_t i = 0; i < count; i++) {
		record.wall_us = last_us - (count - 1 - i) * 1000000;
		store_decisions_add(batch, &record);
	}
	assert_true(scratch_write(s, batch));
}

struct found {
	size_t count;
	uint64_t first_us, last_us;
	bool is_done;
	int code;
};

static bool on_record(void *owner, const struct decision_record *record)
{
	struct found *found = owner;

	if (found->count == 0) {
		found->first_us = record->wall_us;
	} else if (record->wall_us > found->last_us) {
		found->code = -EBADMSG;
	}
	found->last_us = record->wall_us;
	found->count++;
	return true;
}

static void on_done(void *owner, const struct error *err)
{
	struct found *found = owner;

	found->is_done = true;
	found->code = err == NULL ? found->code : err->code;
}

static struct found query_of(struct scratch *s, const char *pod, const char *vm,
	uint64_t from_us, size_t limit)
{
	struct found found = { 0 };
	struct store_decisions_read read = { .namespace = "a",
		.from_ms = from_us / 1000,
		.to_ms = UINT64_C(1) << 50,
		.limit = limit,
		.record = on_record,
		.done = on_done,
		.owner = &found };

	(void)snprintf(read.pod, sizeof(read.pod), "%s", pod);
	(void)snprintf(read.vm, sizeof(read.vm), "%s", vm);
	assert_int_equal(store_query_decisions(s->store, &read, NULL), 0);
	run_until(&s->loop, &found.is_done);
	assert_int_equal(found.code, 0);
	return found;
}

static struct found query(struct scratch *s, const char *pod, uint64_t from_us,
	size_t limit)
{
	return query_of(s, pod, "", from_us, limit);
}

static void returns_the_records_of_a_pod_newest_first(void **state)
{
	struct scratch *s = *state;
	uint64_t now = clock_wall_us() / 1000 * 1000;
	struct found found;

	scratch_open(s, day_us);
	write_records(s, "vm-1", 5, now);
	write_records(s, "vm-2", 3, now - 500000);
	found = query(s, "vm-1", 0, 100);
	assert_int_equal(found.count, 5);
	assert_true(found.first_us == now);
	assert_int_equal(query(s, "vm-2", 0, 100).count, 3);
	assert_int_equal(query(s, "vm-3", 0, 100).count, 0);
	/* The records of all pods, up to the limit. */
	assert_int_equal(query(s, "", 0, 100).count, 8);
	assert_int_equal(query(s, "", 0, 4).count, 4);
	assert_int_equal(query(s, "vm-1", now - 1000000, 100).count, 2);
}

static void returns_the_records_of_a_vm_newest_first(void **state)
{
	struct scratch *s = *state;
	uint64_t now = clock_wall_us() / 1000 * 1000;

	scratch_open(s, day_us);
	write_records(s, "vm-1", 5, now);
	write_records(s, "vm-2", 3, now - 500000);
	write_records(s, "other", 2, now);
	assert_true(query_of(s, "", "1", 0, 100).first_us == now);
	assert_int_equal(query_of(s, "", "1", 0, 100).count, 5);
	assert_int_equal(query_of(s, "", "2", now - 1600000, 100).count, 2);
	assert_int_equal(query_of(s, "", "3", 0, 100).count, 0);
	assert_int_equal(query_of(s, "vm-1", "1", 0, 100).count, 5);
	assert_int_equal(query_of(s, "vm-1", "2", 0, 100).count, 0);
}

/* Two records of one millisecond follow each other by their rows. */
static void a_list_goes_on_where_the_last_one_ended(void **state)
{
	struct scratch *s = *state;
	uint64_t now = clock_wall_us() / 1000 * 1000;
	uint64_t row = 0;
	struct found found = { 0 };
	struct store_decisions_read read = { .namespace = "a",
		.to_ms = INT64_MAX,
		.limit = 1,
		.row = &row,
		.record = on_record,
		.done = on_done,
		.owner = &found };

	scratch_open(s, day_us);
	write_records(s, "vm-1", 3, now);
	write_records(s, "vm-2", 3, now);
	for (size_t i = 1; i <= 6; i++) {
		assert_int_equal(store_query_decisions(s->store, &read, NULL),
			0);
		run_until(&s->loop, &found.is_done);
		assert_int_equal(found.count, i);
		assert_int_equal(found.code, 0);
		found.is_done = false;
		read.before_ms = found.last_us / 1000;
		read.before_row = row;
	}
	assert_int_equal(store_query_decisions(s->store, &read, NULL), 0);
	run_until(&s->loop, &found.is_done);
	assert_int_equal(found.count, 6);
}

static void a_namespace_has_its_own_records(void **state)
{
	struct scratch *s = *state;
	struct found found = { 0 };
	struct store_decisions_read read = { .namespace = "b",
		.to_ms = INT64_MAX,
		.limit = 100,
		.record = on_record,
		.done = on_done,
		.owner = &found };

	scratch_open(s, day_us);
	write_records(s, "vm-1", 3, clock_wall_us());
	assert_int_equal(store_query_decisions(s->store, &read, NULL), 0);
	run_until(&s->loop, &found.is_done);
	assert_int_equal(found.count, 0);
}

static void ignores_a_resend(void **state)
{
	struct scratch *s = *state;
	uint64_t now = clock_wall_us();

	scratch_open(s, day_us);
	write_records(s, "vm-1", 5, now);
	write_records(s, "vm-1", 5, now);
	assert_int_equal(query(s, "vm-1", 0, 100).count, 5);
}

static void records_survive_a_restart(void **state)
{
	struct scratch *s = *state;

	scratch_open(s, day_us);
	write_records(s, "vm-1", 5, clock_wall_us());
	scratch_close(s);
	scratch_open(s, day_us);
	assert_int_equal(query(s, "vm-1", 0, 100).count, 5);
}

static void refuses_queries_while_it_closes(void **state)
{
	struct scratch *s = *state;
	struct store_decisions_read read = { .record = on_record };
	struct error err;

	scratch_open(s, day_us);
	store_close(s->store);
	assert_int_equal(store_query_decisions(s->store, &read, &err),
		-ESHUTDOWN);
	run_until(&s->loop, &s->is_closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(returns_the_records_of_a_pod_newest_first),
		scratch_test(returns_the_records_of_a_vm_newest_first),
		scratch_test(a_list_goes_on_where_the_last_one_ended),
		scratch_test(a_namespace_has_its_own_records),
		scratch_test(ignores_a_resend),
		scratch_test(records_survive_a_restart),
		scratch_test(refuses_queries_while_it_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
