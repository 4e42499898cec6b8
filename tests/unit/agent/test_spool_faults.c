/* Fails each I/O call of the spool in turn: the n-th call of a fixed sequence
 * fails, for n = 1, 2, ... until no call fails any more. Afterwards every
 * report is delivered or counted as dropped. */
#include "agent/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

enum {
	RING_REPORTS = 4,
	BODY = 100,
	LARGE = 300 << 10, /* four of them fill a segment */
	SEQ_MAX = 64,
	CALLS_MAX = 1000,
	SHORT = -1,	 /* a read or write does half of the work */
	SHORT_TORN = -2, /* the same, and ftruncate(2) fails */
};

static struct {
	int kind;   /* an errno, SHORT or SHORT_TORN */
	bool lasts; /* every call after the n-th fails too */
	bool armed, fired;
	int calls;	/* until the fault */
	bool is_silent; /* no error to report: close(2), a short read */
} fault;

static void arm(int kind, bool lasts, int n)
{
	memset(&fault, 0, sizeof(fault));
	fault.kind = kind;
	fault.lasts = lasts;
	fault.calls = n;
	fault.armed = true;
}

uint32_t __wrap_crc_add(uint32_t crc, const void *bytes, size_t len);

/* The same function, without a sanitizer's checks of megabytes. */
uint32_t __wrap_crc_add(uint32_t crc, const void *bytes, size_t len)
{
	return (uint32_t)crc32(crc, bytes, (uInt)len);
}

static bool strikes(void)
{
	if (!fault.armed || fault.fired) {
		return fault.armed && fault.lasts;
	}
	fault.fired = --fault.calls == 0;
	return fault.fired;
}

static bool fails(void)
{
	bool failed = fault.kind > 0 && strikes();

	if (failed) {
		errno = fault.kind;
	}
	return failed;
}

static size_t cut(size_t size)
{
	return fault.kind < 0 && strikes() ? (size + 1) / 2 : size;
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
int __real_fstatat(int dir, const char *name, struct stat *out, int flags);
int __wrap_fstatat(int dir, const char *name, struct stat *out, int flags);
ssize_t __real_pread(int fd, void *out, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at);
ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_mkdir(const char *path, mode_t mode)
{
	return fails() ? -1 : __real_mkdir(path, mode);
}

int __wrap_open(const char *path, int flags, ...)
{
	return fails() ? -1 : __real_open(path, flags, 0600);
}

int __wrap_openat(int dir, const char *name, int flags, ...)
{
	return fails() ? -1 : __real_openat(dir, name, flags, 0600);
}

int __wrap_flock(int fd, int operation)
{
	return fails() ? -1 : __real_flock(fd, operation);
}

DIR *__wrap_fdopendir(int fd)
{
	return fails() ? NULL : __real_fdopendir(fd);
}

struct dirent *__wrap_readdir(DIR *dir)
{
	return fails() ? NULL : __real_readdir(dir);
}

int __wrap_fstatat(int dir, const char *name, struct stat *out, int flags)
{
	return fails() ? -1 : __real_fstatat(dir, name, out, flags);
}

ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at)
{
	size_t part = cut(size);

	fault.is_silent |= part != size;
	return fails() ? -1 : __real_pread(fd, out, part, at);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	if (fd == STDERR_FILENO) { /* the log */
		return __real_write(fd, bytes, size);
	}
	return fails() ? -1 : __real_write(fd, bytes, cut(size));
}

int __wrap_ftruncate(int fd, off_t size)
{
	if (fails() || (fault.fired && fault.kind == SHORT_TORN)) {
		errno = EIO;
		return -1;
	}
	return __real_ftruncate(fd, size);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
	return fails() ? -1 : __real_unlinkat(dir, name, flags);
}

/* close(2) closes the descriptor even if it fails. */
int __wrap_close(int fd)
{
	bool failed = fails();
	int r = __real_close(fd);

	fault.is_silent |= failed;
	return failed ? -1 : r;
}

/* ---- a synthetic agent ---- */

enum { RUNS = 2 };

