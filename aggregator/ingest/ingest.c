#include "aggregator/ingest/ingest.h"

#include "aggregator/ingest/batch_order.h"
#include "aggregator/ingest/ingest_reply.h"
#include "aggregator/ingest/move_query.h"
#include "aggregator/ingest/node_owner.h"
#include "aggregator/ingest/pod_filter.h"
#include "aggregator/ingest/questions.h"
#include "aggregator/ingest/rate_limit.h"
#include "aggregator/ingest/snapshot.h"
#include "aggregator/ingest/stored_late.h"
#include "aggregator/ingest/wire_auth.h"
#include "aggregator/query/profile_cache.h"
#include "aggregator/store/records.h"
#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

static const uint64_t log_interval_us = 10000000;

/* A batch that was handed to the store, by rising due_us. */
struct pending {
	TAILQ_ENTRY(pending) link;
	struct ingest *ingest;
	struct mq_request *request; /* NULL: answered already */
	uint64_t due_us;
	/* The rest is unused for records of schedulers. */
	char node[REPORT_NODE_MAX];
	uint8_t run_id[REPORT_RUN_ID_BYTES];
	size_t count;
	uint64_t seqs[];
};

TAILQ_HEAD(pending_list, pending);

struct ingest {
	struct live *live;
	struct store *store; /* NULL once stopped */
	struct wire_auth *auth;
	struct pod_filter *pod_filter;
	struct node_owners *owners;
	struct pending_list pending; /* not answered yet */
	struct stored_late *stored_late;
	struct rate_limit *rate_limit;
	struct snapshot_poll *snapshots;
	struct questions *questions;
	struct timer *ack_timer;
	struct log_topics log_limits;
	struct ingest_counts counts;
	struct profile_cache *profiles; /* or NULL */
};

/* ---- replies ---- */

