#include "scheduler/schedule.h"

#include "kube/client.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/loads/aggregators.h"
#include "scheduler/bind/binder.h"
#include "scheduler/cache/cache.h"
#include "scheduler/score/decide.h"
#include "scheduler/cache/informers.h"
#include "scheduler/leader.h"
#include "scheduler/metrics.h"
#include "scheduler/notice.h"
#include "scheduler/cache/outage.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/bind/prebind.h"
#include "scheduler/cache/queue.h"
#include "scheduler/score/decision_record.h"
#include "scheduler/bind/events.h"

#include <stdlib.h>
#include <string.h>

enum {
	DECISIONS_PER_TURN = 16, /* then the loop may do other things */
	BINDINGS_MAX = 64,	 /* under way at once; each holds some 20 KiB */
	MESSAGE_MAX = 8192,
	PREBINDS_MAX = 1024, /* pods that wait for their volumes */
	DRAIN_MS = 3000,
};
#define LOAD_WAIT_US INT64_C(5000000)  /* for the first snapshot */
#define LOAD_WAKE_US INT64_C(10000000) /* new load may let a pod fit */

struct placer {
	uv_loop_t *loop;
	const struct scheduler_config *config;
	struct cache cache;
	struct queue queue;
	struct decision decision;
	struct feed *feed;
	struct aggregators aggregators;
	struct decision_record record; /* of the decision being made */
	struct binder *binder;
	struct prebind *prebind;
	struct volume_plan plan; /* of the pod that is being placed */
	struct reporter *reporter;
	struct leader *leader;
	struct timer *turn, *look, *drain;
	struct metrics metrics;
	int64_t synced_us; /* when both watches were complete; 0: not yet */
	int64_t load_wake_us;
	bool is_draining;
	void (*drained)(void *owner);
	void *drained_owner;
};

static int64_t now_us(void)
{
	return (int64_t)clock_monotonic_us();
}

static bool may_decide(const struct placer *placer, int64_t now)
{
	return !placer->is_draining && placer->synced_us != 0 &&
		leader_leads(placer->leader, (uint64_t)now) &&
		(loads_complete(placer->aggregators.loads) ||
			now - placer->synced_us > LOAD_WAIT_US);
}

/* ---- one decision ---- */

static void keep_record(struct placer *placer, const char *sentence)
{
	record_from(&placer->record, &placer->decision, sentence,
		clock_wall_us());
	records_add(placer->aggregators.records, &placer->record);
}

static void tell_unschedulable(struct placer *placer, struct waiting *waiting,
	int64_t now)
{
	scoped_buffer struct buffer message = BUFFER_MAX(MESSAGE_MAX);

	decision_message(&message, &placer->decision);
	if (waiting->message == NULL ||
		strcmp(waiting->message, message.data) != 0) {
		keep_record(placer, message.data);
	}
	metrics_unschedulable(&placer->metrics, waiting, now_us());
	queue_failed(&placer->queue, waiting, true, now);
	if (!notice_unschedulable(placer->reporter, waiting, message.data,
		    now)) {
		/* For its owner's sake it does not wait for a change. */
		queue_set(&placer->queue, waiting, WAITING_READY);
	}
}

static void assume_and_bind(struct placer *placer, struct waiting *waiting,
	const struct node *node, int64_t now)
{
	scoped_buffer struct buffer why = BUFFER_MAX(MESSAGE_MAX);

	buffer_text(&why, "");
	decision_sentence(&why, &placer->decision);
	keep_record(placer, why.data);
	decision_plan(&placer->decision, &placer->plan);
	if (placer->plan.count > 0) {
		prebind_start(placer->prebind, waiting->pod, node->name,
			why.data, &placer->plan, now);
	} else {
		binder_bind(placer->binder, waiting->pod, node->name, why.data);
	}
	queue_set(&placer->queue, waiting, WAITING_BINDING);
	places_settle(&placer->cache, waiting->pod);
	cache_assume(&placer->cache, take_ptr(waiting->pod), node->name, now);
}

