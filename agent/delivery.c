#include "agent/delivery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/memory.h"
#include "proto/wire_session.h"

struct delivery {
	struct delivery_options options;
	struct wire_session session;
	bool is_retry;	    /* send batch again unchanged */
	bool ring_was_last; /* so it is the spool's turn */
	unsigned refusals, spool_refusals;
	uint64_t not_before_us, spool_not_before_us;
	uint64_t sent_us;  /* the pending request */
	size_t batch_most; /* bytes of the next batch */
	uint32_t hint_ms;
	struct ring_batch batch;    /* current, or refused */
	struct spool_batch spooled; /* the same if batch.count is 0 */
};

struct delivery *delivery_new(const struct delivery_options *options)
{
	struct delivery *delivery = xcalloc(1, sizeof(*delivery));

	delivery->options = *options;
	delivery->session.needs_hello = true;
	delivery->batch_most = DELIVERY_BATCH_LEAST;
	return delivery;
}

void delivery_free(struct delivery *delivery)
{
	free(delivery);
}

static void pack_hello(const struct delivery *delivery, struct buffer *out,
	char *token)
{
	struct hello hello = { .role = HELLO_AGENT };

	(void)snprintf(hello.node, sizeof(hello.node), "%s",
		delivery->options.node);
	(void)snprintf(hello.version, sizeof(hello.version), "%s",
		delivery->options.version);
	memcpy(hello.run_id, delivery->options.run_id, sizeof(hello.run_id));
	hello.token = token;
	wire_pack_hello(out, &hello);
}

bool delivery_hello_is_due(const struct delivery *delivery, uint64_t now_us)
{
	return delivery->session.needs_hello &&
		now_us >= delivery->not_before_us;
}

void delivery_postpone_hello(struct delivery *delivery, uint64_t now_us)
{
	delivery->not_before_us = now_us + DELIVERY_HELLO_REFUSED_US;
}

/* The monotonic clock of an earlier boot cannot be compared with this boot's.
 * The age of such reports is the difference in wall time, taken from the newest
 * of them. */
static uint64_t spooled_sent_us(const struct delivery *delivery,
	uint64_t now_us)
{
	const struct spool_batch *batch = &delivery->spooled;
	const struct packed_report *newest = &batch->reports[batch->count - 1];
	uint64_t wall_us = clock_wall_us();
	uint64_t sent = now_us;
	struct report report;

	if (wire_unpack_report(&report, newest->bytes, newest->len, NULL) < 0) {
		return now_us; /* the aggregator will refuse the batch */
	}
	if (report.monotonic_us > now_us ||
		strcmp(report.boot_id, delivery->options.boot_id) != 0) {
		sent = report.monotonic_us;
		sent += report.wall_us < wall_us ? wall_us - report.wall_us : 0;
	}
	report_fini(&report);
	return sent;
}

static bool next_spooled(struct delivery *delivery, struct batch_out *out,
	uint64_t now_us)
{
	const struct delivery_options *o = &delivery->options;
	struct spool_batch *batch = &delivery->spooled;

	batch->count = 0;
	if (o->spool != NULL && now_us >= delivery->spool_not_before_us) {
		spool_pick(batch, o->spool, o->consumer, delivery->batch_most);
	}
	if (batch->count == 0) {
		return false;
	}
	delivery->batch.count = 0;
	out->run_id = batch->run_id;
	out->sent_monotonic_us = spooled_sent_us(delivery, now_us);
	out->reports = batch->reports;
	out->count = batch->count;
	return true;
}

static bool next_of_ring(struct delivery *delivery, struct batch_out *out,
	uint64_t now_us)
{
	const struct delivery_options *o = &delivery->options;
	struct ring_batch *batch = &delivery->batch;

	if (delivery->is_retry) {
		ring_pick_same(batch, o->ring, o->consumer);
	}
	if (!delivery->is_retry || batch->count == 0) {
		delivery->is_retry = false;
		delivery->refusals = 0;
		ring_pick(batch, o->ring, o->consumer, delivery->batch_most,
			now_us);
	}
	out->run_id = o->run_id;
	out->sent_monotonic_us = now_us;
	out->reports = batch->reports;
	out->count = batch->count;
	return out->count > 0;
}

