/* A spool in a temporary directory. */
#include "agent/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

STEADY("a report that is not acknowledged is kept");

enum {
	RING_REPORTS = 4,
	BODY = 1000,
	PLENTY = 64 << 20,
	LITTLE = 4 * SPOOL_SEGMENT_BYTES,
};

static const uint8_t first_run[REPORT_RUN_ID_BYTES] = { 1 };
static const uint8_t second_run[REPORT_RUN_ID_BYTES] = { 2 };

static struct {
	char dir[32];
	struct ring *ring;
	struct spool *spool;
	struct spool_batch batch;
} world;

static int open_spool(const uint8_t *run_id, uint64_t bytes_max,
	size_t consumers)
{
	world.ring = ring_new(RING_REPORTS, 1 << 30, consumers);
	return spool_open(&world.spool,
		&(struct spool_options){
			.dir = world.dir,
			.bytes_max = bytes_max,
			.run_id = run_id,
			.ring = world.ring,
			.consumers = consumers,
		},
		NULL);
}

/* Like a kill: only what is on disk survives. */
static void end(void)
{
	spool_close(take_ptr(world.spool));
	ring_free(take_ptr(world.ring));
}

static int setup(void **state)
{
	(void)state;
	memcpy(world.dir, "/tmp/spool-XXXXXX", sizeof("/tmp/spool-XXXXXX"));
	assert_non_null(mkdtemp(world.dir));
	return open_spool(first_run, PLENTY, 1);
}

/* Counts the files except the lock, and calls each(name) unless it is NULL. */
static size_t files(void (*each)(const char *path))
{
	DIR *dir = opendir(world.dir);
	const struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(dir)) != NULL) {
		scoped_free char *path =
			xasprintf("%s/%s", world.dir, entry->d_name);

		if (strstr(entry->d_name, ".spool") == NULL) {
			continue;
		}
		count++;
		if (each != NULL) {
			each(path);
		}
	}
	(void)closedir(dir);
	return count;
}

