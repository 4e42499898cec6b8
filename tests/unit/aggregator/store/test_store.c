#include "aggregator/store/store.h"

#include "aggregator/store/head.h"
#include "lib/clock.h"
#include "proto/wire.h"
#include "tests/unit/aggregator/scratch.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };
static const uint8_t run_b[REPORT_RUN_ID_BYTES] = { 'b' };
static const uint64_t day_us = UINT64_C(86400000000);

static struct store_batch *batch_of(const char *node, const uint8_t *run_id,
	uint64_t first_seq, size_t count, uint64_t first_ms)
{
	struct store_batch *batch = store_batch_new(node, run_id);

	for (size_t i = 0; i < count; i++) {
		struct report r =
			steady_report(first_seq + i, 100 + (double)i, 1);

		scratch_add(batch, &r, first_ms + i);
	}
	return batch;
}

/* Writes and waits; true if it was stored. */
static bool write_all(struct scratch *s, struct store_batch *batch)
{
	s->is_written = false;
	assert_int_equal(store_write(s->store, batch, scratch_written, s, NULL),
		0);
	run_until(&s->loop, &s->is_written);
	return s->is_stored;
}

/* What a query gave. */
struct rows {
	size_t count, stop_after;
	uint64_t seqs[4000];
	uint64_t last_ms;
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	bool is_done;
	int code;
};

static bool on_row(void *owner, const struct store_row *row)
{
	struct rows *rows = owner;

	if (strcmp(row->node, "n1") != 0 || row->sample_ms < rows->last_ms) {
		rows->code = -EBADMSG;
		return false;
	}
	rows->seqs[rows->count] = row->report->seq;
	rows->count++;
	rows->last_ms = row->sample_ms;
	memcpy(rows->run_id, row->run_id, REPORT_RUN_ID_BYTES);
	return rows->count != rows->stop_after;
}

static void on_done(void *owner, const struct error *err)
{
	struct rows *rows = owner;

	rows->is_done = true;
	rows->code = err == NULL ? rows->code : err->code;
}

static struct rows query_up_to(struct scratch *s, uint64_t from_ms,
	uint64_t to_ms, size_t stop_after)
{
	struct rows rows = { .stop_after = stop_after };
	struct store_read read = { .node = "n1",
		.parts = FIELDS_ALL,
		.from_ms = from_ms,
		.to_ms = to_ms,
		.row = on_row,
		.done = on_done,
		.owner = &rows };

	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, 0);
	return rows;
}

static struct rows query(struct scratch *s, uint64_t from_ms, uint64_t to_ms)
{
	return query_up_to(s, from_ms, to_ms, SIZE_MAX);
}

static uint64_t now_ms(void)
{
	return clock_wall_us() / 1000;
}

static void gives_back_what_was_written(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	struct rows rows;

	scratch_open(s, day_us);
	assert_int_equal(s->opening.code, 0);
	assert_true(write_all(s, batch_of("n1", run_a, 1, 5, ms)));
	assert_true(write_all(s, batch_of("n2", run_a, 1, 5, ms)));
	rows = query(s, ms + 1, ms + 4);
	assert_int_equal(rows.count, 3);
	assert_int_equal(rows.seqs[0], 2);
	assert_int_equal(rows.seqs[2], 4);
	assert_memory_equal(rows.run_id, run_a, REPORT_RUN_ID_BYTES);
	assert_int_equal(query(s, ms + 5, ms + 99).count, 0);
	assert_string_equal(store_trouble(s->store), "");
}

static void a_resend_is_stored_and_changes_nothing(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();

	scratch_open(s, day_us);
	assert_true(write_all(s, batch_of("n1", run_a, 1, 5, ms)));
	/* Another delay on the network, hence other times. */
	assert_true(write_all(s, batch_of("n1", run_a, 1, 5, ms + 3)));
	assert_true(write_all(s, batch_of("n1", run_b, 1, 2, ms)));
	assert_int_equal(query(s, 0, ms + 1000).count, 7);
}