static void refuse(struct ingest *ingest, struct mq_request *request,
	const struct error *why)
{
	uint64_t suppressed = 0;

	ingest->counts.refused++;
	ingest_reply_refused(request, why, 0);
	if (log_allow_topic(&ingest->log_limits, clock_monotonic_us(),
		    log_interval_us, why->text, &suppressed)) {
		log_warning("refused a message of a peer", log_err(why),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

/* ---- batches ---- */

static void pending_insert(struct pending_list *list, struct pending *pending)
{
	struct pending *before = TAILQ_LAST(list, pending_list);

	while (before != NULL && before->due_us > pending->due_us) {
		before = TAILQ_PREV(before, pending_list, link);
	}
	if (before == NULL) {
		TAILQ_INSERT_HEAD(list, pending, link);
	} else {
		TAILQ_INSERT_AFTER(list, before, pending, link);
	}
}

static void acknowledge(struct ingest *ingest, struct mq_request *request,
	struct ack ack)
{
	*(ack.stored ? &ingest->counts.batches_stored
		     : &ingest->counts.batches_received) += 1;
	ingest_reply_ack(request, &ack);
}

static struct ack not_stored(const struct ingest *ingest)
{
	return (struct ack){ .is_failing = ingest->store != NULL &&
			*store_last_error(ingest->store) != '\0' };
}

static struct mq_request *take_pending(struct pending *pending)
{
	TAILQ_REMOVE(&pending->ingest->pending, pending, link);
	return take_ptr(pending->request);
}

/* For the oldest pending batch, which is overdue if the process was stopped
 * since the batch came. */
static void start_ack_timer(struct ingest *ingest)
{
	uint64_t due_us = TAILQ_FIRST(&ingest->pending)->due_us;
	uint64_t now_us = clock_monotonic_us();

	timer_start(ingest->ack_timer,
		due_us > now_us ? (due_us - now_us) / 1000 + 1 : 0, 0);
}

static void on_ack_timer(void *owner)
{
	struct ingest *ingest = owner;
	uint64_t now_us = clock_monotonic_us();
	struct pending *oldest = TAILQ_FIRST(&ingest->pending);

	while (oldest != NULL && oldest->due_us <= now_us) {
		acknowledge(ingest, take_pending(oldest), not_stored(ingest));
		oldest = TAILQ_FIRST(&ingest->pending);
	}
	if (oldest != NULL) {
		start_ack_timer(ingest);
	}
}

/* A batch that is refused after its Ack is refused when it comes again. */
static void on_stored(void *owner, const struct error *err)
{
	struct pending *pending = owner;
	bool is_refused = err != NULL && err->code == -EDQUOT;

	if (pending->request != NULL && is_refused) {
		refuse(pending->ingest, take_pending(pending), err);
	} else if (pending->request != NULL) {
		acknowledge(pending->ingest, take_pending(pending),
			(struct ack){ .stored = err == NULL,
				.is_failing = err != NULL });
	} else if (err == NULL) {
		for (size_t i = 0; i < pending->count; i++) {
			stored_late_add(pending->ingest->stored_late,
				pending->node, pending->run_id,
				pending->seqs[i]);
		}
	}
	free(pending);
}

static struct pending *pending_new(struct ingest *ingest, uint64_t wait_us,
	size_t count)
{
	struct pending *pending =
		xcalloc(1, sizeof(*pending) + count * sizeof(uint64_t));

	pending->ingest = ingest;
	pending->due_us = clock_monotonic_us() + wait_us;
	return pending;
}

/* Takes request, rows and pending. */
static void store_rows(struct ingest *ingest, struct mq_request *request,
	struct store_batch *rows, struct pending *pending)
{
	pending->request = request;
	if (ingest->store == NULL ||
		store_write(ingest->store, rows, on_stored, pending, NULL) <
			0) {
		store_batch_free(rows);
		free(pending);
		acknowledge(ingest, request, not_stored(ingest));
		return;
	}
	pending_insert(&ingest->pending, pending);
	if (TAILQ_FIRST(&ingest->pending) == pending) {
		start_ack_timer(ingest);
	}
}

/* Adds the reports to the live table in order. */
static int add_to_live(struct ingest *ingest, const struct batch *batch,
	const struct batch_order_entry *order, uint64_t peer, struct error *err)
{
	uint64_t now_us = clock_monotonic_us();
	int r = 0;

	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		const struct report *report = &batch->reports[order[i].index];
		uint64_t age = batch_order_age_us(batch, report);
		struct live_sample sample = { batch->node, batch->run_id,
			report, (int64_t)now_us - (int64_t)age, peer };

		r = live_add(ingest->live, &sample, now_us, err);
	}
	live_set_certificate_expiry(ingest->live, batch->node,
		batch->certificate_expiry_s);
	return r;
}

/* Stores the reports that are not known to be stored. */
static void store_reports(struct ingest *ingest, struct mq_request *request,
	const struct batch *batch, const struct batch_order_entry *order)
{
	struct store_batch *rows = store_batch_new(batch->node, batch->run_id);
	struct pending *pending =
		pending_new(ingest, INGEST_ACK_US, batch->count);
	uint64_t wall_us = clock_wall_us();

	(void)snprintf(pending->node, sizeof(pending->node), "%s", batch->node);
	memcpy(pending->run_id, batch->run_id, sizeof(pending->run_id));
	for (size_t i = 0; i < batch->count; i++) {
		const struct report *report = &batch->reports[order[i].index];
		uint64_t age = batch_order_age_us(batch, report);

		if (stored_late_has(ingest->stored_late, batch->node,
			    batch->run_id, report->seq)) {
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
		acknowledge(ingest, request, (struct ack){ .stored = true });
		return;
	}
	store_rows(ingest, request, rows, pending);
}

/* False: the batch was above the limit, and answered. */
static bool is_within_limit(struct ingest *ingest, struct mq_request *request,
	const struct batch *batch, uint64_t peer)
{
	uint64_t now_us = clock_monotonic_us();
	uint64_t suppressed = 0;

	if (rate_limit_take(ingest->rate_limit, hash_text(peer, batch->node),
		    batch->count, batch_order_packed_bytes(batch), now_us)) {
		return true;
	}
	ingest->counts.limited++;
	acknowledge(ingest, request, (struct ack){ 0 });
	if (log_allow_topic(&ingest->log_limits, now_us, log_interval_us,
		    "limit", &suppressed)) {
		log_warning("node sends too many reports, it has to wait",
			log_str("node", batch->node),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
	return false;
}

static void on_batch(struct ingest *ingest, struct mq_request *request,
	struct batch *batch)
{
	scoped_free struct batch_order_entry *order = NULL;
	const struct hello *hello = wire_auth_agent(ingest->auth, request);
	struct error error;
	uint64_t peer;
	bool is_current;

	if (hello == NULL) {
		ingest_reply_ack(request, &(struct ack){ .need_hello = true });
		return;
	}
	if (strcmp(hello->node, batch->node) != 0) {
		(void)error_set(&error, -EPERM,
			"the connection belongs to node '%s', the batch to "
			"'%s'",
			hello->node, batch->node);
		refuse(ingest, request, &error);
		return;
	}
	is_current =
		memcmp(hello->run_id, batch->run_id, REPORT_RUN_ID_BYTES) == 0;
	if (!wire_auth_reports(ingest->auth, hello,
		    is_current && batch->count > 0
			    ? batch->reports[0].interval_ms
			    : 0)) {
		ingest_reply_ack(request, &(struct ack){ .need_hello = true });
		return;
	}
	peer = wire_auth_peer(ingest->auth, request);
	if (!is_within_limit(ingest, request, batch, peer)) {
		return;
	}
	ingest->counts.reports += batch->count;
	if (is_current && batch_order_check(batch, &error) < 0) {
		refuse(ingest, request, &error);
		return;
	}
	if (pod_filter_apply(ingest->pod_filter, batch, clock_monotonic_us(),
		    &error) < 0) {
		refuse(ingest, request, &error);
		return;
	}
	order = batch_order_by_seq(batch);
	/* Reports of an earlier process than the one that sent the Hello are
	 * only stored: the clock that gives their age may not be the one that
	 * stamped them. */
	if (is_current && add_to_live(ingest, batch, order, peer, &error) < 0) {
		refuse(ingest, request, &error);
		return;
	}
	store_reports(ingest, request, batch, order);
	snapshot_poll_serve(ingest->snapshots);
}

/* ---- records of schedulers ---- */

static void on_decisions(struct ingest *ingest, struct mq_request *request,
	const struct decision_batch *batch)
{
	struct store_batch *rows = store_decisions_new();

	for (size_t i = 0; i < batch->count; i++) {
		store_decisions_add(rows, &batch->records[i]);
	}
	store_rows(ingest, request, rows,
		pending_new(ingest, INGEST_RECORDS_US, 0));
}

static void on_moves(struct ingest *ingest, struct mq_request *request,
	const struct move_batch *batch)
{
	struct store_batch *rows = store_moves_new();

	for (size_t i = 0; i < batch->count; i++) {
		store_moves_add(rows, &batch->records[i]);
	}
	store_rows(ingest, request, rows,
		pending_new(ingest, INGEST_RECORDS_US, 0));
}

/* ---- profiles ---- */

static void on_profile(void *owner, const struct profile_answer *answer,
	const struct error *err)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);

	(void)err; /* the profile is unknown then */
	wire_pack_profile(&out, &answer->profile);
	ingest_reply_bytes(owner, &out);
}

static void on_profile_request(struct ingest *ingest,
	struct mq_request *request, const struct profile_request *vm)
{
	struct error error;

	if (ingest->profiles == NULL) {
		(void)error_set(&error, -ENOTSUP,
			"VM profiles are not available");
		refuse(ingest, request, &error);
	} else {
		profile_cache_ask(ingest->profiles, vm, on_profile, request);
	}
}

/* ---- all ---- */

static void on_scheduler_request(struct ingest *ingest,
	struct mq_request *request, const struct wire_request *message)
{
	if (!wire_auth_allows_scheduler(ingest->auth, request)) {
		ingest_reply_ack(request, &(struct ack){ .need_hello = true });
	} else if (message->kind == WIRE_SNAPSHOT_REQUEST) {
		snapshot_poll_ask(ingest->snapshots, request,
			&message->snapshot,
			wire_auth_peer(ingest->auth, request));
	} else if (message->kind == WIRE_DECISIONS) {
		on_decisions(ingest, request, &message->decisions);
	} else if (message->kind == WIRE_MOVES) {
		on_moves(ingest, request, &message->moves);
	} else if (message->kind == WIRE_MOVES_REQUEST) {
		move_query_ask(ingest->store, request, &message->moves_request);
	} else if (message->kind == WIRE_PROFILE_REQUEST) {
		on_profile_request(ingest, request, &message->profile);
	} else {
		questions_serve(ingest->questions, request, message);
	}
}

void ingest_serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct ingest *ingest = owner;
	struct wire_request message;
	struct error error;

	if (wire_unpack_request(&message, bytes, len, &error) < 0) {
		refuse(ingest, request, &error);
		return;
	}
	switch (message.kind) {
	case WIRE_HELLO:
		wire_auth_hello(ingest->auth, request, &message.hello);
		break;
	case WIRE_BATCH:
		on_batch(ingest, request, &message.batch);
		break;
	case WIRE_SNAPSHOT_REQUEST:
	case WIRE_DECISIONS:
	case WIRE_PROFILE_REQUEST:
	case WIRE_MOVES:
	case WIRE_MOVES_REQUEST:
	case WIRE_QUESTION_REQUEST:
	case WIRE_ANSWER:
		on_scheduler_request(ingest, request, &message);
		break;
	}
	wire_request_fini(&message);
}

struct ingest *ingest_new(uv_loop_t *loop, struct live *live,
	struct store *store, struct access_review *review,
	struct profile_cache *profiles, const struct identities *identities)
{
	struct ingest *ingest = xcalloc(1, sizeof(*ingest));

	ingest->live = live;
	ingest->store = store;
	ingest->profiles = profiles;
	TAILQ_INIT(&ingest->pending);
	ingest->owners = node_owners_new();
	ingest->auth = wire_auth_new(review, ingest->owners);
	ingest->pod_filter = pod_filter_new(live, identities);
	ingest->stored_late = stored_late_new();
	ingest->rate_limit = rate_limit_new();
	ingest->ack_timer = timer_new(loop, on_ack_timer, ingest);
	ingest->snapshots = snapshot_poll_new(loop, live);
	ingest->questions = questions_new(loop);
	return ingest;
}

void ingest_restore_pods(struct ingest *ingest, const char *node,
	const struct report *report, uint64_t age_us)
{
	pod_filter_restore(ingest->pod_filter, node, report, age_us,
		clock_monotonic_us());
}

struct ingest_counts ingest_counts(const struct ingest *ingest)
{
	struct ingest_counts counts = ingest->counts;

	counts.snapshots = snapshot_poll_count(ingest->snapshots);
	counts.wrong_claims = pod_filter_wrong_claims(ingest->pod_filter);
	return counts;
}

const struct node_owners *ingest_owners(const struct ingest *ingest)
{
	return ingest->owners;
}

struct questions *ingest_questions(const struct ingest *ingest)
{
	return ingest->questions;
}

void ingest_stop(struct ingest *ingest)
{
	ingest->store = NULL;
}

void ingest_close(struct ingest *ingest)
{
	if (ingest != NULL) {
		timer_close(ingest->ack_timer);
		snapshot_poll_free(ingest->snapshots);
		questions_free(ingest->questions);
		wire_auth_free(ingest->auth);
		pod_filter_free(ingest->pod_filter);
		node_owners_free(ingest->owners);
		stored_late_free(ingest->stored_late);
		rate_limit_free(ingest->rate_limit);
		free(ingest);
	}
}
