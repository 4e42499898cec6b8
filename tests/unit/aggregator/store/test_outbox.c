/* The outbox holds exactly the reports that were stored. */
#include "aggregator/store/outbox.h"

#include "lib/clock.h"
#include "tests/unit/aggregator/scratch.h"

#include <errno.h>
#include <sqlite3.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint64_t day_us = UINT64_C(86400000000);

enum { ROOM = 1 << 20 };

/* The first node of a database has the number 1, and so on. */
enum { SHARD_OF_N1 = 1, SHARD_OF_N2 = 2 };

static void open_with(struct scratch *s, uint64_t outbox_bytes)
{
	s->outbox_bytes = outbox_bytes;
	scratch_open(s, day_us);
	assert_int_equal(s->opening.code, 0);
}

/* Whether the reports were stored. */
static bool write_of(struct scratch *s, const char *node, uint64_t first,
	size_t count)
{
	struct store_batch *batch = store_batch_new(node, run_a);
	uint64_t now_ms = clock_wall_us() / 1000;

	for (size_t i = 0; i < count; i++) {
		struct report r = steady_report(first + i, 100, 1);

		scratch_add(batch, &r, now_ms);
	}
	return scratch_write(s, batch);
}

static bool write_seqs(struct scratch *s, uint64_t first, size_t count)
{
	return write_of(s, "n1", first, count);
}

struct found {
	struct scratch *s;
	size_t shard, count;
	const char *of; /* the only node in the shard; NULL: n1 */
	uint64_t first_seq, last_seq, last_id;
	const char *uid, *node; /* to look for at the end */
	bool is_named;
	struct store_name name;
	bool is_done;
	int code;
};

static bool on_row(void *owner, const struct outbox_row *row)
{
	struct found *found = owner;

	assert_string_equal(row->node, found->of == NULL ? "n1" : found->of);
	assert_true(row->id > found->last_id);
	assert_true(row->stored_ms >= row->sample_ms);
	if (found->count == 0) {
		found->first_seq = row->report->seq;
	}
	found->last_seq = row->report->seq;
	found->last_id = row->id;
	found->count++;
	return true;
}

static void on_end(void *owner, const struct store_names *names)
{
	struct found *found = owner;

	found->is_named = found->uid != NULL &&
		store_names_find(&found->name, names, found->uid, found->node);
}

static void on_done(void *owner, const struct error *err)
{
	struct found *found = owner;

	found->is_done = true;
	found->code = err == NULL ? 0 : err->code;
}

static struct found read_rows(struct scratch *s, uint64_t after, size_t most,
	struct found found)
{
	struct outbox_read read = { .shard = found.shard,
		.after = after,
		.most = most,
		.row = on_row,
		.end = on_end,
		.done = on_done,
		.owner = &found };

	assert_int_equal(outbox_read(s->store, &read, NULL), 0);
	run_until(&s->loop, &found.is_done);
	assert_int_equal(found.code, 0);
	return found;
}

static struct found read_range(struct scratch *s, uint64_t after, size_t most)
{
	return read_rows(s, after, most,
		(struct found){ .s = s, .shard = SHARD_OF_N1 });
}

static struct found read_all(struct scratch *s)
{
	return read_range(s, 0, 1000000);
}

static struct found read_n2(struct scratch *s)
{
	return read_rows(s, 0, 1000000,
		(struct found){ .s = s, .shard = SHARD_OF_N2, .of = "n2" });
}

static struct found read_named(struct scratch *s, const char *uid,
	const char *node)
{
	return read_rows(s, 0, 10,
		(struct found){ .s = s,
			.shard = SHARD_OF_N1,
			.uid = uid,
			.node = node });
}

/* The next commit deletes the reports. */
static void delete_up_to(struct scratch *s, uint64_t id)
{
	assert_int_equal(outbox_delete(s->store, id, NULL), 0);
	assert_true(write_seqs(s, 1, 1)); /* which changes nothing */
}

