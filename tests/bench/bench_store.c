/* What the past costs on the disk and how quickly it is read: a fleet's hours
 * are generated, packed, rolled up and read back.
 *
 *     bench_store [NODES VMS HOURS INTERVAL_S DIRECTORY]
 *
 * Without arguments: two nodes of 30 VMs and two without, a day at 5 s each.
 * Time runs as fast as it can; the disk's fsync is not part of the figures. */
#include "aggregator/chunk.h"
#include "aggregator/store_compact.h"
#include "aggregator/store_part.h"
#include "aggregator/store_rollup.h"
#include "aggregator/store_tail.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct fleet {
	size_t nodes, vms;
	uint64_t hours, interval_s;
	const char *directory;
};

struct bench {
	struct fleet fleet;
	char path[256];
	struct sqlite3 *db;
	struct tail *tail;
	struct compact *compact;
	struct scan *scan;
	uint64_t random, begin_ms, slowest_us;
	uint64_t reports, packed_bytes;
	double tail_us, pack_us, roll_us;
	/* Of each node: counters as they stand. */
	struct report *now;
};

static const uint64_t hour_ms = 3600000;

/* CPU time comes in ticks of milliseconds. */
enum { READS = 20 };

static double cpu_us(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_THREAD, &usage);
	return (double)usage.ru_utime.tv_sec * 1e6 +
		(double)usage.ru_utime.tv_usec +
		(double)usage.ru_stime.tv_sec * 1e6 +
		(double)usage.ru_stime.tv_usec;
}

static void check(int r, const struct error *err)
{
	if (r < 0) {
		(void)fprintf(stderr, "bench_store: %s\n", err->text);
		exit(1);
	}
}

static uint64_t below(struct bench *b, uint64_t most)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 7;
	b->random ^= b->random << 17;
	return b->random % most;
}

/* Grows by about rate a second, in steps of unit, a fifth more or less. */
static void grow(struct bench *b, uint64_t *total, uint64_t rate, uint64_t unit)
{
	uint64_t mean = rate * b->fleet.interval_s;
	uint64_t noise = mean / 5 + 1;

	*total += (mean - noise + below(b, 2 * noise)) / unit * unit;
}

static void walk(struct bench *b, uint64_t *level, uint64_t width)
{
	*level += (below(b, 2 * width) - width) & ~UINT64_C(4095);
}

static void step_pressure(struct bench *b, struct pressure *p, uint64_t rate)
{
	grow(b, &p->cpu.some_us, rate, 1);
	grow(b, &p->memory.some_us, rate / 200, 1);
	grow(b, &p->memory.full_us, rate / 300, 1);
	grow(b, &p->io.some_us, rate / 20, 1);
	grow(b, &p->io.full_us, rate / 30, 1);
}

static void start_pressure(struct pressure *p)
{
	p->cpu = p->memory = p->io = (struct psi){ SOURCE_PRESENT, 1000, 0 };
}

/* Sixty-four cores, half a TiB, hours of uptime. */
static void start_node(struct bench *b, struct report *r)
{
	report_init(r);
	(void)snprintf(r->boot_id, sizeof(r->boot_id),
		"3f1c9a52-6c0e-4b57-9a31-%012llx",
		(unsigned long long)below(b, 1 << 30));
	r->monotonic_us = UINT64_C(86400000000) + below(b, 1 << 30);
	r->interval_ms = (uint32_t)b->fleet.interval_s * 1000;
	r->cpu = (struct cpu_totals){ SOURCE_PRESENT, 64, 64, 1, 1, 1, 1, 1, 0,
		1, 0 };
	start_pressure(&r->pressure);
	start_pressure(&r->kubepods);
	r->memory = (struct memory){ SOURCE_PRESENT, UINT64_C(1) << 39,
		UINT64_C(1) << 38, 0, 0, 0 };
	r->load1 = r->load5 = r->load15 = 20;
	r->cgroup_mode = CGROUP_V2;
	r->kvm.state = KVM_OK;
	r->own = (struct own_cost){ 0, 5 << 20, 0 };
	r->hugepages_count = 2;
	r->hugepages[0] = (struct hugepages){ 2 << 20, 512, 512, 0 };
	r->hugepages[1] = (struct hugepages){ 1 << 30, 0, 0, 0 };
	r->dropped = 0;
	r->vms_skipped = 0;
	r->vm_count = b->fleet.vms;
	r->vms =
		r->vm_count == 0 ? NULL : xcalloc(r->vm_count, sizeof(*r->vms));
	for (size_t i = 0; i < r->vm_count; i++) {
		struct vm_pod *vm = &r->vms[i];

		vm_pod_init(vm);
		(void)snprintf(vm->pod_uid, sizeof(vm->pod_uid),
			"%08llx-6c0e-4b57-9a31-%012llx",
			(unsigned long long)below(b, UINT32_MAX),
			(unsigned long long)below(b, UINT32_MAX));
		vm->cgroup_inode = 1000 + i;
		vm->cpu_usage_us = 0;
		vm->nr_throttled = 0;
		vm->throttled_us = 0;
		start_pressure(&vm->pressure);
		vm->memory_current_bytes = UINT64_C(4) << 30;
	}
}

