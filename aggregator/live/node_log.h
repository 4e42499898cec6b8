/* Logs which nodes report for the first time, fall silent, and report again.
 *
 * A poll compares the live table with the one before. The lines of a poll are
 * bounded by NODE_LOG_LINES of each kind: agents may invent names. */
#pragma once

#include "aggregator/live/live.h"

enum { NODE_LOG_LINES = 10 };

struct node_log;

struct node_log *node_log_new(void);	    /* never NULL */
void node_log_free(struct node_log *nodes); /* NULL is fine */

/* Takes the nodes in the table as known, without a line: those that the store
 * had at the start. */
void node_log_begin(struct node_log *nodes, const struct live *live,
	uint64_t now_us);

/* Logs the differences since the last call. Before node_log_begin() nothing is
 * logged. */
void node_log_poll(struct node_log *nodes, const struct live *live,
	uint64_t now_us);
