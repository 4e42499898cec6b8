#include "agent/delivery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/memory.h"

struct session {
	struct session_options options;
	bool greeted;
	bool hello_sent; /* the request under way is Hello */
	bool again;	 /* offer batch once more as it is */
	bool strange;	 /* nothing was taken since the last Hello */
	bool ring_went;	 /* the last batch was the ring's: the spool's turn */
	unsigned refusals, spool_refusals;
	uint64_t not_before_us, spool_not_before_us;
	uint32_t hint_ms;
	struct ring_batch batch;    /* under way, or refused */
	struct spool_batch spooled; /* the same, if batch.count is 0 */
};

struct session *session_new(const struct session_options *options)
{
	struct session *session = xcalloc(1, sizeof(*session));

	session->options = *options;
	return session;
}

void session_free(struct session *session)
{
	free(session);
}

static void pack_hello(const struct session *session, struct buffer *out,
	char *token)
{
	struct hello hello = { .role = HELLO_AGENT };

	(void)snprintf(hello.node, sizeof(hello.node), "%s",
		session->options.node);
	(void)snprintf(hello.version, sizeof(hello.version), "%s",
		session->options.version);
	memcpy(hello.run_id, session->options.run_id, sizeof(hello.run_id));
	hello.token = token;
	wire_pack_hello(out, &hello);
}

static void pick(struct session *session, uint64_t now_us)
{
	const struct session_options *o = &session->options;

	if (session->again) {
		ring_pick_again(&session->batch, o->ring, o->consumer);
	}
	if (!session->again || session->batch.count == 0) {
		session->again = false;
		session->refusals = 0;
		ring_pick(&session->batch, o->ring, o->consumer, now_us);
	}
}

bool session_hello_is_due(const struct session *session, uint64_t now_us)
{
	return !session->greeted && now_us >= session->not_before_us;
}

void session_put_off_hello(struct session *session, uint64_t now_us)
{
	session->not_before_us = now_us + SESSION_HELLO_REFUSED_US;
}

/* Reports of an earlier boot say nothing by today's clock: their age is then
 * what the wall clock tells, by the newest of them. */
static uint64_t sent_us(const struct session *session, uint64_t now_us)
{
	const struct spool_batch *batch = &session->spooled;
	const struct packed_report *newest = &batch->reports[batch->count - 1];
	uint64_t wall_us = clock_wall_us();
	uint64_t sent = now_us;
	struct report report;

	if (wire_unpack_report(&report, newest->bytes, newest->len, NULL) < 0) {
		return now_us; /* whoever gets it will say so */
	}
	if (report.monotonic_us > now_us ||
		strcmp(report.boot_id, session->options.boot_id) != 0) {
		sent = report.monotonic_us;
		sent += report.wall_us < wall_us ? wall_us - report.wall_us : 0;
	}
	report_fini(&report);
	return sent;
}

static bool next_spooled(struct session *session, struct buffer *out,
	uint64_t now_us)
{
	const struct session_options *o = &session->options;

	session->spooled.count = 0;
	if (o->spool == NULL || now_us < session->spool_not_before_us) {
		return false;
	}
	spool_pick(&session->spooled, o->spool, o->consumer);
	if (session->spooled.count == 0) {
		return false;
	}
	session->batch.count = 0;
	wire_pack_batch(out,
		&(const struct batch_out){
			.node = o->node,
			.run_id = session->spooled.run_id,
			.sent_monotonic_us = sent_us(session, now_us),
			.reports = session->spooled.reports,
			.count = session->spooled.count,
		});
	return true;
}

static bool next_of_ring(struct session *session, struct buffer *out,
	uint64_t now_us)
{
	pick(session, now_us);
	if (session->batch.count == 0) {
		return false;
	}
	wire_pack_batch(out,
		&(const struct batch_out){
			.node = session->options.node,
			.run_id = session->options.run_id,
			.sent_monotonic_us = now_us,
			.reports = session->batch.reports,
			.count = session->batch.count,
		});
	return true;
}

bool session_next(struct session *session, struct buffer *out, char *token,
	uint64_t now_us)
{
	if (now_us < session->not_before_us) {
		return false;
	}
	session->not_before_us = 0;
	session->hello_sent = !session->greeted;
	if (!session->greeted) {
		pack_hello(session, out, token);
		return true;
	}
	/* In turn: where answers take longer than an interval, the ring always
	 * has something. What was refused stays what is offered. */
	if (session->ring_went && !session->again &&
		next_spooled(session, out, now_us)) {
		session->ring_went = false;
		return true;
	}
	session->ring_went = next_of_ring(session, out, now_us);
	return session->ring_went || next_spooled(session, out, now_us);
}