static void queues_each_stored_report_once_in_order(void **state)
{
	struct scratch *s = *state;
	struct found found;

	open_with(s, ROOM);
	assert_true(write_seqs(s, 1, 5));
	assert_true(write_seqs(s, 3, 5)); /* three of them are stored */
	found = read_all(s);
	assert_int_equal(found.count, 7);
	assert_int_equal(found.first_seq, 1);
	assert_int_equal(found.last_seq, 7);
	assert_int_equal(outbox_count(s->store).reports, 7);
	found = read_range(s, 0, 2);
	assert_int_equal(found.count, 2);
	found = read_range(s, found.last_id, 100);
	assert_int_equal(found.first_seq, 3);
}

static void a_shard_has_the_reports_of_its_nodes_in_order(void **state)
{
	struct scratch *s = *state;
	struct outbox_counts counts;
	struct found found;

	open_with(s, ROOM);
	assert_true(write_of(s, "n1", 1, 3));
	assert_true(write_of(s, "n2", 11, 4));
	assert_true(write_of(s, "n1", 4, 2));
	found = read_all(s);
	assert_int_equal(found.count, 5);
	assert_int_equal(found.first_seq, 1);
	assert_int_equal(found.last_seq, 5);
	counts = outbox_count(s->store);
	assert_int_equal(counts.reports, 9);
	assert_int_equal(counts.shards[SHARD_OF_N1].reports, 5);
	assert_int_equal(counts.shards[SHARD_OF_N1].last_id, found.last_id);
	found = read_n2(s);
	assert_int_equal(found.count, 4);
	assert_int_equal(found.first_seq, 11);
	assert_int_equal(counts.shards[SHARD_OF_N2].last_id, found.last_id);
	assert_int_equal(counts.shards[0].last_id, 0);
	assert_int_equal(counts.shards[0].oldest_ms, 0);
}

static void nodes_share_a_shard_in_turn(void **state)
{
	struct scratch *s = *state;
	struct outbox_counts counts;
	char node[16];

	open_with(s, ROOM);
	for (int i = 1; i <= 2 * OUTBOX_SHARDS; i++) {
		(void)snprintf(node, sizeof(node), "n%d", i);
		assert_true(write_of(s, node, 1, 1));
	}
	counts = outbox_count(s->store);
	for (size_t i = 0; i < OUTBOX_SHARDS; i++) {
		assert_int_equal(counts.shards[i].reports, 2);
	}
}

static void a_shard_is_deleted_by_itself(void **state)
{
	struct scratch *s = *state;
	uint64_t bytes, id;

	open_with(s, ROOM);
	assert_true(write_of(s, "n1", 1, 10));
	bytes = outbox_count(s->store).bytes;
	assert_true(write_of(s, "n2", 1, 10));
	id = read_n2(s).last_id;
	delete_up_to(s, id);
	assert_int_equal(read_all(s).count, 10);
	assert_int_equal(read_n2(s).count, 0);
	assert_int_equal(outbox_count(s->store).bytes, bytes);
	/* Neither after a restart. */
	scratch_close(s);
	open_with(s, ROOM);
	assert_int_equal(read_all(s).count, 10);
	assert_int_equal(read_n2(s).count, 0);
	assert_int_equal(outbox_count(s->store).bytes, bytes);
}

static void queues_nothing_without_an_outbox(void **state)
{
	struct scratch *s = *state;

	open_with(s, 0);
	assert_true(write_seqs(s, 1, 5));
	assert_int_equal(read_all(s).count, 0);
	assert_int_equal(outbox_count(s->store).reports, 0);
}

static void deletes_reports_and_their_bytes(void **state)
{
	struct scratch *s = *state;
	struct found found;

	open_with(s, ROOM);
	assert_true(write_seqs(s, 1, 10));
	found = read_range(s, 0, 4);
	delete_up_to(s, found.last_id);
	assert_int_equal(read_all(s).first_seq, 5);
	assert_int_equal(outbox_count(s->store).reports, 6);
	delete_up_to(s, found.last_id); /* again */
	assert_int_equal(outbox_count(s->store).reports, 6);
	delete_up_to(s, read_all(s).last_id);
	assert_int_equal(outbox_count(s->store).reports, 0);
	assert_int_equal(outbox_count(s->store).bytes, 0);
	assert_true(write_seqs(s, 11, 1));
	assert_true(read_all(s).last_id > found.last_id);
}

