#include "aggregator/ingest/ingest.h"

#include "aggregator/ingest/wire_auth.h"
#include "aggregator/ingest/batch_order.h"
#include "aggregator/ingest/stored_late.h"
#include "aggregator/ingest/long_poll.h"
#include "aggregator/query/profile_cache.h"
#include "aggregator/ingest/snapshot.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "lib/mq.h"
#include "proto/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t complain_us = 10000000;

/* A batch that was handed to the store, by rising due_us. */
struct pending {
	struct pending *older, *newer;
	struct intake *intake;
	struct mq_request *request; /* NULL: answered already */
	uint64_t due_us;
	/* Of reports. */
	char node[REPORT_NODE_MAX];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	size_t count;
	uint64_t seqs[];
};

struct intake {
	struct live *live;
	struct store *store; /* NULL once stopped */
	struct admission *admission;
	struct pending *oldest, *newest; /* that are not answered yet */
	struct late *late;
	struct parking parking;
	struct timer *ack_timer, *snapshot_timer;
	struct log_topics refusals;
	struct metrics_counts counts;
	struct profiles *profiles; /* or NULL */
};

/* ---- replies ---- */

static void reply_buffer(struct mq_request *request, struct buffer *out)
{
	mq_reply(request, (const uint8_t *)out->data, out->len);
}

static void reply_ack(struct mq_request *request, const struct ack *ack)
{
	scoped_buffer struct buffer out = BUFFER_MAX(256);

	wire_pack_ack(&out, ack);
	reply_buffer(request, &out);
}

