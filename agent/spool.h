/* Reports on disk, for as long as somebody does not take them.
 *
 * The ring holds them in memory. Where a report is made while two
 * others are not stored by all, all that is lacking is appended to a segment file below DIR,
 * and from then on each report as it is made, so that a kill at any instant
 * costs at most the report in the making. While reports are stored in time
 * there is no file. Nothing is synced: what was written survives the process,
 * not a power cut.
 *
 * From here come the reports that the ring had to drop, and those of earlier
 * runs, which keep their run id and seq: (node, run, seq) is their key, so
 * sending one twice does no harm. A segment is deleted when everyone who lacks
 * a report of it has stored it, or, oldest first, when all together would take
 * more than the limit. A tail that was torn ends its segment.
 *
 * Small writes and reads of at most SPOOL_BATCH_BYTES on the caller's thread.
 * What the disk refuses stays in memory and is tried again at the next report;
 * spool_trouble() says why. */
#pragma once

#include "agent/ring.h"
#include "lib/error.h"
#include "proto/report.h"
#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SPOOL_SEGMENT_BYTES = 1 << 20,
	SPOOL_BATCH_BYTES = RING_BATCH_BYTES,
};

struct spool;

/* Reports of one run, ascending by seq. */
struct spool_batch {
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	size_t count;
	struct packed_report reports[WIRE_REPORTS_MAX]; /* borrowed until the
	                                                  * consumer's next pick */
};

struct spool_options {
	const char *dir; /* made if it is not there; outlives the spool */
	uint64_t bytes_max;
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES; copied */
	struct ring *ring;     /* outlives the spool */
	size_t consumers;      /* as in the ring */
};

/* Finds what earlier runs left. -EBUSY: another process spools there; else
 * what mkdir(2) and open(2) say. */
must_check int spool_open(struct spool **out,
	const struct spool_options *options, struct error *err);
void spool_close(struct spool *spool); /* NULL is fine */

/* To be called before and after each report is added to the ring: appends what
 * is to be appended, and deletes what nobody lacks. */
void spool_before_add(struct spool *spool);
void spool_after_add(struct spool *spool);

/* The end: whatever is not stored by all goes to disk. */
void spool_keep_all(struct spool *spool);

/* What to send to a consumer whose ring has nothing for it; count 0: nothing. */
void spool_pick(struct spool_batch *out, struct spool *spool, size_t consumer);

/* The consumer is done with what it picked last: stored, or refused for good. */
void spool_advance(struct spool *spool, size_t consumer);

/* Reports of this run that the limit took from somebody who lacked them. */
uint64_t spool_dropped(const struct spool *spool);
uint64_t spool_bytes(const struct spool *spool);

/* How many segments of earlier runs were found, for the log. */
uint64_t spool_segments_found(const struct spool *spool);

/* Why the last write failed; code 0 if it did not. */
const struct error *spool_trouble(const struct spool *spool);