static void step_vm(struct bench *b, struct vm_pod *vm, bool is_fifth)
{
	grow(b, &vm->cpu_usage_us, 400000, 1);
	step_pressure(b, &vm->pressure, 9000);
	walk(b, &vm->memory_current_bytes, 1 << 20);
	vm->working_set_bytes = is_fifth ? vm->memory_current_bytes - (99 << 20)
					 : REPORT_UNKNOWN;
	vm->anon_shmem_bytes = is_fifth ? UINT64_C(3) << 30 : REPORT_UNKNOWN;
	vm->swap_bytes = is_fifth ? 0 : REPORT_UNKNOWN;
	vm->oom_kills = is_fifth ? 0 : REPORT_UNKNOWN;
}

static void step_node(struct bench *b, struct report *r)
{
	const uint64_t tick_us = 10000; /* of /proc/stat */

	r->seq++;
	r->monotonic_us += b->fleet.interval_s * 1000000 + below(b, 400) - 200;
	r->wall_us = b->begin_ms * 1000 + r->monotonic_us + below(b, 3);
	grow(b, &r->cpu.user_us, 20000000, tick_us);
	grow(b, &r->cpu.system_us, 4000000, tick_us);
	grow(b, &r->cpu.idle_us, 40000000, tick_us);
	grow(b, &r->cpu.iowait_us, 90000, tick_us);
	grow(b, &r->cpu.softirq_us, 200000, tick_us);
	step_pressure(b, &r->pressure, 90000);
	step_pressure(b, &r->kubepods, 80000);
	walk(b, &r->memory.available_bytes, 64 << 20);
	r->load1 = (double)(1800 + below(b, 400)) / 100;
	r->load5 = (double)(1950 + below(b, 100)) / 100;
	r->load15 = (double)(1990 + below(b, 20)) / 100;
	grow(b, &r->own.cpu_us, 130, 1);
	for (size_t i = 0; i < r->vm_count; i++) {
		step_vm(b, &r->vms[i], r->seq % 5 == 0);
	}
}

