#include "aggregator/store/hour_scan.h"

#include "aggregator/codec/chunk.h"
#include "aggregator/store/open_chunks.h"
#include "tests/unit/aggregator/store/fixture.h"

#include <errno.h>

/* The chunks that are open now. */
static struct {
	size_t bytes, most_bytes, largest, opened;
} memory;

int __real_chunk_open(struct chunk **out, const void *bytes, size_t len,
	const struct chunk_selection *want, struct error *err);
int __wrap_chunk_open(struct chunk **out, const void *bytes, size_t len,
	const struct chunk_selection *want, struct error *err);
size_t __real_chunk_bytes(const struct chunk *chunk);
size_t __wrap_chunk_bytes(const struct chunk *chunk);
void __real_chunk_close(struct chunk *chunk);
void __wrap_chunk_close(struct chunk *chunk);

/* So that few pods fill the memory of many: chunks count as if they were this
 * many times as large. */
static size_t times;

size_t __wrap_chunk_bytes(const struct chunk *chunk)
{
	return times * __real_chunk_bytes(chunk);
}

int __wrap_chunk_open(struct chunk **out, const void *bytes, size_t len,
	const struct chunk_selection *want, struct error *err)
{
	int r = __real_chunk_open(out, bytes, len, want, err);

	if (r == 0) {
		size_t size = chunk_bytes(*out);

		memory.opened++;
		memory.bytes += size;
		memory.largest = size > memory.largest ? size : memory.largest;
		memory.most_bytes = memory.bytes > memory.most_bytes
			? memory.bytes
			: memory.most_bytes;
	}
	return r;
}

void __wrap_chunk_close(struct chunk *chunk)
{
	memory.bytes -= chunk == NULL ? 0 : chunk_bytes(chunk);
	__real_chunk_close(chunk);
}

struct read {
	size_t reports, pods;
	uint64_t last_ms;
	int result;
};

static bool on_row(void *owner, const struct store_row *row)
{
	struct read *read = owner;

	assert_true(row->sample_ms >= read->last_ms);
	read->reports++;
	read->pods += row->report->vm_count;
	read->last_ms = row->sample_ms;
	return true;
}

static struct read read_hour(struct fixture *f, uint64_t base_ms)
{
	struct hour_scan_range range = { f->node, "n1", NULL, base_ms,
		base_ms + hour_ms, SCHEMA_ALL };
	struct read read = { 0 };
	struct error err = { 0 };
	bool is_done;

	memset(&memory, 0, sizeof(memory));
	read.result =
		hour_scan_read(f->scan, &is_done, &range, on_row, &read, &err);
	assert_int_equal(memory.bytes, 0);
	return read;
}

enum { CROWD = 2048 };

/* Reports from..to, each `step`th, of CROWD pods; see `times`. */
static void add_crowds(struct fixture *f, uint64_t base_ms, size_t from,
	size_t to, size_t step)
{
	size_t pods = CROWD / times;

	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (size_t seq = from; seq < to; seq += step) {
		struct report r = steady_report(seq, 2 * (double)seq, 1.5);

		fixture_crowd(&r, seq * pods, pods);
		fixture_add_report(f, &r, base_ms + 2000 * seq);
	}
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
}

static void few_chunks_of_a_large_hour_are_open_at_a_time(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	struct read read;

	times = 1;
	add_crowds(f, base_ms, 1, 101, 1);
	read = read_hour(f, base_ms);
	assert_int_equal(read.result, 0);
	assert_int_equal(read.reports, 100);
	assert_int_equal(read.pods, 100 * CROWD);
	assert_in_range(memory.opened, 6, 20);
	assert_in_range(memory.most_bytes, 1,
		OPEN_CHUNKS_MEMORY + memory.largest);
	assert_in_range(memory.largest, 1, 25000000);
}

static void chunks_whose_reports_alternate_are_opened_again(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	struct read read;

	times = 16;
	for (size_t i = 1; i <= 5; i++) {
		add_crowds(f, base_ms, i, 71, 5);
	}
	read = read_hour(f, base_ms);
	assert_int_equal(read.result, 0);
	assert_int_equal(read.reports, 70);
	assert_int_equal(read.pods, (size_t)70 * CROWD / times);
	assert_in_range(memory.opened, 6, 75);
	assert_in_range(memory.most_bytes, 1,
		OPEN_CHUNKS_MEMORY + memory.largest);
}

