/* The pools of huge pages: /sys/kernel/mm/hugepages.
 *
 * A pool is taken out of MemAvailable as a whole and is of use to VMs with
 * huge pages only, so it is reported beside memory, never inside. The sizes are
 * fixed when the machine boots; what is in the pools is read each time. */
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
	struct kept_file total, free, reserved;
};

struct hugepages_pools {
	struct hugepages_pool pools[REPORT_HUGEPAGE_SIZES]; /* by size */
	size_t count;
};

/* The size in a directory's name ("hugepages-2048kB"), in bytes. False: it is
 * no such name. Pure. */
bool hugepages_parse_name(uint64_t *size_bytes, const char *name);

/* Finds the pools below sys, an open directory. None is no error. */
void hugepages_init(struct hugepages_pools *pools, int sys);
void hugepages_fini(struct hugepages_pools *pools); /* zeroed is fine */

/* Fills out->hugepages. A pool that cannot be read is left out and says so in
 * err. */
void hugepages_read(struct report *out, struct hugepages_pools *pools,
	struct error *err);