/* Intervals of seq grow at either end, meet and begin anew; after each step all
 * that was stored so far is sent again. */
static void each_report_is_stored_once_whatever_order_they_come_in(void **state)
{
	static const uint64_t seqs[] = { 5, 1, 2, 9, 8, 3, 7, 4, 6, 20 };
	struct scratch *s = *state;
	uint64_t ms = now_ms();

	scratch_open(s, day_us);
	for (size_t i = 0; i < count_of(seqs); i++) {
		struct store_batch *batch = store_batch_new("n1", run_a);

		for (size_t j = 0; j <= i; j++) {
			struct report r = steady_report(seqs[j], 100, 1);

			scratch_add(batch, &r, ms);
		}
		assert_true(write_all(s, batch));
		assert_int_equal(query(s, 0, ms + 1000).count, i + 1);
	}
}

static void gives_long_ranges_in_order(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	struct rows rows;

	scratch_open(s, day_us);
	/* Every time twice, so that pages end between equals. */
	assert_true(write_all(s, batch_of("n1", run_a, 1, 1000, ms)));
	assert_true(write_all(s, batch_of("n1", run_b, 1, 1000, ms)));
	assert_true(write_all(s, batch_of("n1", run_a, 1001, 501, ms + 1000)));
	rows = query(s, ms, ms + 10000);
	assert_int_equal(rows.count, 2501);
	assert_int_equal(rows.seqs[2500], 1501);
	assert_int_equal(query_up_to(s, ms, ms + 10000, 7).count, 7);
}

static void survives_reopening_and_seeds_the_newest(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	struct stat st;
	char wal[160];

	scratch_open(s, day_us);
	assert_int_equal(s->seeds, 0);
	assert_true(write_all(s, batch_of("n1", run_a, 1, 5, ms)));
	assert_true(write_all(s, batch_of("n1", run_b, 1, 5, ms - 5000)));
	scratch_close(s);
	(void)snprintf(wal, sizeof(wal), "%s-wal", s->db);
	assert_int_equal(stat(wal, &st), -1);
	scratch_open(s, day_us);
	assert_int_equal(s->seeds, 1);
	assert_string_equal(s->seed_node, "n1");
	assert_int_equal(s->seed_ms, ms + 4);
	assert_int_equal(query(s, 0, ms + 1000).count, 10);
}

static void commits_what_is_queued_when_it_closes(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();

	scratch_open(s, day_us);
	s->is_written = false;
	assert_int_equal(store_write(s->store, batch_of("n1", run_a, 1, 5, ms),
				 scratch_written, s, NULL),
		0);
	scratch_close(s);
	assert_true(s->is_written && s->is_stored);
	scratch_open(s, day_us);
	assert_int_equal(query(s, 0, ms + 1000).count, 5);
}

static void takes_nothing_while_it_closes(void **state)
{
	struct scratch *s = *state;
	struct store_batch *batch = batch_of("n1", run_a, 1, 1, now_ms());
	struct store_read read = { .row = on_row };
	struct error err;

	scratch_open(s, day_us);
	store_close(s->store);
	assert_int_equal(store_write(s->store, batch, scratch_written, s, &err),
		-ESHUTDOWN);
	assert_int_equal(store_query(s->store, &read, &err), -ESHUTDOWN);
	store_batch_free(batch);
	run_until(&s->loop, &s->is_closed);
}

static void a_second_holder_is_refused(void **state)
{
	struct scratch *s = *state;
	struct scratch second = { 0 };

	scratch_open(s, day_us);
	assert_int_equal(uv_loop_init(&second.loop), 0);
	memcpy(second.db, s->db, sizeof(second.db));
	scratch_open(&second, day_us);
	assert_int_equal(second.opening.code, -EWOULDBLOCK);
	assert_non_null(strstr(second.opening.text, "another aggregator"));
	scratch_close(&second);
	(void)uv_run(&second.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&second.loop), 0);
	assert_true(write_all(s, batch_of("n1", run_a, 1, 1, now_ms())));
}