static void the_queue_survives_a_restart(void **state)
{
	struct scratch *s = *state;
	struct outbox_counts before;

	open_with(s, ROOM);
	assert_true(write_seqs(s, 1, 10));
	delete_up_to(s, read_range(s, 0, 4).last_id);
	before = outbox_count(s->store);
	scratch_close(s);
	open_with(s, ROOM);
	assert_int_equal(outbox_count(s->store).reports, 6);
	assert_int_equal(outbox_count(s->store).bytes, before.bytes);
	assert_int_equal(read_all(s).first_seq, 5);
	assert_true(write_seqs(s, 11, 1));
	assert_int_equal(read_all(s).last_seq, 11);
}

static void drops_and_counts_the_oldest_above_the_limit(void **state)
{
	struct scratch *s = *state;
	struct outbox_counts counts;
	struct found found;

	open_with(s, 10000);
	for (uint64_t seq = 1; seq <= 2000; seq += 100) {
		assert_true(write_seqs(s, seq, 100));
		assert_true(outbox_count(s->store).bytes <= 10000);
	}
	counts = outbox_count(s->store);
	found = read_all(s);
	assert_int_equal(found.last_seq, 2000);
	assert_int_equal(found.count, counts.reports);
	assert_int_equal(counts.reports + counts.dropped, 2000);
	assert_int_equal(found.first_seq, counts.dropped + 1);
	/* The outbox is nearly full. */
	assert_in_range(counts.bytes, 9000, 10000);
}

/* A shard whose requests fail has the oldest reports. */
static void drops_the_oldest_report_of_all_shards(void **state)
{
	struct scratch *s = *state;
	uint64_t first_ms;

	open_with(s, 10000);
	assert_true(write_of(s, "n1", 1, 20));
	first_ms = outbox_count(s->store).shards[SHARD_OF_N1].oldest_ms;
	fake_clock_move(1000);
	assert_true(clock_wall_us() / 1000 > first_ms);
	for (uint64_t seq = 1; outbox_count(s->store).dropped < 20; seq += 8) {
		assert_true(write_of(s, "n2", seq, 8));
		assert_true(outbox_count(s->store).bytes <= 10000);
	}
	assert_int_equal(read_all(s).count, 0);
	assert_int_equal(read_n2(s).first_seq,
		outbox_count(s->store).dropped - 20 + 1);
}

