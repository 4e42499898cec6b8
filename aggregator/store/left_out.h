/* Counts of the reports that minutes and hours leave out (store/rollups.h). */
#pragma once

#include "aggregator/store/store.h"

/* Since the store was opened. */
struct left_out {
	uint64_t hours;	  /* of a node, that were too large */
	uint64_t samples; /* of the pods of a node that named too many */
};

struct left_out left_out_count(struct store *store);
