#include "agent/numa.h"

#include "agent/directory.h"
#include "agent/hugepages.h"
#include "agent/kernel_file.h"
#include "agent/scan.h"
#include "lib/files.h"
#include "lib/memory.h"

/* 1,500 bytes in Linux 6.18. */
enum { MEMINFO_MAX = 16 << 10 };

static const char nodes_path[] = "devices/system/node";

static bool is_node(uint64_t *number, const char *name)
{
	struct scan s = { .at = name };

	return scan_text(&s, "node") && scan_u64(&s, number) && scan_end(&s);
}

static void add_pool(struct report *out, uint64_t number, int parent,
	const char *name, struct error *err)
{
	struct numa_hugepages h = { .numa_node = number };
	scoped_fd int dir = -1;

	if (out->numa_hugepages_count == REPORT_NUMA_HUGEPAGES ||
		!hugepages_parse_name(&h.size_bytes, name)) {
		return;
	}
	dir = directory_open_at(parent, name, err);
	if (dir >= 0 &&
		kernel_file_number_at(&h.total, dir, "nr_hugepages", err) ==
			0 &&
		kernel_file_number_at(&h.free, dir, "free_hugepages", err) ==
			0) {
		out->numa_hugepages[out->numa_hugepages_count++] = h;
	}
}

static void add_node(struct report *out, uint64_t number, int parent,
	const char *name, struct error *err)
{
	scoped_free char *path = xasprintf("%s/hugepages", name);
	DIR *dir = directory_open(parent, path, err);
	const char *pool;

	while ((pool = directory_next(dir, err)) != NULL) {
		add_pool(out, number, dirfd(dir), pool, err);
	}
}

void numa_read_hugepages(struct report *out, int sys, struct error *err)
{
	DIR *dir = directory_open(sys, nodes_path, err);
	uint64_t number;
	const char *name;

	out->numa_hugepages_count = 0;
	while ((name = directory_next(dir, err)) != NULL) {
		if (is_node(&number, name)) {
			add_node(out, number, dirfd(dir), name, err);
		}
	}
}

bool numa_parse_memory(uint64_t *bytes, const char *text)
{
	struct scan s = { .at = text };
	uint64_t number;
	uint64_t kib;

	while (!scan_text(&s, "Node ") || !scan_u64(&s, &number) ||
		!scan_text(&s, " MemTotal:")) {
		if (scan_end(&s)) {
			return false;
		}
		scan_line(&s);
	}
	scan_blanks(&s);
	if (!scan_u64(&s, &kib) || !scan_text(&s, " kB") ||
		kib > UINT64_MAX / 1024) {
		return false;
	}
	*bytes = kib * 1024;
	return true;
}

uint64_t numa_memory_bytes(int sys)
{
	DIR *dir = directory_open(sys, nodes_path, NULL);
	uint64_t sum = REPORT_UNKNOWN;
	uint64_t number;
	const char *name;

	while ((name = directory_next(dir, NULL)) != NULL) {
		scoped_free char *path = xasprintf("%s/meminfo", name);
		char text[MEMINFO_MAX];
		uint64_t bytes;

		if (is_node(&number, name) &&
			file_read_at(text, sizeof(text), dirfd(dir), path,
				NULL) > 0 &&
			numa_parse_memory(&bytes, text)) {
			sum = sum == REPORT_UNKNOWN ? bytes : sum + bytes;
		}
	}
	return sum;
}