/* The table of version 0.2. */
static void run_sql(const struct scratch *s, const char *sql)
{
	struct sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(s->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void converts_the_queue_of_an_older_version(void **state)
{
	struct scratch *s = *state;
	struct outbox_counts before;

	open_with(s, UINT64_C(8) * ROOM);
	for (uint64_t seq = 1; seq <= 6000; seq += 1000) {
		assert_true(write_of(s, "n1", seq, 1000));
		assert_true(write_of(s, "n2", seq, 100));
	}
	before = outbox_count(s->store);
	scratch_close(s);
	run_sql(s,
		"CREATE TABLE outbox(id INTEGER PRIMARY KEY, node INTEGER NOT"
		" NULL, sample_ms INTEGER NOT NULL, stored_ms INTEGER NOT NULL,"
		" end_bytes INTEGER NOT NULL, body BLOB NOT NULL);"
		"INSERT INTO outbox(node, sample_ms, stored_ms, end_bytes,"
		" body) SELECT node, sample_ms, stored_ms, end_bytes, body"
		" FROM outbox_shard ORDER BY stored_ms, id;"
		"DELETE FROM outbox_shard;");
	open_with(s, UINT64_C(8) * ROOM);
	assert_int_equal(outbox_count(s->store).reports, before.reports);
	assert_int_equal(outbox_count(s->store).bytes, before.bytes);
	assert_int_equal(read_all(s).count, 6000);
	assert_int_equal(read_all(s).first_seq, 1);
	assert_int_equal(read_all(s).last_seq, 6000);
	assert_int_equal(read_n2(s).count, 600);
	/* Once. */
	scratch_close(s);
	open_with(s, UINT64_C(8) * ROOM);
	assert_int_equal(outbox_count(s->store).reports, before.reports);
}

static void reaches_a_smaller_limit_in_steps(void **state)
{
	struct scratch *s = *state;
	uint64_t waiting;

	open_with(s, ROOM);
	assert_true(write_seqs(s, 1, 3000));
	scratch_close(s);
	open_with(s, 10000);
	assert_true(write_seqs(s, 3001, 1));
	waiting = outbox_count(s->store).reports;
	assert_in_range(waiting, 2000, 2001);
	assert_true(write_seqs(s, 3002, 2));
	assert_true(outbox_count(s->store).bytes <= 10000);
	assert_int_equal(read_all(s).last_seq, 3003);
}

/* The last report of the batch cannot be stored, so none is. */
static void does_not_queue_reports_that_are_not_stored(void **state)
{
	struct scratch *s = *state;
	struct store_batch *batch = store_batch_new("n1", run_a);

	open_with(s, ROOM);
	assert_true(write_seqs(s, 1, 5));
	for (uint64_t seq = 6; seq < 10; seq++) {
		struct report r = steady_report(seq, 100, 1);

		scratch_add(batch, &r, seq == 9 ? UINT64_C(1) << 45 : 1);
	}
	assert_false(scratch_write(s, batch));
	assert_int_equal(read_all(s).count, 5);
	assert_int_equal(outbox_count(s->store).reports, 5);
	assert_true(write_seqs(s, 6, 5));
	assert_int_equal(read_all(s).count, 10);
	assert_int_equal(outbox_count(s->store).reports, 10);
}

static void finds_the_vm_of_a_pod(void **state)
{
	struct scratch *s = *state;
	struct found found;

	open_with(s, ROOM);
	assert_int_equal(
		store_identify(s->store,
			&(struct store_vm){ "uid-1", "space", "vm", "vmi", "" },
			NULL, NULL, NULL),
		0);
	assert_true(write_seqs(s, 1, 1));
	assert_false(read_named(s, "uid-1", "n1").is_named);
	assert_int_equal(store_identify(s->store,
				 &(struct store_vm){ "uid-1", "space", "vm",
					 "vmi", "n1" },
				 NULL, NULL, NULL),
		0);
	assert_true(write_seqs(s, 2, 1));
	found = read_named(s, "uid-1", "n1");
	assert_true(found.is_named);
	assert_string_equal(found.name.namespace, "space");
	assert_string_equal(found.name.name, "vm");
	assert_false(read_named(s, "uid-2", "n1").is_named);
	/* Another node's claim to the pod has no name. */
	assert_false(read_named(s, "uid-1", "n2").is_named);
}

static void refuses_requests_while_it_closes(void **state)
{
	struct scratch *s = *state;
	struct outbox_read read = { .most = 1 };

	open_with(s, ROOM);
	store_close(s->store);
	assert_int_equal(outbox_read(s->store, &read, NULL), -ESHUTDOWN);
	assert_int_equal(outbox_delete(s->store, 1, NULL), -ESHUTDOWN);
	run_until(&s->loop, &s->is_closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(queues_each_stored_report_once_in_order),
		scratch_test(a_shard_has_the_reports_of_its_nodes_in_order),
		scratch_test(nodes_share_a_shard_in_turn),
		scratch_test(a_shard_is_deleted_by_itself),
		scratch_test(queues_nothing_without_an_outbox),
		scratch_test(deletes_reports_and_their_bytes),
		scratch_test(the_queue_survives_a_restart),
		scratch_test(drops_and_counts_the_oldest_above_the_limit),
		scratch_test(drops_the_oldest_report_of_all_shards),
		scratch_test(converts_the_queue_of_an_older_version),
		scratch_test(reaches_a_smaller_limit_in_steps),
		scratch_test(does_not_queue_reports_that_are_not_stored),
		scratch_test(finds_the_vm_of_a_pod),
		scratch_test(refuses_requests_while_it_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
