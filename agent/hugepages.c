#include "agent/hugepages.h"

#include <stdlib.h>

#include "agent/directory.h"
#include "agent/scan.h"

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
	const char *name, struct error *err)
{
	struct hugepages_pool *pool = &pools->pools[pools->count];

	if (pools->count == REPORT_HUGEPAGE_SIZES ||
		!hugepages_parse_name(&pool->size_bytes, name)) {
		return;
	}
	pool->dir = directory_open_at(parent, name, err);
	pools->count += pool->dir >= 0;
}

int hugepages_init(struct hugepages_pools *pools, int sys, struct error *err)
{
	struct error why = { 0 };
	DIR *dir = directory_open(sys, "kernel/mm/hugepages", &why);
	const char *name;

	*pools = (struct hugepages_pools){ 0 };
	while ((name = directory_next(dir, &why)) != NULL) {
		add_pool(pools, dirfd(dir), name, &why);
	}
	qsort(pools->pools, pools->count, sizeof(pools->pools[0]),
		compare_pools);
	for (size_t i = 0; i < pools->count; i++) {
		struct hugepages_pool *pool = &pools->pools[i];

		kernel_file_init(&pool->total, pool->dir, "nr_hugepages");
		kernel_file_init(&pool->free, pool->dir, "free_hugepages");
		kernel_file_init(&pool->reserved, pool->dir, "resv_hugepages");
	}
	if (why.code != 0) {
		hugepages_fini(pools);
		return error_set(err, why.code, "%s", why.text);
	}
	return 0;
}

void hugepages_fini(struct hugepages_pools *pools)
{
	for (size_t i = 0; i < pools->count; i++) {
		struct hugepages_pool *pool = &pools->pools[i];

		kernel_file_fini(&pool->total);
		kernel_file_fini(&pool->free);
		kernel_file_fini(&pool->reserved);
		directory_close(pool->dir);
	}
	pools->count = 0;
}

void hugepages_read(struct report *out, struct hugepages_pools *pools,
	struct error *err)
{
	out->hugepages_count = 0;
	for (size_t i = 0; i < pools->count; i++) {
		struct hugepages_pool *pool = &pools->pools[i];
		struct hugepages h = { .size_bytes = pool->size_bytes };

		if (kernel_file_number(&h.total, &pool->total, err) == 0 &&
			kernel_file_number(&h.free, &pool->free, err) == 0 &&
			kernel_file_number(&h.reserved, &pool->reserved, err) ==
				0) {
			out->hugepages[out->hugepages_count++] = h;
		}
	}
}
