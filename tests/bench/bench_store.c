/* Measures the size of stored history and the time to read it. The benchmark
 * generates hours of a fleet, packs them, rolls them up, reads them back and
 * compares them bit by bit.
 *
 *     bench_store
 *     bench_store make NODES VMS HOURS INTERVAL_S DATABASE
 *     bench_store pack DATABASE
 *
 * Without arguments: two nodes of 30 VMs and two without VMs, a day at 5 s.
 * make keeps the database; pack packs all of a database that an aggregator
 * left. Virtual time passes as fast as it can; the figures do not include the
 * disk's fsync. */
#include "aggregator/codec/chunk.h"
#include "aggregator/store/compact.h"
#include "aggregator/store/head.h"
#include "aggregator/store/partition.h"
#include "aggregator/store/rollups.h"
#include "aggregator/store/schema.h"
#include "lib/clock.h"
#include "lib/crc.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "tests/bench/cpu.h"
#include "tests/bench/synthetic.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fleet {
	size_t nodes, vms;
	uint64_t hours, interval_s;
	const char *path; /* NULL: a file that is deleted at the end */
};

struct bench {
	struct fleet fleet;
	char path[256];
	struct sqlite3 *db;
	struct head *tail;
	struct compact *compact;
	struct hour_scan *scan;
	struct rollups rollups;
	struct synthetic synthetic;
	uint64_t begin_ms, slowest_us;
	uint64_t reports, packed_bytes;
	double tail_us, pack_us, roll_us;
	/* By node: its counters now; the CRC of all its reports. */
	struct report *now;
	uint32_t *sent;
};

static const uint64_t hour_ms = 3600000;

/* CPU time comes in ticks of milliseconds. */
enum { READS = 20 };

static void check(int r, const struct error *err)
{
	if (r < 0) {
		(void)fprintf(stderr, "bench_store: %s\n", err->text);
		exit(1);
	}
}

static void add(struct bench *b, size_t node, uint64_t sample_ms)
{
	scoped_buffer struct buffer body = BUFFER_MAX(1 << 20);
	struct error err;
	uint8_t run_id[REPORT_RUN_ID_BYTES] = { (uint8_t)node, 1 };
	struct head_report row = { .node = (int64_t)node + 1,
		.run_id = run_id,
		.seq = b->now[node].seq,
		.sample_ms = sample_ms,
		.stored_ms = sample_ms };
	double start;

	wire_pack_report(&body, &b->now[node]);
	row.body = body.data;
	row.len = body.len;
	b->packed_bytes += body.len;
	b->reports++;
	b->sent[node] = crc_add(b->sent[node], body.data, body.len);
	start = cpu_us(RUSAGE_THREAD);
	check(head_add(b->tail, &row, &err), &err);
	b->tail_us += cpu_us(RUSAGE_THREAD) - start;
}

static void settle(struct bench *b, uint64_t now_ms)
{
	struct error err;
	bool is_idle = false;

	while (!is_idle) {
		uint64_t begin_us = clock_monotonic_us();
		double start = cpu_us(RUSAGE_THREAD);

		check(compact_step(b->compact, &is_idle, now_ms, &err), &err);
		b->pack_us += cpu_us(RUSAGE_THREAD) - start;
		begin_us = clock_monotonic_us() - begin_us;
		b->slowest_us =
			begin_us > b->slowest_us ? begin_us : b->slowest_us;
	}
	is_idle = false;
	while (!is_idle) {
		uint64_t begin_us = clock_monotonic_us();
		double start = cpu_us(RUSAGE_THREAD);

		check(rollups_step(&b->rollups, &is_idle, now_ms, &err), &err);
		b->roll_us += cpu_us(RUSAGE_THREAD) - start;
		begin_us = clock_monotonic_us() - begin_us;
		b->slowest_us =
			begin_us > b->slowest_us ? begin_us : b->slowest_us;
	}
}

static void fill_step(struct bench *b, uint64_t ms)
{
	for (size_t n = 0; n < b->fleet.nodes; n++) {
		synthetic_step(&b->synthetic, &b->now[n]);
		add(b, n, ms + 3 + synthetic_below(&b->synthetic, 2));
	}
}

static void fill(struct bench *b)
{
	uint64_t steps = hour_ms / 1000 / b->fleet.interval_s;
	struct error err;

	for (uint64_t hour = 0; hour < b->fleet.hours; hour++) {
		check(db_exec(b->db, "BEGIN", &err), &err);
		for (uint64_t i = 0; i < steps; i++) {
			fill_step(b,
				b->begin_ms + hour * hour_ms +
					i * b->fleet.interval_s * 1000);
		}
		check(db_exec(b->db, "COMMIT", &err), &err);
		settle(b, b->begin_ms + (hour + 1) * hour_ms);
	}
	settle(b, b->begin_ms + (b->fleet.hours + 3) * hour_ms);
}