static void place(struct placer *placer, struct waiting *waiting, int64_t now)
{
	const struct node *chosen;

	if (!pasts_may_place(placer->aggregators.pasts, waiting, now)) {
		return; /* others first */
	}
	metrics_begin(&placer->metrics, waiting, now_us());
	places_lift(&placer->cache, waiting->pod);
	decide(&placer->decision, waiting->pod, &placer->cache.cluster,
		&(struct filter_options)FILTER_DEFAULTS, now);
	metrics_decided(&placer->metrics, waiting, &placer->decision, now_us());
	chosen = decision_chosen(&placer->decision);
	if (chosen == NULL) {
		places_return(&placer->cache, waiting->pod);
		tell_unschedulable(placer, waiting, now);
	} else {
		assume_and_bind(placer, waiting, chosen, now);
	}
}

/* More may be under way. With all taken the end of one kicks. */
static bool has_room(const struct placer *placer)
{
	return binder_pending(placer->binder) < BINDINGS_MAX &&
		prebind_pending(placer->prebind) < PREBINDS_MAX;
}

static void set_turn(struct placer *placer)
{
	int64_t now = now_us();
	int64_t wake = queue_wake_us(&placer->queue);

	if (wake == INT64_MAX || placer->synced_us == 0 ||
		!leader_leads(placer->leader, (uint64_t)now)) {
		return;
	}
	if (!may_decide(placer, now)) {
		wake = placer->synced_us + LOAD_WAIT_US + 1000;
	}
	timer_start(placer->turn,
		wake <= now ? 0 : (uint64_t)(wake - now) / 1000 + 1, 0);
}

static void take_turn(void *owner)
{
	struct placer *placer = owner;
	int64_t now = now_us();
	struct waiting *next[DECISIONS_PER_TURN];
	size_t count = 0;

	if (may_decide(placer, now)) {
		count = queue_next(&placer->queue, next, DECISIONS_PER_TURN,
			now);
	}
	/* None of these leaves the queue before the loop runs again. */
	for (size_t i = 0;
		i < count && may_decide(placer, now_us()) && has_room(placer);
		i++) {
		place(placer, next[i], now_us());
	}
	if (!placer->is_draining && has_room(placer)) {
		set_turn(placer);
	}
}

/* Something changed; at the next turn of the loop, so that many changes at
 * once make one turn. */
static void kick(void *owner)
{
	struct placer *placer = owner;

	if (!placer->is_draining) {
		timer_start(placer->turn, 0, 0);
	}
}

/* ---- what became of it ---- */

static void after_done(struct placer *placer, const struct bind_result *result,
	const struct pod *pod)
{
	log_info("pod bound", log_str("namespace", pod->namespace),
		log_str("pod", pod->name), log_str("node", result->node),
		log_str("why", result->why), LOG_END);
	reporter_scheduled(placer->reporter, pod, result->node, result->why);
}

/* Takes a pod off the node it was meant for. Who waits for one again; NULL if
 * nobody does. */
static struct waiting *take_back(struct placer *placer, const char *uid)
{
	struct waiting *waiting = queue_find(&placer->queue, uid);
	struct pod *pod = cache_forget(&placer->cache, uid);

	if (pod == NULL) {
		/* The watch has seen it bound after all, or gone. */
		queue_remove(&placer->queue, uid);
		return NULL;
	}
	if (waiting == NULL || waiting->pod != NULL) {
		pod_free(pod); /* it vanished, or a newer version came in */
	} else {
		waiting->pod = pod;
	}
	return waiting;
}

/* message says why it is on no node; it waits for its next turn. */
static void send_back(struct placer *placer, const char *uid,
	const char *message)
{
	struct waiting *waiting = take_back(placer, uid);

	if (waiting != NULL) {
		notice_error(placer->reporter, waiting, message, now_us());
		queue_failed(&placer->queue, waiting, false, now_us());
	}
	queue_wake_all(&placer->queue);
}

