/* How long commits of the store take. */
#pragma once

#include "aggregator/store/store.h"
#include "lib/histogram.h"

/* Seconds, from 1 ms to 8 s. */
extern const struct histogram_shape commits_shape;

/* Since the store was opened, with those that failed: each from the first row
 * of a group of batches to the end of its transaction. */
struct histogram commits_seconds(struct store *store);
