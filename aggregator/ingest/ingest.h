/* What agents and schedulers send, and what they are answered.
 *
 * A batch goes into the live table at once and to the store; its Ack says
 * `stored` after the commit, or `received` when that takes longer than
 * INTAKE_ACK_US or cannot be done. What was committed later is known when it is
 * sent again, and acknowledged at once. Nothing is acknowledged as stored that is
 * not on disk. Snapshot requests are parked until there is something newer. */
#pragma once

#include "aggregator/live/live.h"
#include "aggregator/http/metrics.h"
#include "aggregator/auth/access_review.h"
#include "aggregator/store/store.h"
#include "lib/mq.h"

#include <uv.h>

enum {
	/* Batches are answered within 250 ms; this leaves room for a busy
	 * loop. */
	INTAKE_ACK_US = 200000,
	/* Nobody's live data waits for records of decisions. */
	INTAKE_DECISIONS_US = 5000000,
};

struct intake;
struct profiles;

/* live, store and review outlive it, but for the store after intake_stop().
 * review NULL: everyone may send and ask. */
struct intake *intake_new(uv_loop_t *loop, struct live *live,
	struct store *store, struct review *review);

/* Whom profiles of VMs are asked of; without it none is known. */
void intake_set_profiles(struct intake *intake, struct profiles *profiles);

/* An mq_serve; owner is the intake. */
void intake_serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len);

/* What was done so far. */
struct metrics_counts intake_counts(const struct intake *intake);

/* From here on batches are acknowledged as received and nothing is stored; the
 * answers of batches under way still come. */
void intake_stop(struct intake *intake);

/* Once the store is closed and no request may be replied to any more; frees
 * itself. NULL is fine. */
void intake_close(struct intake *intake);