static void add(struct bench *b, size_t node, uint64_t sample_ms)
{
	scoped_buffer struct buffer body = BUFFER_MAX(1 << 20);
	struct error err;
	uint8_t run_id[REPORT_RUN_ID_BYTES] = { (uint8_t)node, 1 };
	struct tail_report row = { .node = (int64_t)node + 1,
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
	start = cpu_us();
	check(tail_add(b->tail, &row, &err), &err);
	b->tail_us += cpu_us() - start;
}

static void settle(struct bench *b, uint64_t now_ms)
{
	struct error err;
	bool is_idle = false;

	while (!is_idle) {
		uint64_t begin_us = clock_monotonic_us();
		double start = cpu_us();

		check(compact_step(b->compact, &is_idle, now_ms, &err), &err);
		b->pack_us += cpu_us() - start;
		begin_us = clock_monotonic_us() - begin_us;
		b->slowest_us =
			begin_us > b->slowest_us ? begin_us : b->slowest_us;
	}
	is_idle = false;
	while (!is_idle) {
		uint64_t begin_us = clock_monotonic_us();
		double start = cpu_us();

		check(store_roll_up(b->scan, b->db, &is_idle, hour_ms, now_ms,
			      &err),
			&err);
		b->roll_us += cpu_us() - start;
		begin_us = clock_monotonic_us() - begin_us;
		b->slowest_us =
			begin_us > b->slowest_us ? begin_us : b->slowest_us;
	}
}

static void fill_step(struct bench *b, uint64_t ms)
{
	for (size_t n = 0; n < b->fleet.nodes; n++) {
		step_node(b, &b->now[n]);
		add(b, n, ms + 3 + below(b, 2));
	}
}

static void fill(struct bench *b)
{
	uint64_t steps = hour_ms / 1000 / b->fleet.interval_s;
	struct error err;

	for (uint64_t hour = 0; hour < b->fleet.hours; hour++) {
		check(store_db_exec(b->db, "BEGIN", &err), &err);
		for (uint64_t i = 0; i < steps; i++) {
			fill_step(b,
				b->begin_ms + hour * hour_ms +
					i * b->fleet.interval_s * 1000);
		}
		check(store_db_exec(b->db, "COMMIT", &err), &err);
		settle(b, b->begin_ms + (hour + 1) * hour_ms);
	}
	settle(b, b->begin_ms + (b->fleet.hours + 3) * hour_ms);
}

static int64_t number(struct bench *b, const char *sql)
{
	struct sqlite3_stmt *statement;
	struct error err;
	int64_t value;

	check(store_db_prepare(&statement, b->db, sql, &err), &err);
	(void)sqlite3_step(statement);
	value = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return value;
}

/* Pages without those of rows that are packed by now and free. */
static double disk_bytes(struct bench *b)
{
	struct error err;
	struct stat st;

	check(store_db_exec(b->db, "VACUUM", &err), &err);
	check(store_db_exec(b->db, "PRAGMA wal_checkpoint(TRUNCATE)", &err),
		&err);
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
		double start = cpu_us();

		for (uint64_t i = 0; i < READS * hours; i++) {
			uint64_t h = i % hours;
			struct scan_range range = { 1, "node", NULL,
				b->begin_ms + h * hour_ms,
				b->begin_ms + (h + 1) * hour_ms };
			bool is_done = false;
			struct error err;

			check(tier == STORE_RAW
					? scan_hour(b->scan, &is_done, &range,
						  count_row, &count, &err)
					: store_read_rollup(b->scan, b->db,
						  &is_done, &read, &range,
						  &err),
				&err);
		}
		(void)printf("  %llu h of one node, %llu %s: %.2f ms\n",
			(unsigned long long)hours,
			(unsigned long long)count / READS,
			tier == STORE_RAW ? "reports whole" : "minutes",
			(cpu_us() - start) / 1000 / READS);
	}
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

		check(store_db_prepare(&tables, b->db, sql, &err), &err);
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

	(void)snprintf(b->path, sizeof(b->path), "%s/bench-%d.db",
		b->fleet.directory, (int)getpid());
	check(store_db_open(&b->db, b->path, &err), &err);
	check(store_db_exec(b->db, "PRAGMA synchronous = OFF", &err), &err);
	check(store_db_prepare_schema(b->db, &stopping, &err), &err);
	check(tail_new(&b->tail, b->db, &err), &err);
	check(compact_new(&b->compact, b->db, hour_ms, &err), &err);
	check(scan_new(&b->scan, b->db, &err), &err);
	b->now = xcalloc(b->fleet.nodes, sizeof(*b->now));
	for (size_t i = 0; i < b->fleet.nodes; i++) {
		scoped_free char *name = xasprintf("node-%zu", i);
		int64_t node;

		check(tail_find_node(&node, b->tail, name, &err), &err);
		start_node(b, &b->now[i]);
	}
}

static void run(const struct fleet *fleet)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	struct bench b = { .fleet = *fleet,
		.random = 88172645463325252,
		.begin_ms = UINT64_C(1790000000000) / (24 * hour_ms) * 24 *
			hour_ms };

	open_all(&b);
	fill(&b);
	(void)printf("store: %zu nodes with %zu VMs, %llu h at %llu s\n",
		fleet->nodes, fleet->vms, (unsigned long long)fleet->hours,
		(unsigned long long)fleet->interval_s);
	report_sizes(&b);
	read_back(&b);
	scan_free(b.scan);
	compact_free(b.compact);
	tail_free(b.tail);
	(void)sqlite3_close(b.db);
	for (size_t i = 0; i < fleet->nodes; i++) {
		report_fini(&b.now[i]);
	}
	free(b.now);
	for (size_t i = 0; i < count_of(suffixes); i++) {
		scoped_free char *path = xasprintf("%s%s", b.path, suffixes[i]);

		(void)unlink(path);
	}
}

int main(int argc, char **argv)
{
	struct fleet fleet = { 2, 0, 24, 5, "." };

	if (argc == 6) {
		fleet = (struct fleet){ strtoull(argv[1], NULL, 10),
			strtoull(argv[2], NULL, 10),
			strtoull(argv[3], NULL, 10),
			strtoull(argv[4], NULL, 10), argv[5] };
		run(&fleet);
		return 0;
	}
	run(&fleet);
	fleet.vms = 30;
	run(&fleet);
	return 0;
}