bool delivery_next(struct delivery *delivery, struct buffer *out, char *token,
	uint64_t now_us)
{
	struct batch_out batch = {
		.node = delivery->options.node,
		.certificate_expiry_s =
			(uint64_t)tls_watch_expiry_s(delivery->options.tls),
	};

	if (now_us < delivery->not_before_us) {
		return false;
	}
	delivery->not_before_us = 0;
	delivery->sent_us = now_us;
	if (wire_session_begin(&delivery->session)) {
		pack_hello(delivery, out, token);
		return true;
	}
	/* If replies take longer than an interval, the ring always has a
	 * report to send. A refused batch of the ring is retried first. */
	if (delivery->ring_was_last && !delivery->is_retry &&
		next_spooled(delivery, &batch, now_us)) {
		delivery->ring_was_last = false;
	} else {
		delivery->ring_was_last =
			next_of_ring(delivery, &batch, now_us);
		if (!delivery->ring_was_last &&
			!next_spooled(delivery, &batch, now_us)) {
			return false;
		}
	}
	wire_pack_batch(out, &batch);
	return true;
}

static enum delivery_event kept(const struct ack *ack)
{
	return ack->is_failing ? DELIVERY_UNSTORED : DELIVERY_RECEIVED;
}

static enum delivery_event handle_spool_ack(struct delivery *delivery,
	const struct ack *ack, uint64_t now_us)
{
	if (!ack->stored) {
		delivery->spool_not_before_us =
			now_us + DELIVERY_SPOOL_RETRY_US;
		return kept(ack);
	}
	delivery->spool_refusals = 0;
	spool_advance(delivery->options.spool, delivery->options.consumer);
	return DELIVERY_STORED;
}

static enum delivery_event handle_ack(struct delivery *delivery,
	const struct ack *ack, uint64_t now_us)
{
	const struct delivery_options *o = &delivery->options;
	const struct ring_batch *batch = &delivery->batch;

	delivery->hint_ms = ack->interval_hint_ms;
	delivery->is_retry = false;
	if (batch->count == 0) {
		return handle_spool_ack(delivery, ack, now_us);
	}
	if (ack->stored) {
		ring_stored(o->ring, o->consumer, batch->seqs, batch->count);
		return DELIVERY_STORED;
	}
	ring_received(o->ring, o->consumer, batch, now_us);
	return kept(ack);
}

static enum delivery_event handle_spool_refusal(struct delivery *delivery,
	uint64_t now_us)
{
	delivery->spool_refusals++;
	if (delivery->spool_refusals < DELIVERY_REFUSALS_MAX) {
		delivery->spool_not_before_us =
			now_us + DELIVERY_BATCH_REFUSED_US;
		return DELIVERY_REFUSED;
	}
	delivery->spool_refusals = 0;
	spool_drop(delivery->options.spool, delivery->options.consumer);
	return DELIVERY_DROPPED;
}

static enum delivery_event handle_hello_refusal(struct delivery *delivery,
	uint32_t retry_ms, uint64_t now_us)
{
	uint64_t wait_us = retry_ms * UINT64_C(1000);

	if (retry_ms == 0 || wait_us > DELIVERY_HELLO_REFUSED_US) {
		wait_us = DELIVERY_HELLO_REFUSED_US;
	} else if (wait_us < DELIVERY_WAIT_MIN_US) {
		wait_us = DELIVERY_WAIT_MIN_US;
	}
	delivery->not_before_us = now_us + wait_us;
	return retry_ms == 0 ? DELIVERY_REFUSED : DELIVERY_WAITING;
}

