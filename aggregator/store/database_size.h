/* How large the database is, by what --max-db-size limits: its pages without
 * the free ones. The writer's thread counts while it maintains the database. */
#pragma once

#include "aggregator/store/store.h"

struct database_size {
	uint64_t bytes;	    /* REPORT_UNKNOWN: not counted yet */
	uint64_t max_bytes; /* REPORT_UNKNOWN: there is no limit */
};

/* Reads nothing from the disk. */
struct database_size database_size(struct store *store);