static void refuse(struct intake *intake, struct mq_request *request,
	const struct error *why)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);
	uint64_t suppressed = 0;

	intake->counts.refused++;
	wire_pack_refused(&out, why->text);
	reply_buffer(request, &out);
	if (log_allow_topic(&intake->refusals, clock_monotonic_us(),
		    complain_us, why->text, &suppressed)) {
		log_warning("refused a message", log_err(why),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

/* ---- snapshots ---- */

static struct snapshot_request present(const struct intake *intake)
{
	return (struct snapshot_request){ live_epoch(intake->live),
		live_revision(intake->live) };
}

static void reply_snapshot(struct intake *intake, const struct waiter *waiter)
{
	scoped_buffer struct buffer out = BUFFER_MAX(MQ_RECV_MAX);

	snapshot_write(&out, intake->live, &waiter->asked,
		clock_monotonic_us());
	if (out.overflowed) {
		/* The estimate keeps an answer at half of this. */
		abort();
	}
	reply_buffer(waiter->request, &out);
}

/* Answers what is due and sets the timer for what will be. */
static void serve_parked(struct intake *intake)
{
	struct snapshot_request now = present(intake);
	uint64_t now_us = clock_monotonic_us();
	struct waiter waiter;
	uint64_t wait_us;

	while (parking_take_due(&waiter, &intake->parking, &now, now_us)) {
		intake->counts.snapshots++;
		reply_snapshot(intake, &waiter);
	}
	wait_us = parking_wait_us(&intake->parking, &now, now_us);
	if (wait_us == UINT64_MAX) {
		timer_stop(intake->snapshot_timer);
	} else {
		timer_start(intake->snapshot_timer, wait_us / 1000 + 1, 0);
	}
}

static void on_snapshot_timer(void *owner)
{
	serve_parked(owner);
}

static void on_snapshot_request(struct intake *intake,
	struct mq_request *request, const struct snapshot_request *asked)
{
	struct error error;

	if (!admission_may_ask(intake->admission, request)) {
		reply_ack(request, &(struct ack){ .need_hello = true });
		return;
	}
	if (!parking_add(&intake->parking, request, asked,
		    clock_monotonic_us())) {
		(void)error_set(&error, -EBUSY,
			"%d snapshot requests are waiting already",
			PARKING_MAX);
		refuse(intake, request, &error);
		return;
	}
	serve_parked(intake);
}

/* ---- batches ---- */

static void pending_remove(struct intake *intake, struct pending *pending)
{
	*(pending->older == NULL ? &intake->oldest : &pending->older->newer) =
		pending->newer;
	*(pending->newer == NULL ? &intake->newest : &pending->newer->older) =
		pending->older;
}

static void pending_insert(struct intake *intake, struct pending *pending)
{
	struct pending *older = intake->newest;

	while (older != NULL && older->due_us > pending->due_us) {
		older = older->older;
	}
	pending->older = older;
	pending->newer = older == NULL ? intake->oldest : older->newer;
	*(older == NULL ? &intake->oldest : &older->newer) = pending;
	*(pending->newer == NULL ? &intake->newest : &pending->newer->older) =
		pending;
}

static void acknowledge(struct intake *intake, struct mq_request *request,
	bool is_stored)
{
	*(is_stored ? &intake->counts.batches_stored
		    : &intake->counts.batches_received) += 1;
	reply_ack(request, &(struct ack){ .stored = is_stored });
}

static void answer_pending(struct intake *intake, struct pending *pending,
	bool is_stored)
{
	pending_remove(intake, pending);
	acknowledge(intake, take_ptr(pending->request), is_stored);
}

static void on_ack_timer(void *owner)
{
	struct intake *intake = owner;
	uint64_t now_us = clock_monotonic_us();

	while (intake->oldest != NULL && intake->oldest->due_us <= now_us) {
		answer_pending(intake, intake->oldest, false);
	}
	if (intake->oldest != NULL) {
		timer_start(intake->ack_timer,
			(intake->oldest->due_us - now_us) / 1000 + 1, 0);
	}
}

static void on_written(void *owner, bool is_stored)
{
	struct pending *pending = owner;

	if (pending->request != NULL) {
		answer_pending(pending->intake, pending, is_stored);
	} else if (is_stored) {
		for (size_t i = 0; i < pending->count; i++) {
			late_note(pending->intake->late, pending->node,
				pending->run_id, pending->seqs[i]);
		}
	}
	free(pending);
}

static struct pending *pending_new(struct intake *intake, uint64_t wait_us,
	size_t count)
{
	struct pending *pending =
		xcalloc(1, sizeof(*pending) + count * sizeof(uint64_t));

	pending->intake = intake;
	pending->due_us = clock_monotonic_us() + wait_us;
	return pending;
}

/* Takes all but the intake. */
static void store_and_answer(struct intake *intake, struct mq_request *request,
	struct store_batch *rows, struct pending *pending)
{
	uint64_t now_us = clock_monotonic_us();

	pending->request = request;
	if (intake->store == NULL ||
		store_write(intake->store, rows, on_written, pending, NULL) <
			0) {
		store_batch_free(rows);
		free(pending);
		acknowledge(intake, request, false);
		return;
	}
	pending_insert(intake, pending);
	if (intake->oldest == pending) {
		timer_start(intake->ack_timer,
			(pending->due_us - now_us) / 1000, 0);
	}
}

/* Into the live table, in order. is_present: the reports are of the process
 * that said Hello. Those that an earlier one left behind are for the store
 * alone: the clock that gives their age need not be theirs. */
static int take_reports(struct intake *intake, const struct batch *batch,
	const struct arrival_place *order, bool is_present, struct error *err)
{
	uint64_t now_us = clock_monotonic_us();
	int r = 0;

	for (size_t i = 0; is_present && r == 0 && i < batch->count; i++) {
		const struct report *report = &batch->reports[order[i].index];
		uint64_t age = arrival_age_us(batch, report);
		struct live_sample sample = { batch->node, batch->run_id,
			report, (int64_t)now_us - (int64_t)age };

		r = live_take(intake->live, &sample, now_us, err);
	}
	return r;
}

/* Stores what is not known to be stored. */
static void keep_reports(struct intake *intake, struct mq_request *request,
	const struct batch *batch, const struct arrival_place *order)
{
	struct store_batch *rows = store_batch_new(batch->node, batch->run_id);
	struct pending *pending =
		pending_new(intake, INTAKE_ACK_US, batch->count);
	uint64_t wall_us = clock_wall_us();

	(void)snprintf(pending->node, sizeof(pending->node), "%s", batch->node);
	memcpy(pending->run_id, batch->run_id, sizeof(pending->run_id));
	for (size_t i = 0; i < batch->count; i++) {
		const struct report *report = &batch->reports[order[i].index];
		uint64_t age = arrival_age_us(batch, report);

		if (late_has(intake->late, batch->node, batch->run_id,
			    report->seq)) {
			continue;
		}
		store_batch_add(rows, report->seq,
			(wall_us > age ? wall_us - age : 0) / 1000,
			&batch->packed[order[i].index]);
		pending->seqs[pending->count++] = report->seq;
	}
	if (pending->count == 0 && batch->count > 0) {
		store_batch_free(rows);
		free(pending);
		acknowledge(intake, request, true);
		return;
	}
	store_and_answer(intake, request, rows, pending);
}

static void on_batch(struct intake *intake, struct mq_request *request,
	const struct batch *batch)
{
	scoped_free struct arrival_place *order = NULL;
	const struct hello *hello =
		admission_sender(intake->admission, request);
	struct error error;
	bool is_present;

	if (hello == NULL) {
		reply_ack(request, &(struct ack){ .need_hello = true });
		return;
	}
	if (strcmp(hello->node, batch->node) != 0) {
		(void)error_set(&error, -EPERM,
			"the connection speaks for node '%s', the batch for "
			"'%s'",
			hello->node, batch->node);
		refuse(intake, request, &error);
		return;
	}
	intake->counts.reports += batch->count;
	is_present =
		memcmp(hello->run_id, batch->run_id, REPORT_RUN_ID_BYTES) == 0;
	if (is_present && arrival_check(batch, &error) < 0) {
		refuse(intake, request, &error);
		return;
	}
	order = arrival_order(batch);
	if (take_reports(intake, batch, order, is_present, &error) < 0) {
		refuse(intake, request, &error);
		return;
	}
	keep_reports(intake, request, batch, order);
	serve_parked(intake);
}

/* ---- decisions ---- */

/* Records are for the store alone. */
static void on_decisions(struct intake *intake, struct mq_request *request,
	const struct decision_batch *batch)
{
	struct store_batch *rows;

	if (!admission_may_ask(intake->admission, request)) {
		reply_ack(request, &(struct ack){ .need_hello = true });
		return;
	}
	rows = store_decisions_new();
	for (size_t i = 0; i < batch->count; i++) {
		store_decisions_add(rows, &batch->records[i]);
	}
	store_and_answer(intake, request, rows,
		pending_new(intake, INTAKE_DECISIONS_US, 0));
}

/* ---- profiles ---- */

static void on_profile(void *owner, const struct vm_past *past,
	const struct error *err)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct vm_past unknown;

	vm_past_init(&unknown);
	wire_pack_profile(&out, err == NULL ? past : &unknown);
	reply_buffer(owner, &out);
}

static void on_profile_request(struct intake *intake,
	struct mq_request *request, const struct profile_request *asked)
{
	struct error error;

	if (!admission_may_ask(intake->admission, request)) {
		reply_ack(request, &(struct ack){ .need_hello = true });
	} else if (intake->profiles == NULL) {
		(void)error_set(&error, -ENOTSUP, "no profiles are kept");
		refuse(intake, request, &error);
	} else {
		profiles_ask(intake->profiles, asked, on_profile, request);
	}
}

void intake_set_profiles(struct intake *intake, struct profiles *profiles)
{
	intake->profiles = profiles;
}

/* ---- all ---- */

void intake_serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct intake *intake = owner;
	struct wire_request message;
	struct error error;

	if (len > MQ_SEND_MAX) {
		(void)error_set(&error, -EMSGSIZE,
			"a message has %zu bytes, more than the %d that are "
			"taken",
			len, MQ_SEND_MAX);
		refuse(intake, request, &error);
		return;
	}
	if (wire_unpack_request(&message, bytes, len, &error) < 0) {
		refuse(intake, request, &error);
		return;
	}
	switch (message.kind) {
	case WIRE_HELLO:
		admission_greet(intake->admission, request, &message.hello);
		break;
	case WIRE_BATCH:
		on_batch(intake, request, &message.batch);
		break;
	case WIRE_SNAPSHOT_REQUEST:
		on_snapshot_request(intake, request, &message.snapshot);
		break;
	case WIRE_DECISIONS:
		on_decisions(intake, request, &message.decisions);
		break;
	case WIRE_PROFILE_REQUEST:
		on_profile_request(intake, request, &message.profile);
		break;
	}
	wire_request_fini(&message);
}

struct intake *intake_new(uv_loop_t *loop, struct live *live,
	struct store *store, struct review *review)
{
	struct intake *intake = xcalloc(1, sizeof(*intake));

	intake->live = live;
	intake->store = store;
	intake->admission = admission_new(review);
	intake->late = late_new();
	intake->ack_timer = timer_new(loop, on_ack_timer, intake);
	intake->snapshot_timer = timer_new(loop, on_snapshot_timer, intake);
	return intake;
}

struct metrics_counts intake_counts(const struct intake *intake)
{
	return intake->counts;
}

void intake_stop(struct intake *intake)
{
	intake->store = NULL;
}

void intake_close(struct intake *intake)
{
	if (intake != NULL) {
		timer_close(intake->ack_timer);
		timer_close(intake->snapshot_timer);
		admission_free(intake->admission);
		late_free(intake->late);
		free(intake);
	}
}
