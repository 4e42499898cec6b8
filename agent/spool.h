/* Unacknowledged reports on disk.
 *
 * While every aggregator stores reports in time, they are in the ring only and
 * the spool has no file. When the third unacknowledged report is made, the
 * spool appends every report of the ring to a segment file, and from then on
 * each new report, so that a kill costs at most the report being made. Nothing
 * is synced: reports survive the process, but not a power cut.
 *
 * The spool delivers reports that the ring had to drop and reports of earlier
 * runs. They keep their run id and seq: (node, run, seq) identifies a report,
 * so sending one twice does no harm. A segment is deleted when every consumer
 * has stored its reports, or, the oldest first, when all segments would exceed
 * the limit. A damaged record, such as a torn tail, ends its segment.
 *
 * All writes, and reads of at most SPOOL_BATCH_BYTES, run on the caller's
 * thread. No failed system call costs a report: what cannot be written stays in
 * memory until the next try, and a segment that cannot be read or deleted stays
 * on disk until the next try. spool_take_last_error() returns the error. */
#pragma once

#include "agent/ring.h"
#include "lib/error.h"
#include "proto/report.h"
#include "proto/wire.h"

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
	/* Borrowed until the consumer's next pick. */
	struct packed_report reports[WIRE_REPORTS_MAX];
};

struct spool_options {
	const char *dir; /* created if missing; outlives the spool */
	uint64_t bytes_max;
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES; outlives the spool */
	struct ring *ring;     /* outlives the spool */
	size_t consumers;      /* as in the ring */
};

struct spool_stats {
	uint64_t bytes;		 /* on disk */
	uint64_t segments_found; /* of earlier runs, by spool_open() */
	/* Reports of this run that a consumer lacks and will not get: deleted
	 * because of the limit, damaged on disk, or refused (counted once per
	 * consumer). */
	uint64_t dropped;
};

/* Finds the segments of earlier runs. -EBUSY: another process uses the
 * directory; else what mkdir(2), open(2), flock(2) and readdir(3) return. */
must_check int spool_open(struct spool **out,
	const struct spool_options *options, struct error *err);
void spool_close(struct spool *spool); /* NULL is fine */

/* Called before and after each ring_add(): append unacknowledged reports, and
 * delete segments that no consumer needs. */
void spool_before_add(struct spool *spool);
void spool_after_add(struct spool *spool);

/* Appends every unacknowledged report; for shutdown. */
void spool_write_all(struct spool *spool);

/* Chooses what to send to a consumer for which the ring has nothing to send, up
 * to max_bytes, which is at most SPOOL_BATCH_BYTES; a single report may be
 * larger. count 0: nothing. */
void spool_pick(struct spool_batch *out, struct spool *spool, size_t consumer,
	size_t max_bytes);

/* The consumer stored what it picked last. */
void spool_advance(struct spool *spool, size_t consumer);

/* The consumer refused what it picked last for good: counted as dropped. */
void spool_drop(struct spool *spool, size_t consumer);

const struct spool_stats *spool_stats(const struct spool *spool);

/* Moves the last error since the previous call into *out and returns its code,
 * 0 if there was none. */
int spool_take_last_error(struct error *out, struct spool *spool);
