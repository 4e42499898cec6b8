/* The protocol with one aggregator: what to send next, and how to handle the
 * replies.
 *
 * Hello is sent first, and again whenever the aggregator requests it. If the
 * aggregator says when to try again, Hello was in order: another agent reports
 * for the node, and this one keeps its reports in the meantime. Then
 * batches are sent one at a time, from the ring and from the spool in turn. If
 * the aggregator keeps refusing a batch of the ring, the batch is halved until
 * the one bad report is found, and that report is dropped. A spooled batch that
 * is refused as often is dropped as a whole. report_client.c sends the
 * bytes.
 *
 * Batches are small at first, and while the aggregator is slow. Otherwise 5,000
 * agents that come back with a backlog each would send 1.3 GB at once, which
 * nng holds at the aggregator. */
#pragma once

#include "agent/ring.h"
#include "agent/spool.h"
#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/tls/tls_watch.h"
#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The wait after a reply before the next request. */
#define DELIVERY_HELLO_REFUSED_US UINT64_C(10000000)
/* The limits of the wait that an aggregator may ask for. */
#define DELIVERY_WAIT_MIN_US UINT64_C(100000)
#define DELIVERY_BATCH_REFUSED_US UINT64_C(2000000)
#define DELIVERY_NO_REPLY_US UINT64_C(1000000)
/* The wait before a spooled batch that was received, but not stored, is sent
 * again. */
#define DELIVERY_SPOOL_RETRY_US UINT64_C(5000000)

/* The most bytes of the first batch, and of the batch after a reply that took
 * longer than DELIVERY_SLOW_US or did not come. Each other reply doubles them,
 * up to RING_BATCH_BYTES. An Ack takes up to INGEST_ACK_US, 0.23 s, at an
 * aggregator that is not slow. */
enum { DELIVERY_BATCH_LEAST = 16 << 10 };
#define DELIVERY_SLOW_US UINT64_C(1000000)

/* A batch is halved, or dropped, after this many refusals. */
enum { DELIVERY_REFUSALS_MAX = 3 };

enum delivery_event {
	DELIVERY_WELCOMED,
	DELIVERY_STORED,
	DELIVERY_RECEIVED,  /* but not stored yet: the reports are kept */
	DELIVERY_UNSTORED,  /* the same, because the aggregator cannot store */
	DELIVERY_HELLO_DUE, /* the aggregator requests Hello */
	DELIVERY_WAITING,   /* another agent reports for this node */
	DELIVERY_REFUSED,   /* will be sent again */
	DELIVERY_DROPPED,   /* refused too often: reports are lost */
	DELIVERY_NO_REPLY,  /* or an invalid one */
};

struct delivery;

struct delivery_options {
	const char *node;      /* every pointer outlives the delivery */
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES */
	const char *boot_id;   /* of this boot; "" until it is known */
	const char *version;
	struct ring *ring;
	struct spool *spool;	     /* or NULL */
	size_t consumer;	     /* in the ring and in the spool */
	const struct tls_watch *tls; /* of the connection; NULL: tcp */
};

/* Never NULL. */
struct delivery *delivery_new(const struct delivery_options *options);
void delivery_free(struct delivery *delivery); /* NULL is fine */

/* True: the next request is Hello, for which a token may be needed. */
bool delivery_hello_is_due(const struct delivery *delivery, uint64_t now_us);

/* Hello cannot be sent now; it is due after DELIVERY_HELLO_REFUSED_US. */
void delivery_postpone_hello(struct delivery *delivery, uint64_t now_us);

/* Appends the next request to out, which has room for MQ_SEND_MAX bytes. token
 * is sent with Hello; NULL: none. False: nothing is to be sent now. After true
 * the caller calls delivery_reply() before the next delivery_next(). */
bool delivery_next(struct delivery *delivery, struct buffer *out, char *token,
	uint64_t now_us);

/* Handles the reply; NULL: none came in time. why says what was wrong with the
 * request or the reply. */
enum delivery_event delivery_reply(struct delivery *delivery,
	const uint8_t *bytes, size_t len, uint64_t now_us, struct error *why);

/* The time of the next request at the earliest; 0: no wait. */
uint64_t delivery_waits_until_us(const struct delivery *delivery);

/* Before the end: reports that were received, but not stored, are due at once.
 * False: no report would be lost with the process. With a spool that holds for
 * every report that was sent once. */
bool delivery_flush(struct delivery *delivery);

/* The interval that the aggregator asked for last; 0: none. */
uint32_t delivery_interval_hint_ms(const struct delivery *delivery);
