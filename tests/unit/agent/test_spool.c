/* The spool in a folder of its own. */
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

/* As a kill does: nothing is kept that is not on disk. */
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

/* Calls each(name), or counts alone, for all but the lock. */
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

/* One report more, as the agent adds it. */
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

/* What is picked begins with this one; how many follow each other. */
static size_t pick(size_t consumer, uint8_t first)
{
	spool_pick(&world.batch, world.spool, consumer);
	for (size_t i = 0; i < world.batch.count; i++) {
		assert_int_equal(world.batch.reports[i].bytes[0], first + i);
	}
	return world.batch.count;
}

static void what_is_stored_in_time_never_touches_the_disk(void **state)
{
	(void)state;
	sample(BODY);
	for (uint64_t seq = 1; seq <= 20; seq++) {
		sample(BODY); /* one late */
		store(0, seq);
		assert_int_equal(files(NULL), 0);
	}
	assert_int_equal(spool_bytes(world.spool), 0);
	assert_int_equal(pick(0, 1), 0);
}

static void what_the_ring_drops_comes_from_the_disk(void **state)
{
	(void)state;
	samples(10);
	assert_int_equal(ring_dropped(world.ring), 0);
	assert_int_equal(pick(0, 1), 10 - RING_REPORTS);
	assert_memory_equal(world.batch.run_id, first_run, sizeof(first_run));
	/* Not stored yet, so it is offered again. */
	assert_int_equal(pick(0, 1), 10 - RING_REPORTS);
	spool_advance(world.spool, 0);
	assert_int_equal(pick(0, 7), 0);
	samples(2);
	assert_int_equal(pick(0, 7), 2);
}

static void when_all_is_stored_the_files_are_gone(void **state)
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
	assert_int_equal(spool_bytes(world.spool), 0);
}

/* A file that went because all was well again does not count as written. */
static void who_falls_behind_twice_is_safe_twice(void **state)
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

static void each_aggregator_gets_what_it_lacks(void **state)
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

static void the_next_run_sends_what_the_last_one_left(void **state)
{
	(void)state;
	samples(3);
	spool_keep_all(world.spool);
	end();
	assert_int_equal(open_spool(second_run, PLENTY, 1), 0);
	assert_int_equal(spool_segments_found(world.spool), 1);
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

static void a_torn_tail_costs_the_report_in_the_making_alone(void **state)
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

static void the_oldest_goes_when_the_disk_share_is_used_up(void **state)
{
	(void)state;
	end();
	assert_int_equal(open_spool(first_run, LITTLE, 1), 0);
	for (int i = 0; i < 60; i++) {
		sample(100 << 10);
	}
	assert_true(spool_bytes(world.spool) <= LITTLE);
	assert_true(spool_dropped(world.spool) >= 60 - 41 - RING_REPORTS);
	assert_int_equal(ring_dropped(world.ring), 0);
	spool_pick(&world.batch, world.spool, 0);
	assert_int_equal(world.batch.reports[0].bytes[0],
		spool_dropped(world.spool) + 1);
}

static void one_process_at_a_time(void **state)
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

static void what_is_not_ours_is_left_alone(void **state)
{
	scoped_free char *path = xasprintf("%s/0000000007.spool", world.dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "something else entirely, but long", 33),
		33);
	(void)close(fd);
	end();
	assert_int_equal(open_spool(second_run, PLENTY, 1), 0);
	assert_int_equal(spool_segments_found(world.spool), 0);
	samples(10);
	assert_int_equal(pick(0, 1), 6);
	assert_int_equal(access(path, F_OK), 0);
}

/* RLIMIT_FSIZE stands for a full disk: write(2) is cut short, then refused. */
static void a_disk_that_refuses_is_said_and_tried_again(void **state)
{
	struct rlimit before;
	struct rlimit little;

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = before;
	little.rlim_cur = 5 * BODY / 2;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	samples(4);
	assert_int_not_equal(spool_trouble(world.spool)->code, 0);
	assert_non_null(
		strstr(spool_trouble(world.spool)->text, "cannot spool into"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	samples(4);
	assert_int_equal(spool_trouble(world.spool)->code, 0);
	assert_int_equal(ring_dropped(world.ring), 0);
	assert_int_equal(pick(0, 1), 4);
}

#define SPOOL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPOOL_TEST(what_is_stored_in_time_never_touches_the_disk),
		SPOOL_TEST(what_the_ring_drops_comes_from_the_disk),
		SPOOL_TEST(when_all_is_stored_the_files_are_gone),
		SPOOL_TEST(who_falls_behind_twice_is_safe_twice),
		SPOOL_TEST(each_aggregator_gets_what_it_lacks),
		SPOOL_TEST(the_next_run_sends_what_the_last_one_left),
		SPOOL_TEST(a_torn_tail_costs_the_report_in_the_making_alone),
		SPOOL_TEST(the_oldest_goes_when_the_disk_share_is_used_up),
		SPOOL_TEST(one_process_at_a_time),
		SPOOL_TEST(what_is_not_ours_is_left_alone),
		SPOOL_TEST(a_disk_that_refuses_is_said_and_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
