/* A node's or a VM's past: rows of figures made from what is stored. Pure.
 *
 * Reports are added by rising sample time. Each interval between two reports of
 * one run counts for the rows it lies in by the time it shares with them, so a
 * row's value is the time-weighted mean and exact however the reports fell.
 * Where reports are further apart than makes a node stale there is a gap, and a
 * gap stays one: nothing is filled in. Minutes and hours count by the time that
 * they cover.
 *
 * A VM's pods come one after the other. Where two run at the same time, while
 * it moves, their cores and bytes add up: the sum over all pods of figure times
 * time, by the time that is known, which is no more than there is. Contention
 * is the mean, and a maximum the larger one. */
#pragma once

#include "aggregator/query/history_query.h"
#include "proto/report.h"

#include <stdbool.h>

struct history;

/* Never NULL; the query is copied. */
struct history *history_new(const struct query *query);
void history_free(struct history *history); /* NULL is fine */

const struct query *history_query(const struct history *history);

/* The sample times to read: a little more than the query's range, so that the
 * intervals across its ends are there. */
void history_range_ms(uint64_t *from_ms, uint64_t *to_ms,
	const struct query *query);

/* What the reports must hold, enum fields_part. */
unsigned int history_parts(const struct query *query);

/* sample_us: when it was taken, by the aggregator's wall clock. The report is
 * moved away. */
void history_add(struct history *history, const uint8_t *run_id,
	uint64_t sample_us, struct report *report);

/* A minute or an hour, by the query's tier. */
void history_add_rollup(struct history *history, const struct rollup_row *from);

/* A value by field; NAN: a gap. */
void history_row(double *values, const struct history *history, size_t row);