static enum session_event take_spool_ack(struct session *session,
	bool is_stored, uint64_t now_us)
{
	if (!is_stored) {
		session->spool_not_before_us = now_us + SESSION_SPOOL_AGAIN_US;
		return SESSION_RECEIVED;
	}
	session->spool_refusals = 0;
	spool_advance(session->options.spool, session->options.consumer);
	return SESSION_STORED;
}

static enum session_event take_ack(struct session *session,
	const struct ack *ack, uint64_t now_us)
{
	const struct session_options *o = &session->options;
	const struct ring_batch *batch = &session->batch;

	session->hint_ms = ack->interval_hint_ms;
	if (ack->need_hello) {
		session->greeted = false;
		/* Twice without progress: do not spin with it. */
		if (session->strange) {
			session->not_before_us = now_us + SESSION_NO_ANSWER_US;
		}
		session->strange = true;
		return SESSION_HELLO_DUE;
	}
	session->strange = false;
	session->again = false;
	if (batch->count == 0) {
		return take_spool_ack(session, ack->stored, now_us);
	}
	if (ack->stored) {
		ring_stored(o->ring, o->consumer, batch->seqs, batch->count);
		return SESSION_STORED;
	}
	ring_received(o->ring, o->consumer, batch, now_us);
	return SESSION_RECEIVED;
}

static enum session_event take_spool_refusal(struct session *session,
	uint64_t now_us)
{
	session->spool_refusals++;
	if (session->spool_refusals < SESSION_REFUSALS_MAX) {
		session->spool_not_before_us =
			now_us + SESSION_BATCH_REFUSED_US;
		return SESSION_REFUSED;
	}
	session->spool_refusals = 0;
	spool_advance(session->options.spool, session->options.consumer);
	return SESSION_DROPPED;
}

static enum session_event take_refusal(struct session *session,
	const char *reason, uint64_t now_us, struct error *why)
{
	const struct session_options *o = &session->options;

	(void)error_set(why, -EACCES, "%s", reason);
	if (session->hello_sent) {
		session->not_before_us = now_us + SESSION_HELLO_REFUSED_US;
		return SESSION_REFUSED;
	}
	if (session->batch.count == 0) {
		return take_spool_refusal(session, now_us);
	}
	session->again = true;
	session->refusals++;
	if (session->refusals < SESSION_REFUSALS_MAX) {
		session->not_before_us = now_us + SESSION_BATCH_REFUSED_US;
		return SESSION_REFUSED;
	}
	if (session->batch.count > 1) {
		/* One of them may be what is wrong: the first half alone. */
		session->batch.count = (session->batch.count + 1) / 2;
		session->refusals = SESSION_REFUSALS_MAX - 1;
		return SESSION_REFUSED;
	}
	ring_forget(o->ring, o->consumer, session->batch.seqs, 1);
	session->again = false;
	return SESSION_DROPPED;
}

static enum session_event take_reply(struct session *session,
	const struct wire_reply *reply, uint64_t now_us, struct error *why)
{
	if (reply->kind == WIRE_REFUSED) {
		return take_refusal(session, reply->refused, now_us, why);
	}
	if (reply->kind == WIRE_WELCOME && session->hello_sent) {
		session->greeted = true;
		return SESSION_WELCOMED;
	}
	if (reply->kind == WIRE_ACK && !session->hello_sent) {
		return take_ack(session, &reply->ack, now_us);
	}
	session->not_before_us = now_us + SESSION_NO_ANSWER_US;
	(void)error_set(why, -EPROTO, "the answer does not fit the request");
	return SESSION_NO_ANSWER;
}

enum session_event session_answer(struct session *session, const uint8_t *bytes,
	size_t len, uint64_t now_us, struct error *why)
{
	struct wire_reply reply;
	enum session_event event;

	if (bytes == NULL) {
		session->not_before_us = now_us + SESSION_NO_ANSWER_US;
		(void)error_set(why, -ETIMEDOUT, "no answer in time");
		return SESSION_NO_ANSWER;
	}
	if (wire_unpack_reply(&reply, bytes, len, why) < 0) {
		session->not_before_us = now_us + SESSION_NO_ANSWER_US;
		return SESSION_NO_ANSWER;
	}
	event = take_reply(session, &reply, now_us, why);
	wire_reply_fini(&reply);
	return event;
}

uint64_t session_waits_until_us(const struct session *session)
{
	return session->not_before_us;
}

bool session_hurry(struct session *session)
{
	const struct session_options *o = &session->options;

	if (o->spool != NULL) {
		return ring_has_news(o->ring, o->consumer);
	}
	return ring_hurry(o->ring, o->consumer);
}

uint32_t session_interval_hint_ms(const struct session *session)
{
	return session->hint_ms;
}