static const uint8_t run_ids[RUNS][REPORT_RUN_ID_BYTES] = { { 1 }, { 2 } };

static struct {
	char dir[96];
	size_t body_bytes;
	struct ring *ring;
	struct spool *spool;
	uint8_t run;
	bool delivered[RUNS][SEQ_MAX];
	uint64_t made[RUNS], dropped[RUNS];
	bool reported; /* the spool returned an error */
} agent;

static void note_error(void)
{
	struct error err;

	agent.reported |= spool_take_last_error(&err, agent.spool) != 0;
}

/* If the spool cannot be opened, the agent is restarted. */
static void start(uint8_t run)
{
	const struct spool_options options = {
		.dir = agent.dir,
		.bytes_max = 64 << 20,
		.run_id = run_ids[run],
		.ring = ring_new(RING_REPORTS, 1 << 30, 1),
		.consumers = 1,
	};
	struct error err;

	agent.run = run;
	agent.ring = options.ring;
	if (spool_open(&agent.spool, &options, &err) < 0) {
		agent.reported = true;
		fault.armed = false;
		assert_int_equal(spool_open(&agent.spool, &options, &err), 0);
	}
}

static void stop(void)
{
	agent.made[agent.run] = ring_next_seq(agent.ring) - 1;
	agent.dropped[agent.run] =
		ring_dropped(agent.ring) + spool_stats(agent.spool)->dropped;
	spool_close(take_ptr(agent.spool));
	ring_free(take_ptr(agent.ring));
}

static void sample(int count)
{
	scoped_free uint8_t *body = xcalloc(1, agent.body_bytes);

	for (int i = 0; i < count; i++) {
		body[0] = agent.run;
		body[1] = (uint8_t)ring_next_seq(agent.ring);
		spool_before_add(agent.spool);
		ring_add(agent.ring, body, agent.body_bytes);
		spool_after_add(agent.spool);
		note_error();
	}
}

/* False: the spool has nothing to send now. */
static bool send_spooled(void)
{
	static struct spool_batch batch;

	spool_pick(&batch, agent.spool, 0, SPOOL_BATCH_BYTES);
	note_error();
	for (size_t i = 0; i < batch.count; i++) {
		const uint8_t *body = batch.reports[i].bytes;

		assert_memory_equal(batch.run_id, run_ids[body[0]],
			sizeof(batch.run_id));
		agent.delivered[body[0]][body[1]] = true;
	}
	spool_advance(agent.spool, 0);
	return batch.count > 0;
}

static void send_ring(void)
{
	for (uint64_t seq = ring_oldest_seq(agent.ring);
		seq < ring_next_seq(agent.ring); seq++) {
		agent.delivered[agent.run][seq] = true;
		ring_stored(agent.ring, 0, &seq, 1);
	}
}

static size_t count_files(void)
{
	DIR *dir = opendir(agent.dir);
	const struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(dir)) != NULL) {
		count += strstr(entry->d_name, ".spool") != NULL;
	}
	(void)closedir(dir);
	return count;
}

/* Falls behind twice, catches up in between, and restarts. */
static void spool_and_restart(void)
{
	start(0);
	sample(9);
	(void)send_spooled();
	(void)send_spooled();
	sample(2);
	(void)send_spooled();
	send_ring();
	(void)send_spooled();
	sample(1);
	send_ring();
	sample(7);
	(void)send_spooled();
	spool_write_all(agent.spool);
	if (spool_take_last_error(&(struct error){ 0 }, agent.spool) != 0) {
		agent.reported = true;
		fault.armed = false;
		spool_write_all(agent.spool);
	}
	stop();
	start(1);
	sample(7);
	(void)send_spooled();
	(void)send_spooled();
}

static void deliver_the_rest(void)
{
	while (send_spooled()) {
	}
	send_ring();
	sample(1);
	(void)send_spooled();
	send_ring();
	sample(1);
	assert_int_equal(count_files(), 0);
	assert_int_equal(spool_stats(agent.spool)->bytes, 0);
	send_ring();
	stop();
}

