/* A node's or a VM's history: rows of figures from stored reports or rollups.
 * Pure.
 *
 * Reports are added by rising sample time. An interval between two reports of
 * one boot counts for each row by the time that they share, so a row's value is
 * the exact time-weighted mean. If two reports are so far apart that the node
 * becomes stale, the time between them is a gap, and is never filled in.
 * Minutes and hours count by the time that they cover.
 *
 * A VM's pods are added one after the other. Two pods run at the same time
 * while the VM migrates. Cores and bytes then add up: the sum over all pods of
 * figure times time, divided by the known time, which is at most the row's.
 * Contention is the mean, and a maximum is that of the larger pod. */
#pragma once

#include "aggregator/query/history_query.h"
#include "proto/report.h"

struct history;

/* Never NULL; the query is copied. */
struct history *history_new(const struct history_query *query);
void history_free(struct history *history); /* NULL is fine */

const struct history_query *history_query(const struct history *history);

/* The sample times to read: a little more than the query's range, to include
 * the intervals across its ends. */
void history_range_ms(uint64_t *from_ms, uint64_t *to_ms,
	const struct history_query *query);

/* The parts of a report that the query needs, enum schema_part. */
unsigned int history_parts(const struct history_query *query);

/* sample_us: the sample's time on the aggregator's wall clock. Takes the report
 * and leaves an empty one. */
void history_add(struct history *history, const uint8_t *run_id,
	uint64_t sample_us, struct report *report);

/* Adds a minute or an hour, by the query's tier. */
void history_add_rollup(struct history *history, const struct rollup_row *from);

/* Number of leading rows that are less than 90 % covered: those before the
 * first report or rollup. Only whole rows count. */
size_t history_missing_rows(const struct history *history);

/* Puts values of elsewhere over the first rows, which history_missing_rows()
 * counted: rows times fields, row after row. The history keeps its own value
 * where theirs is NAN. Takes values. */
void history_join(struct history *history, double *values, size_t rows);

/* The row's values by field; NAN: a gap. */
void history_row(double *values, const struct history *history, size_t row);
