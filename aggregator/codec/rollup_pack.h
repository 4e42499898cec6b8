/* The rollups of one hour as bytes. Pure.
 *
 * Figures are rounded: cores to 1/1000, shares to 1/10000, bytes to 4096. The
 * format, version 1, in the terms of codec/chunk.h:
 *
 *     byte 1, the version; 4 bytes CRC-32 of the rest, lowest byte first
 *     beginning of the hour in hours; number of series; for each: the uid of
 *     its pod, empty for the node; number of rows; bytes of its columns
 *     columns of each series: minute of the hour, covered_ms, then for each
 *     figure the mean, max and p95 in units of its rounding, max and p95 minus
 *     the mean; all three are REPORT_UNKNOWN if the figure is not known */
#pragma once

#include "aggregator/series/rollup.h"
#include "lib/buffer.h"
#include "lib/error.h"

/* Appends all series, their minutes or their hour. -EFBIG: they do not fit; out
 * is not usable. */
must_check int rollup_pack(struct buffer *out, const struct rollup *rollup,
	bool is_hour, struct error *err);

/* Gets the rows of a series, valid during the call; pod_uid "" is the node. */
typedef void (*rollup_unpacked)(void *owner, const char *pod_uid,
	const struct rollup_row *rows, size_t count);

/* Passes the series of pod_uid to unpacked, if there is one; NULL: all series,
 * the node first. -EBADMSG: damaged; rows passed before that are good. */
must_check int rollup_unpack(const void *bytes, size_t len, const char *pod_uid,
	rollup_unpacked unpacked, void *owner, struct error *err);