static int64_t number(struct bench *b, const char *sql)
{
	struct sqlite3_stmt *statement;
	struct error err;
	int64_t value;

	check(db_prepare(&statement, b->db, sql, &err), &err);
	(void)sqlite3_step(statement);
	value = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return value;
}

/* Pages in use: rows that were packed have left free pages. */
static double disk_bytes(struct bench *b)
{
	struct error err;
	struct stat st;

	check(db_exec(b->db, "VACUUM", &err), &err);
	check(db_exec(b->db, "PRAGMA wal_checkpoint(TRUNCATE)", &err), &err);
	return stat(b->path, &st) == 0 ? (double)st.st_size : 0;
}

static bool count_row(void *owner, const struct store_row *row)
{
	(void)row;
	*(uint64_t *)owner += 1;
	return true;
}

static bool count_rollup(void *owner, const struct store_rollup *rollup)
{
	(void)rollup;
	*(uint64_t *)owner += 1;
	return true;
}

/* The first 24 hours of node 1: reports, its minutes, decoded. */
static void read_back(struct bench *b)
{
	uint64_t hours = b->fleet.hours < 24 ? b->fleet.hours : 24;

	for (int tier = STORE_RAW; tier <= STORE_1M; tier++) {
		uint64_t count = 0;
		struct store_read read = { .tier = (enum store_tier)tier,
			.rollup = count_rollup,
			.owner = &count };
		double start = cpu_us(RUSAGE_THREAD);

		for (uint64_t i = 0; i < READS * hours; i++) {
			uint64_t h = i % hours;
			struct hour_scan_range range = { 1, "node", NULL,
				b->begin_ms + h * hour_ms,
				b->begin_ms + (h + 1) * hour_ms, SCHEMA_ALL };
			const struct rollups_source source = { b->db, b->scan,
				NULL, 0 };
			bool is_done = false;
			struct error err;

			check(tier == STORE_RAW
					? hour_scan_read(b->scan, &is_done,
						  &range, count_row, &count,
						  &err)
					: rollups_read(&source, &is_done, &read,
						  &range, &err),
				&err);
		}
		(void)printf("  %llu h of one node, %llu %s: %.2f ms\n",
			(unsigned long long)hours,
			(unsigned long long)count / READS,
			tier == STORE_RAW ? "reports whole" : "minutes",
			(cpu_us(RUSAGE_THREAD) - start) / 1000 / READS);
	}
}

static bool add_to_crc(void *owner, const struct store_row *row)
{
	scoped_buffer struct buffer body = BUFFER_MAX(1 << 20);
	uint32_t *crc = owner;

	wire_pack_report(&body, row->report);
	*crc = crc_add(*crc, body.data, body.len);
	return true;
}

/* Each report that is read packs into the bytes that were stored. */
static void compare(struct bench *b)
{
	for (size_t n = 0; n < b->fleet.nodes; n++) {
		uint32_t crc = 0;

		for (uint64_t h = 0; h <= b->fleet.hours; h++) {
			struct hour_scan_range range = { (int64_t)n + 1, "node",
				NULL, b->begin_ms + h * hour_ms,
				b->begin_ms + (h + 1) * hour_ms, SCHEMA_ALL };
			bool is_done = false;
			struct error err;

			check(hour_scan_read(b->scan, &is_done, &range,
				      add_to_crc, &crc, &err),
				&err);
		}
		if (crc != b->sent[n]) {
			(void)fprintf(stderr,
				"bench_store: what is read of node %zu is not "
				"what was stored\n",
				n + 1);
			exit(1);
		}
	}
	(void)printf("  read again: all %llu reports equal to the last bit\n",
		(unsigned long long)b->reports);
}

static void report_sizes(struct bench *b)
{
	double n = (double)b->reports;
	double raw = 0, m1 = 0, h1 = 0;
	double file = disk_bytes(b);
	const struct {
		double *bytes;
		const char *name;
	} tiers[] = { { &raw, "raw" }, { &m1, "m1" }, { &h1, "h1" } };

	for (size_t t = 0; t < count_of(tiers); t++) {
		struct sqlite3_stmt *tables;
		struct error err;
		scoped_free char *sql = xasprintf(
			"SELECT name FROM sqlite_schema WHERE type = 'table'"
			" AND name GLOB '%s_[0-9]*'",
			tiers[t].name);

		check(db_prepare(&tables, b->db, sql, &err), &err);
		while (sqlite3_step(tables) == SQLITE_ROW) {
			scoped_free char *sum = xasprintf(
				"SELECT sum(length(body)) FROM %s",
				(const char *)sqlite3_column_text(tables, 0));

			*tiers[t].bytes += (double)number(b, sum);
		}
		(void)sqlite3_finalize(tables);
	}
	(void)printf(
		"  as it came %.0f B a report; on the disk, all tiers, "
		"%.1f B; blobs: reports %.1f, minutes %.1f, hours %.2f\n",
		(double)b->packed_bytes / n, file / n, raw / n, m1 / n, h1 / n);
	(void)printf(
		"  CPU a report: row %.1f us, packing %.1f us, rolling up "
		"%.1f us; slowest step %.0f ms\n",
		b->tail_us / n, b->pack_us / n, b->roll_us / n,
		(double)b->slowest_us / 1000);
}