/* user_version is the big-endian word at 60 (sqlite.org/fileformat2.html). */
static void a_newer_format_is_refused(void **state)
{
	struct scratch *s = *state;
	const uint8_t version[] = { 0, 0, 0, 99 };
	int fd;

	scratch_open(s, day_us);
	scratch_close(s);
	fd = open(s->db, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, version, 4, 60), 4);
	(void)close(fd);
	scratch_open(s, day_us);
	assert_int_equal(s->opening.code, -ENOTSUP);
	assert_non_null(strstr(s->opening.text, "newer plimsoll"));
	assert_non_null(strstr(s->opening.text, s->db));
}

static void a_file_that_is_no_database_is_left_alone(void **state)
{
	static const char text[] = "this is not a database, but a long text";
	struct scratch *s = *state;
	char back[sizeof(text)];
	int fd = open(s->db, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	for (int i = 0; i < 100; i++) {
		assert_int_equal(write(fd, text, sizeof(text)),
			(int)sizeof(text));
	}
	scratch_open(s, day_us);
	assert_int_equal(s->opening.code, -EINVAL);
	assert_int_equal(pread(fd, back, sizeof(back), 0), (int)sizeof(back));
	assert_string_equal(back, text);
	(void)close(fd);
}

/* SQLite opens it nonetheless, and stays with that when it is made writable. */
static void a_file_that_cannot_be_written_is_refused(void **state)
{
	struct scratch *s = *state;
	scoped_free char *lock = xasprintf("%s.lock", s->db);
	uid_t us = geteuid();

	scratch_open(s, day_us);
	scratch_close(s);
	assert_int_equal(chmod(s->dir, 0777), 0);
	assert_int_equal(chmod(lock, 0666), 0);
	assert_int_equal(chmod(s->db, 0444), 0);
	/* Root may write anything. */
	assert_true(us != 0 || seteuid(65534) == 0);
	scratch_open(s, day_us);
	assert_true(us != 0 || seteuid(us) == 0);
	assert_int_equal(s->opening.code, -EROFS);
	assert_non_null(strstr(s->opening.text, s->db));
}

static void a_name_that_means_no_file_is_refused(void **state)
{
	struct scratch *s = *state;

	(void)snprintf(s->db, sizeof(s->db), ":memory:");
	scratch_open(s, day_us);
	assert_int_equal(unlink(":memory:.lock"), 0);
	assert_int_equal(s->opening.code, -EINVAL);
	assert_non_null(strstr(s->opening.text, "is no file"));
}

static void a_directory_that_is_not_there_is_said(void **state)
{
	struct scratch *s = *state;

	(void)snprintf(s->db, sizeof(s->db), "%s/nope/t.db", s->dir);
	scratch_open(s, day_us);
	assert_int_equal(s->opening.code, -ENOENT);
	assert_non_null(strstr(s->opening.text, "nope"));
}

static void a_full_disk_is_survived(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	struct rlimit before, full = { 4096, 4096 };

	scratch_open(s, day_us);
	assert_true(write_all(s, batch_of("n1", run_a, 1, 1, ms)));
	/* Files that grow beyond the limit fail as on a full disk. */
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	full.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	assert_false(write_all(s, batch_of("n1", run_a, 2, 1, ms + 1)));
	assert_true(store_trouble(s->store)[0] != '\0');
	assert_int_equal(query(s, 0, ms + 1000).count, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(write_all(s, batch_of("n1", run_a, 2, 1, ms + 1)));
	assert_string_equal(store_trouble(s->store), "");
	assert_int_equal(query(s, 0, ms + 1000).count, 2);
}

/* About 7 MB: forty reports of as many pods as one may have. */
static struct store_batch *large_batch(void)
{
	struct store_batch *batch = store_batch_new("n1", run_a);
	struct vm_pod vms[REPORT_VMS_MAX];
	struct report r = sample_report(1, 100);

	for (size_t i = 0; i < count_of(vms); i++) {
		vms[i] = sample_vm("a", i + 1);
		memset(vms[i].pod_uid, 'x', REPORT_UID_MAX - 1);
	}
	sample_add_vms(&r, vms, count_of(vms));
	for (int i = 0; i < 40; i++) {
		scratch_add(batch, &r, 1);
	}
	report_fini(&r);
	return batch;
}

static void the_queue_is_bounded(void **state)
{
	struct scratch *s = *state;
	struct store_batch *batches[20];
	struct error err = { 0 };
	size_t taken = 0;
	int lock;

	for (size_t i = 0; i < count_of(batches); i++) {
		batches[i] = large_batch();
	}
	scratch_open(s, day_us);
	lock = scratch_block_writes(s);
	while (taken < count_of(batches) &&
		store_write(s->store, batches[taken], scratch_written, s,
			&err) == 0) {
		taken++;
	}
	assert_in_range(taken, 5, count_of(batches) - 1);
	assert_int_equal(err.code, -ENOBUFS);
	assert_non_null(strstr(store_trouble(s->store), "too slow"));
	for (size_t i = taken; i < count_of(batches); i++) {
		store_batch_free(batches[i]);
	}
	(void)close(lock);
}

/* The smallest batch takes a kilobyte of memory, whatever it packs to. They are
 * made before the disk is held up: a sanitizer takes longer for that than the
 * writer waits. */
static void many_small_batches_are_bounded_too(void **state)
{
	enum { BATCHES_MAX = STORE_QUEUE_BYTES / 1000 };
	struct scratch *s = *state;
	struct store_batch **batches =
		xcalloc(BATCHES_MAX, sizeof(struct store_batch *));
	size_t taken = 0;
	int r = 0;
	int lock;

	for (size_t i = 0; i < BATCHES_MAX; i++) {
		batches[i] = batch_of("n1", run_a, i + 1, 1, now_ms());
	}
	scratch_open(s, day_us);
	lock = scratch_block_writes(s);
	while (r == 0 && taken < BATCHES_MAX) {
		r = store_write(s->store, batches[taken], scratch_written, s,
			NULL);
		taken += r == 0 ? 1 : 0;
	}
	assert_int_equal(r, -ENOBUFS);
	for (size_t i = taken; i < BATCHES_MAX; i++) {
		store_batch_free(batches[i]);
	}
	free(batches);
	(void)close(lock);
}

static void old_reports_are_deleted(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();

	scratch_open(s, day_us);
	assert_true(write_all(s, batch_of("n1", run_a, 1, 700, ms - 7200000)));
	assert_true(write_all(s, batch_of("n1", run_a, 701, 5, ms)));
	assert_true(write_all(s, batch_of("n2", run_a, 1, 5, ms)));
	scratch_close(s);
	scratch_open(s, day_us / 24); /* two steps, a tenth of a second apart */
	while (query(s, 0, ms + 1000).count > 5 && now_ms() < ms + 10000) {
	}
	assert_int_equal(query(s, 0, ms + 1000).count, 5);
}

static void reads_are_bounded(void **state)
{
	struct scratch *s = *state;
	static struct rows rows[STORE_READS_MAX];
	struct store_read read = { .node = "n1",
		.parts = FIELDS_ALL,
		.to_ms = 1,
		.row = on_row,
		.done = on_done };
	struct error err;

	memset(rows, 0, sizeof(rows));
	scratch_open(s, day_us);
	for (size_t i = 0; i < STORE_READS_MAX; i++) {
		read.owner = &rows[i];
		assert_int_equal(store_query(s->store, &read, NULL), 0);
	}
	assert_int_equal(store_query(s->store, &read, &err), -EBUSY);
	scratch_close(s);
	for (size_t i = 0; i < STORE_READS_MAX; i++) {
		assert_true(rows[i].is_done);
	}
}

static bool on_pod(void *owner, const struct store_row *row)
{
	struct rows *rows = owner;

	if (row->report->vm_count == 1 &&
		strcmp(row->report->vms[0].pod_uid, "pod-2") == 0) {
		rows->count++;
	}
	return true;
}

static void a_vm_is_found_by_its_name_and_alone(void **state)
{
	struct vm_pod vms[2] = { sample_vm("pod-1", 1), sample_vm("pod-2", 2) };
	struct store_batch *batch = store_batch_new("n1", run_a);
	struct report r = sample_report(1, 100);
	struct scratch *s = *state;
	struct rows rows = { 0 };
	struct store_read read = { .node = "n1",
		.parts = FIELDS_ALL,
		.namespace = "shop",
		.name = "db",
		.to_ms = UINT64_MAX,
		.row = on_pod,
		.done = on_done,
		.owner = &rows };

	scratch_open(s, day_us);
	assert_int_equal(
		store_identify(s->store,
			&(struct store_vm){ "pod-1", "shop", "web", "u1", "" },
			NULL),
		0);
	assert_int_equal(
		store_identify(s->store,
			&(struct store_vm){ "pod-2", "shop", "db", "u2", "n1" },
			NULL),
		0);
	sample_add_vms(&r, vms, 2);
	scratch_add(batch, &r, now_ms());
	report_fini(&r);
	assert_true(write_all(s, batch));
	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, 0);
	assert_int_equal(rows.count, 1);

	/* Without its node: the pod's place was said. */
	rows = (struct rows){ 0 };
	read.node[0] = '\0';
	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, 0);
	assert_int_equal(rows.count, 1);

	rows = (struct rows){ 0 };
	(void)snprintf(read.name, sizeof(read.name), "dc");
	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, -ENOENT);
}

