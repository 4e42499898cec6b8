#include "aggregator/store/store.h"

#include "aggregator/store/stats.h"
#include "aggregator/store/outbox.h"
#include "tests/unit/aggregator/blocked_writes.h"
#include "tests/unit/aggregator/store/full_slot.h"
#include "tests/unit/aggregator/store/queries.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

STEADY("an acknowledged report is stored");
SLOW("megabytes are written");

/* SQLite finds damage when it inserts. */
static _Atomic bool inserts_find_damage;
static _Thread_local bool found_damage;

int __real_sqlite3_step(struct sqlite3_stmt *statement);
int __wrap_sqlite3_step(struct sqlite3_stmt *statement);
int __real_sqlite3_extended_errcode(struct sqlite3 *db);
int __wrap_sqlite3_extended_errcode(struct sqlite3 *db);

int __wrap_sqlite3_step(struct sqlite3_stmt *statement)
{
	found_damage = atomic_load(&inserts_find_damage) &&
		strncmp(sqlite3_sql(statement), "INSERT", 6) == 0;
	return found_damage ? SQLITE_CORRUPT : __real_sqlite3_step(statement);
}

int __wrap_sqlite3_extended_errcode(struct sqlite3 *db)
{
	return found_damage ? SQLITE_CORRUPT
			    : __real_sqlite3_extended_errcode(db);
}

static void returns_written_reports(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	struct rows rows;

	scratch_open(s, day_us);
	assert_int_equal(s->opening.code, 0);
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 5, ms)));
	assert_true(scratch_write(s, batch_of("n2", run_a, 1, 5, ms)));
	rows = query(s, ms + 1, ms + 4);
	assert_int_equal(rows.count, 3);
	assert_int_equal(rows.seqs[0], 2);
	assert_int_equal(rows.seqs[2], 4);
	assert_memory_equal(rows.run_id, run_a, REPORT_RUN_ID_BYTES);
	assert_int_equal(query(s, ms + 5, ms + 99).count, 0);
	assert_string_equal(store_last_error(s->store), "");
}

static void measures_each_commit(void **state)
{
	struct scratch *s = *state;
	struct histogram before, after;

	scratch_open(s, day_us);
	fake_clock.step_us = 1000;
	before = store_stats(s->store).commits;
	assert_int_equal(before.count, 0);
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 5, now_ms())));
	assert_true(scratch_write(s, batch_of("n1", run_a, 6, 5, now_ms())));
	fake_clock.step_us = 0;
	after = store_stats(s->store).commits;
	assert_int_equal(after.count, 2);
	assert_true(after.sum > 0 && after.sum < 60);
}

static void ignores_a_resend(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();

	scratch_open(s, day_us);
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 5, ms)));
	/* Other times: the delay on the network differs. */
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 5, ms + 3)));
	assert_true(scratch_write(s, batch_of("n1", run_b, 1, 2, ms)));
	assert_int_equal(query(s, 0, ms + 1000).count, 7);
}

/* Intervals of seq grow at either end, join and begin; after each step, all
 * reports so far are sent again. */
static void stores_each_report_once_in_any_order(void **state)
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
		assert_true(scratch_write(s, batch));
		assert_int_equal(query(s, 0, ms + 1000).count, i + 1);
	}
}

static void reopening_delivers_the_last_report(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	struct stat st;
	char wal[160];

	scratch_open(s, day_us);
	assert_int_equal(s->last_reports, 0);
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 5, ms)));
	assert_true(scratch_write(s, batch_of("n1", run_b, 1, 5, ms - 5000)));
	scratch_close(s);
	(void)snprintf(wal, sizeof(wal), "%s-wal", s->db);
	assert_int_equal(stat(wal, &st), -1);
	scratch_open(s, day_us);
	assert_int_equal(s->last_reports, 1);
	assert_string_equal(s->last_report_node, "n1");
	assert_int_equal(s->last_report_ms, ms + 4);
	assert_int_equal(query(s, 0, ms + 1000).count, 10);
}

static void commits_the_queue_when_it_closes(void **state)
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

static void refuses_requests_while_it_closes(void **state)
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

static void refuses_a_database_in_use(void **state)
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
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 1, now_ms())));
}

/* user_version is the big-endian word at 60 (sqlite.org/fileformat2.html). */
static void refuses_a_newer_format(void **state)
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

static void leaves_a_file_that_is_not_a_database_unchanged(void **state)
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

