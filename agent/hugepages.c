#include "agent/hugepages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/directory.h"
#include "agent/scan.h"

enum { NUMBER_MAX = 64 };

bool hugepages_parse_name(uint64_t *size_bytes, const char *name)
{
	struct scan s = { .at = name };
	uint64_t size;

	if (!scan_text(&s, "hugepages-") || !scan_u64(&s, &size) ||
		!scan_text(&s, "kB") || !scan_end(&s) || size == 0 ||
		__builtin_mul_overflow(size, 1024, &size)) {
		return false;
	}
	*size_bytes = size;
	return true;
}

static int compare_pools(const void *left, const void *right)
{
	const struct hugepages_pool *l = left;
	const struct hugepages_pool *r = right;

	return (l->size_bytes > r->size_bytes) -
		(l->size_bytes < r->size_bytes);
}

static void add_pool(struct hugepages_pools *pools, int parent,
	const char *name)
{
	struct hugepages_pool *pool = &pools->pools[pools->count];
	uint64_t size_bytes;

	if (!hugepages_parse_name(&size_bytes, name)) {
		return;
	}
	pool->dir = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (pool->dir < 0) {
		return;
	}
	pool->size_bytes = size_bytes;
	pools->count++;
}

void hugepages_init(struct hugepages_pools *pools, int sys)
{
	DIR *dir = directory_open(sys, "kernel/mm/hugepages");
	const char *name;

	*pools = (struct hugepages_pools){ 0 };
	if (dir == NULL) {
		return;
	}
	while (pools->count < REPORT_HUGEPAGE_SIZES &&
		(name = directory_next(dir)) != NULL) {
		add_pool(pools, dirfd(dir), name);
	}
	(void)closedir(dir);
	qsort(pools->pools, pools->count, sizeof(pools->pools[0]),
		compare_pools);
	for (size_t i = 0; i < pools->count; i++) {
		struct hugepages_pool *pool = &pools->pools[i];

		kept_file_init(&pool->total, pool->dir, "nr_hugepages");
		kept_file_init(&pool->free, pool->dir, "free_hugepages");
		kept_file_init(&pool->reserved, pool->dir, "resv_hugepages");
	}
}

void hugepages_fini(struct hugepages_pools *pools)
{
	for (size_t i = 0; i < pools->count; i++) {
		struct hugepages_pool *pool = &pools->pools[i];

		kept_file_fini(&pool->total);
		kept_file_fini(&pool->free);
		kept_file_fini(&pool->reserved);
		(void)close(pool->dir);
	}
	pools->count = 0;
}

static bool read_pages(uint64_t *out, struct kept_file *file, struct error *err)
{
	char text[NUMBER_MAX];

	if (kept_file_read(file, text, sizeof(text), err) < 0) {
		return false;
	}
	if (!scan_single(text, out)) {
		(void)error_set(err, -EBADMSG, "'%s' is no number", file->name);
		return false;
	}
	return true;
}

void hugepages_read(struct report *out, struct hugepages_pools *pools,
	struct error *err)
{
	out->hugepages_count = 0;
	for (size_t i = 0; i < pools->count; i++) {
		struct hugepages_pool *pool = &pools->pools[i];
		struct hugepages h = { .size_bytes = pool->size_bytes };

		if (read_pages(&h.total, &pool->total, err) &&
			read_pages(&h.free, &pool->free, err) &&
			read_pages(&h.reserved, &pool->reserved, err)) {
			out->hugepages[out->hugepages_count++] = h;
		}
	}
}