static bool count_minute(void *owner, const struct store_rollup *rollup)
{
	struct rows *rows = owner;

	rows->count += rollup->row->covered_ms == 2000;
	return true;
}

/* Rows are looked for from the slot on that the oldest is in, and slots do not
 * begin with minutes. */
static void the_first_minute_counts_however_late_it_begins(void **state)
{
	const uint64_t slot_ms = UINT64_C(1) << TAIL_SLOT_BITS;
	uint64_t begin_ms = UINT64_C(1790000000000) / slot_ms * slot_ms;
	struct store_batch *batch = store_batch_new("n1", run_a);
	struct scratch *s = *state;
	struct rows rows = { 0 };
	struct store_read read = { .node = "n1",
		.parts = FIELDS_ALL,
		.tier = STORE_1M,
		.rollup = count_minute,
		.done = on_done,
		.owner = &rows };

	while (begin_ms % 60000 < 10000 || begin_ms % 60000 > 50000) {
		begin_ms += slot_ms;
	}
	read.from_ms = begin_ms - begin_ms % 60000 - 600000;
	read.to_ms = begin_ms + 600000;
	for (uint64_t i = 0; i < 2; i++) {
		struct report r = steady_report(i + 1, 100 + 2 * (double)i, 1);

		scratch_add(batch, &r, begin_ms + 1000 + 2000 * i);
	}
	scratch_open(s, 4000 * day_us);
	assert_true(write_all(s, batch));
	assert_int_equal(store_query(s->store, &read, NULL), 0);
	run_until(&s->loop, &rows.is_done);
	assert_int_equal(rows.code, 0);
	assert_int_equal(rows.count, 1);
}

#define test(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(gives_back_what_was_written),
		test(a_resend_is_stored_and_changes_nothing),
		test(each_report_is_stored_once_whatever_order_they_come_in),
		test(gives_long_ranges_in_order),
		test(survives_reopening_and_seeds_the_newest),
		test(commits_what_is_queued_when_it_closes),
		test(takes_nothing_while_it_closes),
		test(a_second_holder_is_refused),
		test(a_newer_format_is_refused),
		test(a_file_that_is_no_database_is_left_alone),
		test(a_file_that_cannot_be_written_is_refused),
		test(a_name_that_means_no_file_is_refused),
		test(a_directory_that_is_not_there_is_said),
		test(a_full_disk_is_survived),
		test(the_queue_is_bounded),
		test(many_small_batches_are_bounded_too),
		test(old_reports_are_deleted),
		test(reads_are_bounded),
		test(a_vm_is_found_by_its_name_and_alone),
		test(the_first_minute_counts_however_late_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
