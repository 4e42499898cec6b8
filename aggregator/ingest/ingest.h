/* Handles the messages of agents and schedulers.
 *
 * A batch is added to the live table at once and passed to the store. Its Ack
 * is `stored` after the commit, and `received` if the commit takes longer than
 * INGEST_ACK_US or fails; it says which. A batch that the store does not accept
 * is refused with the reason. If a commit finishes after that, its reports are
 * remembered, and acknowledged as stored when the agent sends them again.
 * Nothing is acknowledged as stored that is not on disk. A batch above the rate
 * limit is acknowledged as received and ignored: the agent keeps its reports
 * and sends them again. A snapshot request waits until there is something
 * newer. */
#pragma once

#include "aggregator/live/live.h"
#include "aggregator/store/store.h"
#include "auth/access_review.h"
#include "lib/mq/mq.h"

#include <uv.h>

enum {
	/* Batches are answered within 250 ms; this leaves 20 ms for a busy
	 * event loop. */
	INGEST_ACK_US = 230000,
	/* No live data waits for records of schedulers. */
	INGEST_RECORDS_US = 5000000,
};

/* Counters since the start of the aggregator. */
struct ingest_counts {
	uint64_t reports;	   /* accepted, including replays */
	uint64_t batches_stored;   /* acknowledged as stored */
	uint64_t batches_received; /* acknowledged as received */
	uint64_t refused;	   /* messages */
	uint64_t limited;	   /* batches above ingest/rate_limit.h */
	uint64_t snapshots;	   /* sent */
	uint64_t wrong_claims;	   /* see ingest/pod_filter.h */
};

struct identities;
struct ingest;
struct node_owners;
struct profile_cache;
struct questions;

/* live, store, review and identities outlive it, but for the store after
 * ingest_stop(). review NULL: no authentication. profiles NULL: VM profiles are
 * refused. identities NULL: there is no API server. */
struct ingest *ingest_new(uv_loop_t *loop, struct live *live,
	struct store *store, struct access_review *review,
	struct profile_cache *profiles, const struct identities *identities);

/* The node's last stored report is of this age. */
void ingest_restore_pods(struct ingest *ingest, const char *node,
	const struct report *report, uint64_t age_us);

/* An mq_serve; owner is the ingest. */
void ingest_serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len);

struct ingest_counts ingest_counts(const struct ingest *ingest);

/* Borrowed; see ingest/node_owner.h. */
const struct node_owners *ingest_owners(const struct ingest *ingest);

/* Borrowed; see ingest/questions.h. */
struct questions *ingest_questions(const struct ingest *ingest);

/* After this, batches are acknowledged as received and nothing is stored. The
 * batches that the store already has are still answered. */
void ingest_stop(struct ingest *ingest);

/* Once the store is closed and no request can be answered any more; frees
 * itself. NULL is fine. */
void ingest_close(struct ingest *ingest);