static void remove_file(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

static int teardown(void **state)
{
	scoped_free char *lock = xasprintf("%s/lock", world.dir);

	(void)state;
	end();
	(void)files(remove_file);
	(void)unlink(lock);
	return rmdir(world.dir);
}

/* Adds a report as the agent does. */
static void sample(size_t len)
{
	scoped_free uint8_t *body = xcalloc(1, len);

	body[0] = (uint8_t)ring_next_seq(world.ring);
	spool_before_add(world.spool);
	ring_add(world.ring, body, len);
	spool_after_add(world.spool);
}

static void samples(int count)
{
	for (int i = 0; i < count; i++) {
		sample(BODY);
	}
}

static void store(size_t consumer, uint64_t seq)
{
	ring_stored(world.ring, consumer, &seq, 1);
}

/* Returns how many reports are picked; the first must have this number. */
static size_t pick(size_t consumer, uint8_t first)
{
	spool_pick(&world.batch, world.spool, consumer, SPOOL_BATCH_BYTES);
	for (size_t i = 0; i < world.batch.count; i++) {
		assert_int_equal(world.batch.reports[i].bytes[0], first + i);
	}
	return world.batch.count;
}

static void writes_no_file_while_reports_are_stored_in_time(void **state)
{
	(void)state;
	sample(BODY);
	for (uint64_t seq = 1; seq <= 20; seq++) {
		sample(BODY); /* one is late */
		store(0, seq);
		assert_int_equal(files(NULL), 0);
	}
	assert_int_equal(spool_stats(world.spool)->bytes, 0);
	assert_int_equal(pick(0, 1), 0);
}

static void sends_reports_the_ring_dropped_from_disk(void **state)
{
	(void)state;
	samples(10);
	assert_int_equal(ring_dropped(world.ring), 0);
	assert_int_equal(pick(0, 1), 10 - RING_REPORTS);
	assert_memory_equal(world.batch.run_id, first_run, sizeof(first_run));
	/* Not stored yet, so they are picked again. */
	assert_int_equal(pick(0, 1), 10 - RING_REPORTS);
	spool_advance(world.spool, 0);
	assert_int_equal(pick(0, 7), 0);
	samples(2);
	assert_int_equal(pick(0, 7), 2);
}

static void counts_a_refused_batch_as_dropped(void **state)
{
	(void)state;
	samples(10);
	assert_int_equal(pick(0, 1), 10 - RING_REPORTS);
	spool_drop(world.spool, 0);
	assert_int_equal(spool_stats(world.spool)->dropped, 10 - RING_REPORTS);
	assert_int_equal(pick(0, 7), 0);
}

static void deletes_the_files_when_every_report_is_stored(void **state)
{
	(void)state;
	samples(10);
	assert_int_equal(files(NULL), 1);
	assert_int_equal(pick(0, 1), 6);
	spool_advance(world.spool, 0);
	assert_int_equal(pick(0, 7), 0);
	for (uint64_t seq = 7; seq <= 10; seq++) {
		store(0, seq);
	}
	sample(BODY);
	store(0, 11);
	sample(BODY);
	assert_int_equal(files(NULL), 0);
	assert_int_equal(spool_stats(world.spool)->bytes, 0);
}

/* Reports in a file that was deleted do not count as written. */
static void spools_again_after_catching_up(void **state)
{
	(void)state;
	samples(3);
	store(0, 1);
	store(0, 2);
	sample(BODY);
	assert_int_equal(files(NULL), 0);
	samples(3);
	assert_int_equal(files(NULL), 1);
	end();
	assert_int_equal(open_spool(second_run, PLENTY, 1), 0);
	assert_int_equal(pick(0, 3), 5);
}

static void sends_each_aggregator_the_reports_it_lacks(void **state)
{
	(void)state;
	end();
	assert_int_equal(open_spool(first_run, PLENTY, 2), 0);
	for (uint64_t seq = 1; seq <= 10; seq++) {
		sample(BODY);
		store(0, seq);
	}
	assert_int_equal(pick(0, 1), 0);
	assert_int_equal(pick(1, 1), 6);
	assert_int_equal(ring_dropped(world.ring), 0);
}

static void sends_the_reports_of_the_previous_run(void **state)
{
	(void)state;
	samples(3);
	spool_write_all(world.spool);
	end();
	assert_int_equal(open_spool(second_run, PLENTY, 1), 0);
	assert_int_equal(spool_stats(world.spool)->segments_found, 1);
	samples(2);
	assert_int_equal(pick(0, 1), 3);
	assert_memory_equal(world.batch.run_id, first_run, sizeof(first_run));
	spool_advance(world.spool, 0);
	assert_int_equal(pick(0, 1), 0);
	store(0, 1);
	store(0, 2);
	sample(BODY);
	store(0, 3);
	sample(BODY);
	assert_int_equal(files(NULL), 0);
}

static void tear(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(truncate(path, status.st_size - 5), 0);
}

static void a_torn_tail_costs_only_the_last_report(void **state)
{
	(void)state;
	samples(4);
	end();
	(void)files(tear);
	assert_int_equal(open_spool(second_run, PLENTY, 1), 0);
	assert_int_equal(pick(0, 1), 3);
	spool_advance(world.spool, 0);
	assert_int_equal(pick(0, 4), 0);
	assert_int_equal(files(NULL), 0);
}

static void drops_the_oldest_segment_at_the_size_limit(void **state)
{
	(void)state;
	end();
	assert_int_equal(open_spool(first_run, LITTLE, 1), 0);
	for (int i = 0; i < 60; i++) {
		sample(100 << 10);
	}
	assert_true(spool_stats(world.spool)->bytes <= LITTLE);
	assert_true(
		spool_stats(world.spool)->dropped >= 60 - 41 - RING_REPORTS);
	assert_int_equal(ring_dropped(world.ring), 0);
	spool_pick(&world.batch, world.spool, 0, SPOOL_BATCH_BYTES);
	assert_int_equal(world.batch.reports[0].bytes[0],
		spool_stats(world.spool)->dropped + 1);
}

static void refuses_a_directory_in_use_by_another_process(void **state)
{
	struct spool *second = NULL;
	struct error err;

	(void)state;
	assert_int_equal(spool_open(&second,
				 &(struct spool_options){
					 .dir = world.dir,
					 .bytes_max = PLENTY,
					 .run_id = second_run,
					 .ring = world.ring,
					 .consumers = 1,
				 },
				 &err),
		-EBUSY);
	assert_non_null(strstr(err.text, "another agent spools into"));
}

static void leaves_files_of_other_programs_alone(void **state)
{
	scoped_free char *path = xasprintf("%s/0000000007.spool", world.dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "something else entirely, but long", 33),
		33);
	(void)close(fd);
	end();
	assert_int_equal(open_spool(second_run, PLENTY, 1), 0);
	assert_int_equal(spool_stats(world.spool)->segments_found, 0);
	samples(10);
	assert_int_equal(pick(0, 1), 6);
	assert_int_equal(access(path, F_OK), 0);
}

/* RLIMIT_FSIZE simulates a full disk: write(2) is cut short, then fails. */
static void reports_a_failed_write_and_writes_again(void **state)
{
	struct rlimit before;
	struct rlimit little;
	struct error err;

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = before;
	little.rlim_cur = 5 * BODY / 2;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	samples(4);
	assert_int_not_equal(spool_take_last_error(&err, world.spool), 0);
	assert_non_null(strstr(err.text, "cannot write to '/tmp/spool-"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	samples(4);
	assert_int_equal(spool_take_last_error(&err, world.spool), 0);
	assert_int_equal(ring_dropped(world.ring), 0);
	assert_int_equal(pick(0, 1), 4);
}

#define SPOOL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPOOL_TEST(writes_no_file_while_reports_are_stored_in_time),
		SPOOL_TEST(sends_reports_the_ring_dropped_from_disk),
		SPOOL_TEST(counts_a_refused_batch_as_dropped),
		SPOOL_TEST(deletes_the_files_when_every_report_is_stored),
		SPOOL_TEST(spools_again_after_catching_up),
		SPOOL_TEST(sends_each_aggregator_the_reports_it_lacks),
		SPOOL_TEST(sends_the_reports_of_the_previous_run),
		SPOOL_TEST(a_torn_tail_costs_only_the_last_report),
		SPOOL_TEST(drops_the_oldest_segment_at_the_size_limit),
		SPOOL_TEST(refuses_a_directory_in_use_by_another_process),
		SPOOL_TEST(leaves_files_of_other_programs_alone),
		SPOOL_TEST(reports_a_failed_write_and_writes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