static void check_reports(void)
{
	for (int run = 0; run < RUNS; run++) {
		uint64_t missing = 0;

		for (uint64_t seq = 1; seq <= agent.made[run]; seq++) {
			missing += !agent.delivered[run][seq];
		}
		assert_true(missing <= agent.dropped[run]);
		/* A single fault drops no report at all. */
		assert_true(fault.lasts || agent.dropped[run] == 0);
	}
	assert_true(!fault.fired || fault.is_silent || agent.reported);
}

static void begin(void)
{
	const char *tmpdir = getenv("TMPDIR");

	memset(&agent, 0, sizeof(agent));
	agent.body_bytes = BODY;
	(void)snprintf(agent.dir, sizeof(agent.dir), "%s/spool-XXXXXX",
		tmpdir != NULL ? tmpdir : "/tmp");
	assert_non_null(mkdtemp(agent.dir));
}

static void end(void)
{
	scoped_free char *lock = xasprintf("%s/lock", agent.dir);

	assert_int_equal(unlink(lock), 0);
	assert_int_equal(rmdir(agent.dir), 0);
}

/* False: there are fewer than n calls, so none failed. */
static bool survives(int kind, bool lasts, int n, size_t body_bytes)
{
	begin();
	agent.body_bytes = body_bytes;
	arm(kind, lasts, n);
	spool_and_restart();
	fault.armed = false;
	deliver_the_rest();
	check_reports();
	end();
	return fault.fired;
}

static void try_each_call(int kind, bool lasts, size_t body_bytes)
{
	int n = 1;

	while (survives(kind, lasts, n, body_bytes)) {
		n++;
	}
	assert_in_range(n, 2, CALLS_MAX);
}

static void keeps_a_segment_that_cannot_be_read_and_retries(void **state)
{
	static const int kinds[] = { EIO, ENOMEM };

	(void)state;
	for (size_t i = 0; i < count_of(kinds); i++) {
		begin();
		start(0);
		sample(9);
		arm(kinds[i], true, 1);
		assert_false(send_spooled());
		fault.armed = false;
		assert_true(agent.reported);
		assert_int_equal(count_files(), 1);
		assert_true(send_spooled());
		for (uint64_t seq = 1; seq <= 9 - RING_REPORTS; seq++) {
			assert_true(agent.delivered[0][seq]);
		}
		deliver_the_rest();
		end();
	}
}

static void loses_no_report_to_a_single_failure(void **state)
{
	static const int kinds[] = { EIO, ENOMEM, ENOSPC, SHORT, SHORT_TORN };

	(void)state;
	for (size_t i = 0; i < count_of(kinds); i++) {
		try_each_call(kinds[i], false, BODY);
	}
	try_each_call(EIO, false, LARGE);
	try_each_call(SHORT, false, LARGE);
}

static void counts_reports_behind_a_damaged_record_as_dropped(void **state)
{
	scoped_free char *path = NULL;
	int fd;

	(void)state;
	begin();
	path = xasprintf("%s/0000000001.spool", agent.dir);
	start(0);
	sample(9);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* In the third of nine records; the ring has the last four. */
	assert_int_equal(pwrite(fd, "!", 1, 32 + 5 * (16 + BODY) / 2), 1);
	(void)close(fd);
	assert_true(send_spooled());
	assert_false(send_spooled());
	assert_true(agent.reported);
	assert_int_equal(spool_stats(agent.spool)->dropped,
		9 - RING_REPORTS - 2);
	assert_false(send_spooled());
	deliver_the_rest();
	assert_int_equal(agent.dropped[0], 9 - RING_REPORTS - 2);
	end();
}

static void counts_every_report_that_lasting_failures_drop(void **state)
{
	static const int kinds[] = { EIO, SHORT, SHORT_TORN };

	(void)state;
	for (size_t i = 0; i < count_of(kinds); i++) {
		try_each_call(kinds[i], true, BODY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			keeps_a_segment_that_cannot_be_read_and_retries),
		cmocka_unit_test(loses_no_report_to_a_single_failure),
		cmocka_unit_test(
			counts_reports_behind_a_damaged_record_as_dropped),
		cmocka_unit_test(
			counts_every_report_that_lasting_failures_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