/* Bindings are over: another replica may begin. */
static void finish_drain(void *owner)
{
	struct placer *placer = owner;
	void (*drained)(void *) = placer->drained;

	timer_stop(placer->drain);
	placer->drained = NULL;
	if (drained != NULL) {
		leader_give_up(placer->leader, drained, placer->drained_owner);
	}
}

static void on_bound(void *owner, const struct bind_result *result)
{
	struct placer *placer = owner;
	scoped_free char *message = NULL;
	const struct pod *bound;

	metrics_bound(&placer->metrics, queue_find(&placer->queue, result->uid),
		result->outcome, now_us());
	switch (result->outcome) {
	case BIND_DONE:
		bound = cache_pod(&placer->cache, result->uid);
		if (bound != NULL) {
			after_done(placer, result, bound);
		}
		queue_remove(&placer->queue, result->uid);
		break;
	case BIND_REFUSED:
		message = xasprintf("binding to %s was refused: %s",
			result->node, result->error);
		send_back(placer, result->uid, message);
		break;
	case BIND_GONE:
		pod_free(cache_forget(&placer->cache, result->uid));
		queue_remove(&placer->queue, result->uid);
		queue_wake_all(&placer->queue);
		break;
	case BIND_OUTCOMES:
		break;
	}
	/* This binding still counts until the binder's callback is over. */
	if (placer->is_draining && binder_pending(placer->binder) <= 1) {
		timer_start(placer->drain, 0, 0);
		return;
	}
	kick(placer);
}

/* ---- what became of its volumes ---- */

static bool is_wanted(void *owner, const char *uid)
{
	const struct placer *placer = owner;

	return cache_is_assumed(&placer->cache, uid) &&
		leader_leads(placer->leader, clock_monotonic_us());
}

static void on_volumes(void *owner, const struct prebind_result *result)
{
	struct placer *placer = owner;
	const struct pod *pod = cache_pod(&placer->cache, result->uid);
	scoped_free char *message = NULL;
	struct waiting *waiting;

	if (pod == NULL || !cache_is_assumed(&placer->cache, result->uid)) {
		return; /* it is gone, or somewhere else */
	}
	if (!leader_leads(placer->leader, clock_monotonic_us())) {
		/* Another replica will bind it, or it is this one's again. */
		waiting = take_back(placer, result->uid);
		if (waiting != NULL) {
			queue_set(&placer->queue, waiting, WAITING_READY);
		}
	} else if (*result->error == '\0') {
		binder_bind(placer->binder, pod, result->node, result->why);
	} else {
		/* kube-scheduler's words. */
		message = xasprintf(
			"running PreBind plugin \"VolumeBinding\": "
			"binding volumes: %s",
			result->error);
		metrics_bound(&placer->metrics,
			queue_find(&placer->queue, result->uid), BIND_REFUSED,
			now_us());
		send_back(placer, result->uid, message);
		kick(placer);
	}
}

static void on_lead(void *owner, bool leads)
{
	if (leads) {
		kick(owner);
	}
}

/* ---- what the cluster and the aggregators say ---- */

static void on_change(void *owner)
{
	struct placer *placer = owner;

	prebind_look(placer->prebind, now_us());
	kick(placer);
}

static void on_rejected(void *owner, const char *node, enum rejection rejection)
{
	struct placer *placer = owner;

	placer->metrics.rejections[rejection]++;
	cache_reject(&placer->cache, node, now_us());
}

static void on_synced(void *owner)
{
	struct placer *placer = owner;

	placer->synced_us = now_us();
	kick(placer);
}

static void look(void *owner)
{
	struct placer *placer = owner;

	feed_look(placer->feed);
	pasts_recall(placer->aggregators.pasts);
}