/* SQLite opens the file anyway, and read-only even after it became writable. */
static void refuses_a_read_only_file(void **state)
{
	struct scratch *s = *state;
	scoped_free char *lock = xasprintf("%s.lock", s->db);
	uid_t us = geteuid();

	scratch_open(s, day_us);
	scratch_close(s);
	assert_int_equal(chmod(s->dir, 0777), 0);
	assert_int_equal(chmod(lock, 0666), 0);
	assert_int_equal(chmod(s->db, 0444), 0);
	/* Root may write any file. */
	assert_true(us != 0 || seteuid(65534) == 0);
	scratch_open(s, day_us);
	assert_true(us != 0 || seteuid(us) == 0);
	assert_int_equal(s->opening.code, -EROFS);
	assert_non_null(strstr(s->opening.text, s->db));
}

static void refuses_a_path_that_names_no_file(void **state)
{
	struct scratch *s = *state;

	(void)snprintf(s->db, sizeof(s->db), ":memory:");
	scratch_open(s, day_us);
	assert_int_equal(unlink(":memory:.lock"), 0);
	assert_int_equal(s->opening.code, -EINVAL);
	assert_non_null(strstr(s->opening.text, "not a file"));
}

static void reports_a_missing_directory(void **state)
{
	struct scratch *s = *state;

	(void)snprintf(s->db, sizeof(s->db), "%s/nope/t.db", s->dir);
	scratch_open(s, day_us);
	assert_int_equal(s->opening.code, -ENOENT);
	assert_non_null(strstr(s->opening.text, "nope"));
}

static void recovers_from_a_full_disk(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	struct rlimit before, full = { 4096, 4096 };

	scratch_open(s, day_us);
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 1, ms)));
	/* Writes above this file size fail as on a full disk. */
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	full.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	assert_false(scratch_write(s, batch_of("n1", run_a, 2, 1, ms + 1)));
	assert_true(store_last_error(s->store)[0] != '\0');
	assert_int_equal(query(s, 0, ms + 1000).count, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(scratch_write(s, batch_of("n1", run_a, 2, 1, ms + 1)));
	assert_string_equal(store_last_error(s->store), "");
	assert_int_equal(query(s, 0, ms + 1000).count, 2);
}

/* About 7 MB: forty reports with the greatest number of pods. */
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

static void limits_the_bytes_in_the_queue(void **state)
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
	assert_non_null(strstr(store_last_error(s->store), "too slow"));
	for (size_t i = taken; i < count_of(batches); i++) {
		store_batch_free(batches[i]);
	}
	(void)close(lock);
}

/* The smallest batch takes a kilobyte of memory. The batches are made before
 * the writer is blocked: with a sanitizer, that takes longer than the writer
 * waits. */
static void limits_many_small_batches(void **state)
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

struct outcome {
	bool is_over;
	int code;
	char text[320];
};

static void note_outcome(void *owner, const struct error *err)
{
	struct outcome *outcome = owner;

	outcome->is_over = true;
	outcome->code = err == NULL ? 0 : err->code;
	(void)snprintf(outcome->text, sizeof(outcome->text), "%s",
		err == NULL ? "" : err->text);
}

/* One commit takes all three batches, which are queued at once. */
static void a_batch_that_cannot_be_stored_is_refused_alone(void **state)
{
	struct scratch *s = *state;
	uint64_t ms = now_ms();
	uint64_t earlier_ms = ms - 2 * HEAD_SLOT_MS;
	struct outcome outcomes[3] = { 0 };
	static const char *const nodes[] = { "n2", "n1", "n3" };

	s->outbox_bytes = 1 << 20;
	scratch_open(s, day_us);
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 1, ms)));
	fill_slot(s, 1, ms);
	for (size_t i = 0; i < count_of(nodes); i++) {
		struct store_batch *batch =
			batch_of(nodes[i], run_b, 1, 1, earlier_ms);

		/* The second report of n1 has no id left. */
		if (i == 1) {
			struct report r = steady_report(2, 100, 1);

			scratch_add(batch, &r, ms);
		}
		assert_int_equal(store_write(s->store, batch, note_outcome,
					 &outcomes[i], NULL),
			0);
	}
	scratch_commit();
	run_until(&s->loop, &outcomes[2].is_over);
	assert_int_equal(outcomes[0].code, 0);
	assert_int_equal(outcomes[1].code, -EDQUOT);
	assert_non_null(strstr(outcomes[1].text, "reports of one node"));
	assert_int_equal(outcomes[2].code, 0);
	assert_string_equal(store_last_error(s->store), "");
	assert_int_equal(outbox_count(s->store).reports, 3);
	/* Nothing of the refused batch is stored, and the node goes on. */
	assert_int_equal(query(s, earlier_ms, earlier_ms + 1).count, 0);
	assert_true(scratch_write(s, batch_of("n1", run_b, 1, 1, earlier_ms)));
	assert_int_equal(query(s, earlier_ms, earlier_ms + 1).count, 1);
}