static void open_all(struct bench *b)
{
	static _Atomic bool stopping;
	struct error err;

	if (b->fleet.path != NULL) {
		(void)snprintf(b->path, sizeof(b->path), "%s", b->fleet.path);
	} else {
		(void)snprintf(b->path, sizeof(b->path), "bench-%d.db",
			(int)getpid());
	}
	check(db_open(&b->db, b->path, &err), &err);
	check(db_exec(b->db, "PRAGMA synchronous = OFF", &err), &err);
	check(store_schema_prepare(b->db, &stopping, &err), &err);
	check(head_new(&b->tail, b->db, &err), &err);
	check(compact_new(&b->compact, b->db, hour_ms, &err), &err);
	check(hour_scan_new(&b->scan, b->db, &err), &err);
	b->rollups = (struct rollups){ .db = b->db,
		.scan = b->scan,
		.age_ms = hour_ms };
}

static void close_all(struct bench *b)
{
	hour_scan_free(b->scan);
	compact_free(b->compact);
	head_free(b->tail);
	(void)sqlite3_close(b->db);
}

static void start_nodes(struct bench *b)
{
	struct error err;

	b->now = xcalloc(b->fleet.nodes, sizeof(*b->now));
	b->sent = xcalloc(b->fleet.nodes, sizeof(*b->sent));
	for (size_t i = 0; i < b->fleet.nodes; i++) {
		scoped_free char *name = xasprintf("node-%zu", i);
		int64_t node;

		check(head_find_node(&node, b->tail, name, &err), &err);
		synthetic_start(&b->synthetic, &b->now[i]);
	}
}

static void run(const struct fleet *fleet)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	struct bench b = { .fleet = *fleet,
		.synthetic = { .random = 88172645463325252,
			.interval_s = fleet->interval_s,
			.vms = fleet->vms },
		.begin_ms = UINT64_C(1790000000000) / (24 * hour_ms) * 24 *
			hour_ms };

	b.synthetic.begin_ms = b.begin_ms;
	open_all(&b);
	start_nodes(&b);
	fill(&b);
	(void)printf("store: %zu nodes with %zu VMs, %llu h at %llu s\n",
		fleet->nodes, fleet->vms, (unsigned long long)fleet->hours,
		(unsigned long long)fleet->interval_s);
	report_sizes(&b);
	compare(&b);
	read_back(&b);
	close_all(&b);
	for (size_t i = 0; i < fleet->nodes; i++) {
		report_fini(&b.now[i]);
	}
	free(b.now);
	free(b.sent);
	for (size_t i = 0; fleet->path == NULL && i < count_of(suffixes); i++) {
		scoped_free char *path = xasprintf("%s%s", b.path, suffixes[i]);

		(void)unlink(path);
	}
}

static void pack(const char *path)
{
	const struct fleet fleet = { .path = path };
	struct bench b = { .fleet = fleet };

	open_all(&b);
	b.reports =
		(uint64_t)number(&b, "SELECT sum(last - first + 1) FROM seqs");
	b.packed_bytes =
		(uint64_t)number(&b, "SELECT sum(length(body)) FROM head");
	settle(&b, clock_wall_us() / 1000 + 3 * hour_ms);
	(void)printf("store: %llu reports\n", (unsigned long long)b.reports);
	report_sizes(&b);
	close_all(&b);
}

static uint64_t number_of(const char *text)
{
	return strtoull(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct fleet fleet = { 2, 0, 24, 5, NULL };

	if (argc == 7 && strcmp(argv[1], "make") == 0) {
		fleet = (struct fleet){ number_of(argv[2]), number_of(argv[3]),
			number_of(argv[4]), number_of(argv[5]), argv[6] };
		run(&fleet);
	} else if (argc == 3 && strcmp(argv[1], "pack") == 0) {
		pack(argv[2]);
	} else {
		run(&fleet);
		fleet.vms = 30;
		run(&fleet);
	}
	return 0;
}
