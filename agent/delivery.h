/* What to say to one aggregator, and what its answers mean.
 *
 * Hello comes first and whenever the aggregator asks for it; then batches out
 * of the ring, one at a time, and in turn with them what the spool holds for
 * it. Of a batch that is refused again and again the half goes alone, until it
 * is one report, which is given up. uplink.c sends the bytes. */
#pragma once

#include "agent/ring.h"
#include "agent/spool.h"
#include "lib/buffer.h"
#include "lib/error.h"
#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long nothing is said after an answer that gives no reason to hurry. */
#define SESSION_HELLO_REFUSED_US UINT64_C(10000000)
#define SESSION_BATCH_REFUSED_US UINT64_C(2000000)
#define SESSION_NO_ANSWER_US UINT64_C(1000000)
/* What the spool has is offered again after this time where it was taken, but
 * not to disk. */
#define SESSION_SPOOL_AGAIN_US UINT64_C(5000000)

/* A batch is offered this often before it is halved. */
enum { SESSION_REFUSALS_MAX = 3 };

enum session_event {
	SESSION_WELCOMED,
	SESSION_STORED,
	SESSION_RECEIVED,  /* taken, but not on disk: kept */
	SESSION_HELLO_DUE, /* the aggregator does not know us (any more) */
	SESSION_REFUSED,   /* will be offered again */
	SESSION_DROPPED,   /* refused too often: a report is lost to it */
	SESSION_NO_ANSWER, /* or none that can be understood */
};

struct session;

struct session_options {
	const char *node;      /* all outlive the session */
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES */
	const char *boot_id;   /* of this boot; "" until it is known */
	const char *version;
	struct ring *ring;
	struct spool *spool; /* or NULL */
	size_t consumer;     /* in the ring and in the spool */
};

/* Never NULL. */
struct session *session_new(const struct session_options *options);
void session_free(struct session *session); /* NULL is fine */

/* The next request will be Hello: time to have a token ready. */
bool session_hello_is_due(const struct session *session, uint64_t now_us);

/* Hello cannot be said now; it is due again after SESSION_HELLO_REFUSED_US. */
void session_put_off_hello(struct session *session, uint64_t now_us);

/* Appends the next request to out, which has room for MQ_SEND_MAX; token goes
 * into Hello, NULL: none. False: there is nothing to say now. After true,
 * session_answer() must follow before the next call. */
bool session_next(struct session *session, struct buffer *out, char *token,
	uint64_t now_us);

/* Takes the answer, or NULL if none came in time. why says what was wrong with
 * the request or the answer. */
enum session_event session_answer(struct session *session, const uint8_t *bytes,
	size_t len, uint64_t now_us, struct error *why);

/* Something may be said, but not before this time; 0: not waiting. */
uint64_t session_waits_until_us(const struct session *session);

/* We end soon: reports that were received and not stored are due again at once.
 * False: there are none that would be lost with us; a spool keeps what the
 * aggregator was given. */
bool session_hurry(struct session *session);

/* The interval the aggregator asked for last; 0: none. */
uint32_t session_interval_hint_ms(const struct session *session);