static void chunks_are_not_opened_again_without_end(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;

	times = 16;
	for (size_t i = 1; i <= 10; i++) {
		add_crowds(f, base_ms, i, 151, 10);
	}
	assert_int_equal(read_hour(f, base_ms).result, -EFBIG);
	assert_in_range(memory.opened, 50, 150);
}

/* Reports before + 1 to count. With a span, they are spread over it. */
static void add_many(struct fixture *f, uint64_t base_ms, size_t before,
	size_t count, uint64_t span_ms)
{
	assert_int_equal(db_exec(f->db, "BEGIN", NULL), 0);
	for (size_t seq = before + 1; seq <= count; seq++) {
		struct report r = steady_report(seq, (double)seq, 1.5);

		fixture_add_report(f, &r, base_ms + seq * span_ms / count);
	}
	assert_int_equal(db_exec(f->db, "COMMIT", NULL), 0);
}

static void more_reports_than_a_list_holds_are_read_in_parts(void **state)
{
	enum { COUNT = HOUR_SCAN_REPORTS + 5000 };
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	struct read read;

	add_many(f, base_ms, 0, COUNT, hour_ms - 1);
	read = read_hour(f, base_ms);
	assert_int_equal(read.result, 0);
	assert_int_equal(read.reports, COUNT);
	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	read = read_hour(f, base_ms);
	assert_int_equal(read.result, 0);
	assert_int_equal(read.reports, COUNT);
}

/* The head holds fewer of one time than a list does; chunks hold the rest. */
static void more_reports_of_one_millisecond_than_a_list_holds_are_an_error(
	void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	size_t most = 1 << HEAD_OWN_BITS;
	size_t count = 0;

	for (; count < HOUR_SCAN_REPORTS; count += most) {
		add_many(f, base_ms, count, count + most, 0);
		f->now_ms += 2 * hour_ms;
		fixture_pack_all(f);
	}
	add_many(f, base_ms, count, count + 1, 0);
	assert_int_equal(read_hour(f, base_ms).result, -EFBIG);
}

static uint64_t bytes_in_head(struct fixture *f)
{
	struct sqlite3_stmt *sum;
	uint64_t bytes;

	assert_int_equal(
		sqlite3_prepare_v2(f->db, "SELECT sum(length(body)) FROM head",
			-1, &sum, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(sum), SQLITE_ROW);
	bytes = (uint64_t)sqlite3_column_int64(sum, 0);
	(void)sqlite3_finalize(sum);
	return bytes;
}

static struct hour_scan_size measure(struct fixture *f, uint64_t from_ms,
	uint64_t to_ms)
{
	struct hour_scan_range range = { f->node, "n1", NULL, from_ms, to_ms,
		SCHEMA_ALL };
	struct hour_scan_size size;

	assert_int_equal(hour_scan_measure(&size, f->scan, &range, NULL), 0);
	return size;
}

static void the_size_of_an_hour_is_that_of_its_rows_and_chunks(void **state)
{
	struct fixture *f = *state;
	uint64_t base_ms = f->now_ms - 4 * hour_ms;
	uint64_t end_ms = base_ms + hour_ms;
	struct hour_scan_size size;
	uint64_t bytes;

	add_many(f, base_ms, 0, 100, hour_ms - 1);
	bytes = bytes_in_head(f);
	size = measure(f, base_ms, end_ms);
	assert_true(bytes > 0);
	assert_int_equal(size.row_bytes, bytes);
	assert_int_equal(size.chunk_bytes, 0);
	assert_int_equal(measure(f, end_ms, end_ms + hour_ms).row_bytes, 0);
	assert_in_range(measure(f, base_ms, base_ms + hour_ms / 2).row_bytes, 1,
		bytes - 1);

	f->now_ms += 2 * hour_ms;
	fixture_pack_all(f);
	size = measure(f, base_ms, end_ms);
	assert_int_equal(size.row_bytes, 0);
	assert_in_range(size.chunk_bytes, 1, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(few_chunks_of_a_large_hour_are_open_at_a_time),
		fixture_test(chunks_whose_reports_alternate_are_opened_again),
		fixture_test(chunks_are_not_opened_again_without_end),
		fixture_test(more_reports_than_a_list_holds_are_read_in_parts),
		fixture_test(
			the_size_of_an_hour_is_that_of_its_rows_and_chunks),
		fixture_test(
			more_reports_of_one_millisecond_than_a_list_holds_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
