/* The pools of huge pages: /sys/kernel/mm/hugepages.
 *
 * The kernel subtracts a whole pool from MemAvailable, and only VMs with huge
 * pages can use the pool. So pools are reported next to memory and not as part
 * of it. The page sizes are fixed at boot; the counts are read each time. */
#pragma once

#include "agent/kernel_file.h"
#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hugepages_pool {
	uint64_t size_bytes;
	int dir; /* of this size, owned */
	struct kernel_file total, free, reserved;
};

struct hugepages_pools {
	struct hugepages_pool pools[REPORT_HUGEPAGE_SIZES]; /* by size */
	size_t count;
};

/* Parses the size in a directory's name ("hugepages-2048kB") to bytes. False:
 * the name has another form. Pure. */
bool hugepages_parse_name(uint64_t *size_bytes, const char *name);

/* Finds the pools below sys, an open directory. No pool is no error. Fails if
 * an existing pool cannot be opened (-EMFILE, -ENOMEM). */
must_check int hugepages_init(struct hugepages_pools *pools, int sys,
	struct error *err);
void hugepages_fini(struct hugepages_pools *pools); /* zeroed is fine */

/* Fills out->hugepages. A pool that cannot be read is omitted, and err is
 * set. */
void hugepages_read(struct report *out, struct hugepages_pools *pools,
	struct error *err);
