#include "agent/numa.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/directory.h"
#include "agent/hugepages.h"
#include "agent/scan.h"
#include "lib/files.h"
#include "lib/memory.h"

enum {
	NUMBER_MAX = 64,
	/* 1,500 bytes in Linux 6.18. */
	MEMINFO_MAX = 16 << 10,
};

static const char nodes_path[] = "devices/system/node";

static bool is_node(uint64_t *number, const char *name)
{
	struct scan s = { .at = name };

	return scan_text(&s, "node") && scan_u64(&s, number) && scan_end(&s);
}

static bool read_pages(uint64_t *out, int dir, const char *name,
	struct error *err)
{
	char text[NUMBER_MAX];

	if (file_read_at(text, sizeof(text), dir, name, err) < 0) {
		return false;
	}
	if (!scan_single(text, out)) {
		(void)error_set(err, -EBADMSG, "'%s' is no number", name);
		return false;
	}
	return true;
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
	dir = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && read_pages(&h.total, dir, "nr_hugepages", err) &&
		read_pages(&h.free, dir, "free_hugepages", err)) {
		out->numa_hugepages[out->numa_hugepages_count++] = h;
	}
}

static void add_node(struct report *out, uint64_t number, int parent,
	const char *name, struct error *err)
{
	scoped_free char *path = xasprintf("%s/hugepages", name);
	DIR *dir = directory_open(parent, path);
	const char *pool;

	if (dir == NULL) {
		return;
	}
	while ((pool = directory_next(dir)) != NULL) {
		add_pool(out, number, dirfd(dir), pool, err);
	}
	(void)closedir(dir);
}

void numa_read_hugepages(struct report *out, int sys, struct error *err)
{
	DIR *dir = directory_open(sys, nodes_path);
	uint64_t number;
	const char *name;

	out->numa_hugepages_count = 0;
	if (dir == NULL) {
		return;
	}
	while ((name = directory_next(dir)) != NULL) {
		if (is_node(&number, name)) {
			add_node(out, number, dirfd(dir), name, err);
		}
	}
	(void)closedir(dir);
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
	DIR *dir = directory_open(sys, nodes_path);
	uint64_t sum = REPORT_UNKNOWN;
	uint64_t number;
	const char *name;

	while (dir != NULL && (name = directory_next(dir)) != NULL) {
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
	if (dir != NULL) {
		(void)closedir(dir);
	}
	return sum;
}