static enum delivery_event handle_refusal(struct delivery *delivery,
	const struct wire_reply *reply, uint64_t now_us, struct error *why)
{
	const struct delivery_options *o = &delivery->options;

	(void)error_set(why, -EACCES, "%s", reply->refused);
	if (delivery->session.sent_hello) {
		return handle_hello_refusal(delivery, reply->retry_ms, now_us);
	}
	if (delivery->batch.count == 0) {
		return handle_spool_refusal(delivery, now_us);
	}
	delivery->is_retry = true;
	delivery->refusals++;
	if (delivery->refusals < DELIVERY_REFUSALS_MAX) {
		delivery->not_before_us = now_us + DELIVERY_BATCH_REFUSED_US;
		return DELIVERY_REFUSED;
	}
	if (delivery->batch.count > 1) {
		/* One report may be bad: try the first half. */
		delivery->batch.count = (delivery->batch.count + 1) / 2;
		delivery->refusals = DELIVERY_REFUSALS_MAX - 1;
		return DELIVERY_REFUSED;
	}
	ring_drop(o->ring, o->consumer, delivery->batch.seqs, 1);
	delivery->is_retry = false;
	return DELIVERY_DROPPED;
}

static enum delivery_event handle_reply(struct delivery *delivery,
	const struct wire_reply *reply, uint64_t now_us, struct error *why)
{
	enum wire_session_event event =
		wire_session_take(&delivery->session, reply);

	switch (event) {
	case WIRE_SESSION_REFUSED:
		return handle_refusal(delivery, reply, now_us, why);
	case WIRE_SESSION_WELCOMED:
		return DELIVERY_WELCOMED;
	case WIRE_SESSION_HELLO_DUE:
	case WIRE_SESSION_HELLO_LOOP:
		delivery->hint_ms = reply->ack.interval_hint_ms;
		if (event == WIRE_SESSION_HELLO_LOOP) {
			delivery->not_before_us = now_us + DELIVERY_NO_REPLY_US;
		}
		return DELIVERY_HELLO_DUE;
	case WIRE_SESSION_REPLY:
		if (reply->kind == WIRE_ACK) {
			return handle_ack(delivery, &reply->ack, now_us);
		}
		break;
	case WIRE_SESSION_UNEXPECTED:
		break;
	}
	delivery->not_before_us = now_us + DELIVERY_NO_REPLY_US;
	(void)error_set(why, -EPROTO, "the reply does not match the request");
	return DELIVERY_NO_REPLY;
}

static void note_speed(struct delivery *delivery, bool is_answered,
	uint64_t now_us)
{
	if (!is_answered || now_us - delivery->sent_us > DELIVERY_SLOW_US) {
		delivery->batch_most = DELIVERY_BATCH_LEAST;
	} else if (delivery->batch_most < RING_BATCH_BYTES) {
		delivery->batch_most *= 2;
	}
}

enum delivery_event delivery_reply(struct delivery *delivery,
	const uint8_t *bytes, size_t len, uint64_t now_us, struct error *why)
{
	struct wire_reply reply;
	enum delivery_event event;

	note_speed(delivery, bytes != NULL, now_us);
	if (bytes == NULL) {
		delivery->not_before_us = now_us + DELIVERY_NO_REPLY_US;
		(void)error_set(why, -ETIMEDOUT, "no reply in time");
		return DELIVERY_NO_REPLY;
	}
	if (wire_unpack_reply(&reply, bytes, len, why) < 0) {
		delivery->not_before_us = now_us + DELIVERY_NO_REPLY_US;
		return DELIVERY_NO_REPLY;
	}
	event = handle_reply(delivery, &reply, now_us, why);
	wire_reply_fini(&reply);
	return event;
}

uint64_t delivery_waits_until_us(const struct delivery *delivery)
{
	return delivery->not_before_us;
}

bool delivery_flush(struct delivery *delivery)
{
	const struct delivery_options *o = &delivery->options;

	if (o->spool != NULL) {
		return ring_has_unsent(o->ring, o->consumer);
	}
	return ring_flush(o->ring, o->consumer);
}

uint32_t delivery_interval_hint_ms(const struct delivery *delivery)
{
	return delivery->hint_ms;
}