static void copy_file(const char *from, const char *to)
{
	scoped_fd int in = open(from, O_RDONLY | O_CLOEXEC);
	scoped_fd int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char bytes[1 << 16];
	ssize_t len;

	while ((len = read(in, bytes, sizeof(bytes))) > 0) {
		assert_int_equal(write(out, bytes, (size_t)len), len);
	}
	assert_int_equal(len, 0);
}

/* The file alone must hold what was acknowledged: a log without a name is gone
 * after a kill. */
static void stops_acknowledging_when_its_log_is_removed(void **state)
{
	struct scratch *s = *state;
	scoped_free char *wal = xasprintf("%s-wal", s->db);
	scoped_free char *copy = xasprintf("%s/copy.db", s->dir);
	uint64_t ms = now_ms();
	int64_t reports = 0;
	struct sqlite3 *db;

	scratch_open(s, day_us);
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 5, ms)));
	assert_int_equal(unlink(wal), 0);
	assert_false(scratch_write(s, batch_of("n1", run_a, 6, 5, ms + 5)));
	assert_non_null(
		strstr(store_last_error(s->store), "-wal' was removed"));
	copy_file(s->db, copy);
	assert_int_equal(db_open(&db, copy, NULL), 0);
	assert_int_equal(
		db_read_number(&reports, db,
			"SELECT count(*) FROM head WHERE seq <= 5", NULL),
		0);
	(void)sqlite3_close(db);
	assert_int_equal(unlink(copy), 0);
	assert_int_equal(reports, 5);
}

static void damage_that_a_write_finds_sets_the_file_aside_at_the_next_start(
	void **state)
{
	struct scratch *s = *state;
	scoped_free char *aside = xasprintf("%s.damaged-1", s->db);
	uint64_t ms = now_ms();

	scratch_open(s, day_us);
	assert_true(scratch_write(s, batch_of("n1", run_a, 1, 1, ms)));
	atomic_store(&inserts_find_damage, true);
	assert_false(scratch_write(s, batch_of("n1", run_a, 2, 1, ms + 1)));
	atomic_store(&inserts_find_damage, false);
	scratch_close(s);
	scratch_open(s, day_us);
	assert_int_equal(s->last_reports, 0);
	assert_int_equal(unlink(aside), 0);
}

static void an_open_store_tells_the_size_of_its_database(void **state)
{
	struct scratch *s = *state;
	struct store_stats stats;
	uint64_t seq = 1;

	s->max_bytes = 1 << 30;
	scratch_open(s, day_us);
	/* Its thread counts after a commit. */
	while (store_stats(s->store).database_bytes == REPORT_UNKNOWN) {
		assert_true(
			scratch_write(s, batch_of("n1", run_a, seq++, 1, 7)));
	}
	stats = store_stats(s->store);
	assert_in_range(stats.database_bytes, 4096, 1 << 20);
	assert_int_equal(stats.database_max_bytes, 1 << 30);
}

static void a_store_that_did_not_open_has_no_size_and_maybe_no_limit(
	void **state)
{
	struct scratch *s = *state;
	struct store_stats stats;

	(void)snprintf(s->db, sizeof(s->db), "%s/missing/x.db", s->dir);
	scratch_open(s, day_us);
	assert_int_not_equal(s->opening.code, 0);
	stats = store_stats(s->store);
	assert_true(stats.database_bytes == REPORT_UNKNOWN);
	assert_true(stats.database_max_bytes == REPORT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(returns_written_reports),
		scratch_test(measures_each_commit),
		scratch_test(ignores_a_resend),
		scratch_test(stores_each_report_once_in_any_order),
		scratch_test(reopening_delivers_the_last_report),
		scratch_test(commits_the_queue_when_it_closes),
		scratch_test(refuses_requests_while_it_closes),
		scratch_test(refuses_a_database_in_use),
		scratch_test(refuses_a_newer_format),
		scratch_test(leaves_a_file_that_is_not_a_database_unchanged),
		scratch_test(refuses_a_read_only_file),
		scratch_test(refuses_a_path_that_names_no_file),
		scratch_test(reports_a_missing_directory),
		scratch_test(recovers_from_a_full_disk),
		scratch_test(limits_the_bytes_in_the_queue),
		scratch_test(limits_many_small_batches),
		scratch_test(a_batch_that_cannot_be_stored_is_refused_alone),
		scratch_test(stops_acknowledging_when_its_log_is_removed),
		scratch_test(
			damage_that_a_write_finds_sets_the_file_aside_at_the_next_start),
		scratch_test(an_open_store_tells_the_size_of_its_database),
		scratch_test(
			a_store_that_did_not_open_has_no_size_and_maybe_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