static void on_load(void *owner, const struct node_load *load,
	int64_t sample_us)
{
	struct placer *placer = owner;
	int64_t now = now_us();
	bool changed;

	cache_put_load(&placer->cache, &changed, load, sample_us, now);
	if (changed || now - placer->load_wake_us > LOAD_WAKE_US) {
		placer->load_wake_us = now;
		queue_wake_all(&placer->queue);
	}
	kick(placer);
}

/* ---- life ---- */

int placer_new(struct placer **out, uv_loop_t *loop, struct kube_client *client,
	const struct scheduler_config *config, struct error *err)
{
	struct placer *placer = xcalloc(1, sizeof(*placer));
	int r;

	placer->decision.policy = &config->scoring;
	placer->loop = loop;
	placer->config = config;
	cache_init(&placer->cache);
	queue_init(&placer->queue);
	r = aggregators_open(&placer->aggregators, loop,
		&(struct aggregators_options){ .urls = &config->aggregators,
			.dial = &config->dial,
			.queue = &placer->queue,
			.cache = &placer->cache,
			.on_node = on_load,
			.on_past = kick,
			.owner = placer },
		err);
	if (r < 0) {
		cache_fini(&placer->cache);
		free(placer);
		return r;
	}
	placer->turn = timer_new(loop, take_turn, placer);
	placer->look = timer_new(loop, look, placer);
	timer_start(placer->look, OUTAGE_LOOK_MS, OUTAGE_LOOK_MS);
	placer->drain = timer_new(loop, finish_drain, placer);
	placer->binder = binder_new(client, loop, on_bound, placer);
	placer->prebind = prebind_new(client, loop, &placer->cache.cluster,
		&(struct prebind_handler){ on_volumes, is_wanted, placer });
	placer->reporter = reporter_new(client, config->scheduler_name);
	placer->leader = leader_new(client, config, on_lead, placer);
	placer->feed = feed_new(client,
		&(struct feed_options){ .cache = &placer->cache,
			.queue = &placer->queue,
			.scheduler_name = config->scheduler_name,
			.on_change = on_change,
			.on_rejected = on_rejected,
			.on_synced = on_synced,
			.owner = placer });
	*out = placer;
	return 0;
}

bool placer_is_ready(const struct placer *placer, struct buffer *why)
{
	size_t of = 0;
	size_t connected = loads_connected(placer->aggregators.loads, &of);

	bool is_ready = feed_ready(placer->feed, why, connected, of);

	if (is_ready && why->len == 0) {
		leader_say(placer->leader, why, clock_monotonic_us());
	}
	return is_ready;
}

struct placer_view placer_view(struct placer *placer)
{
	struct placer_view view = {
		.cache = &placer->cache,
		.queue = &placer->queue,
		.metrics = &placer->metrics,
		.lease = leader_lease(placer->leader),
		.is_synced = placer->synced_us != 0,
		.now_us = now_us(),
	};

	view.leads = leader_leads(placer->leader, (uint64_t)view.now_us);
	view.connected =
		loads_connected(placer->aggregators.loads, &view.aggregators);
	return view;
}

void placer_drain(struct placer *placer, void (*done)(void *owner), void *owner)
{
	placer->is_draining = true;
	prebind_drop(placer->prebind);
	placer->drained = done;
	placer->drained_owner = owner;
	timer_stop(placer->turn);
	timer_start(placer->drain,
		binder_pending(placer->binder) == 0 ? 0 : DRAIN_MS, 0);
}

void placer_close(struct placer *placer)
{
	if (placer == NULL) {
		return;
	}
	feed_close(placer->feed);
	aggregators_close(&placer->aggregators);
	binder_close(placer->binder);
	prebind_close(placer->prebind);
	volume_plan_fini(&placer->plan);
	reporter_close(placer->reporter);
	leader_close(placer->leader);
	timer_close(placer->look);
	timer_close(placer->turn);
	timer_close(placer->drain);
	queue_fini(&placer->queue);
	cache_fini(&placer->cache);
	decision_fini(&placer->decision);
	free(placer);
}
