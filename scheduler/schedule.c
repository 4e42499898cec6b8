#include "scheduler/schedule.h"

#include "kube/client.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/admission/admission_check.h"
#include "scheduler/answers/answers.h"
#include "scheduler/binding_cycle.h"
#include "scheduler/cache/informers.h"
#include "scheduler/cache/outage.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/loads/aggregators.h"
#include "scheduler/moves.h"
#include "scheduler/score/decision_record.h"

#include <stdlib.h>
#include <string.h>

enum {
	DECISIONS_PER_TURN = 16, /* before other events get their turn */
	MESSAGE_MAX = 8192,
	DRAIN_MS = 3000,
};
#define TURN_US INT64_C(20000)	       /* no decision begins after it */
#define LOAD_WAIT_US INT64_C(5000000)  /* for the first snapshots */
#define LOAD_WAKE_US INT64_C(10000000) /* new load may let a pod fit */

struct schedule {
	uv_loop_t *loop;
	const struct scheduler_config *config;
	struct cache cache;
	struct reservations reservations;
	struct queue queue;
	struct decision decision;
	struct informers *informers;
	struct aggregators aggregators;
	struct decision_record record; /* of the current decision */
	struct volume_plan plan;       /* of the current decision */
	struct binding_cycle *cycle;
	struct events *events;
	struct leader *leader;
	struct moves *moves;
	struct answers *answers;
	struct admission_check *admission;
	struct timer *turn, *poll, *drain;
	struct metrics metrics;
	int64_t synced_us; /* when the caches were synced; 0: not yet */
	int64_t load_wake_us;
	bool is_draining;
	void (*drained)(void *owner);
	void *drained_owner;
};

static int64_t now_us(void)
{
	return (int64_t)clock_monotonic_us();
}

static bool leads(void *owner)
{
	const struct schedule *sched = owner;

	return !sched->is_draining &&
		leader_leads(sched->leader, (uint64_t)now_us());
}

static bool may_decide(struct schedule *sched)
{
	return sched->synced_us != 0 && leads(sched) &&
		(loads_complete(sched->aggregators.loads) ||
			now_us() - sched->synced_us > LOAD_WAIT_US);
}

static void upload_record(struct schedule *sched, const char *sentence)
{
	decision_record_from(&sched->record, &sched->decision, sentence,
		clock_wall_us(), informers_age_s(sched->informers));
	decision_upload_add(sched->aggregators.decision_upload, &sched->record);
}

static void fail_unschedulable(struct schedule *sched,
	struct queued_pod *queued, int64_t now)
{
	scoped_buffer struct buffer message = BUFFER_MAX(MESSAGE_MAX);
	scoped_buffer struct buffer record = BUFFER_MAX(MESSAGE_MAX);

	decision_message(&message, &sched->decision);
	moves_unschedulable(sched->moves, queued, &sched->decision, &message,
		&record);
	if (queued->message == NULL ||
		strcmp(queued->message, message.data) != 0) {
		upload_record(sched, record.data);
	}
	metrics_unschedulable(&sched->metrics, queued, now_us());
	queue_failed(&sched->queue, queued, true, now);
	if (!events_unschedulable(sched->events, queued, message.data, now)) {
		/* Try again without a change, so that it is reported. */
		queue_set(&sched->queue, queued, QUEUED_READY);
	}
}

static void bind_pod(struct schedule *sched, struct queued_pod *queued,
	const struct node *node, int64_t now)
{
	scoped_buffer struct buffer why = BUFFER_MAX(MESSAGE_MAX);

	decision_sentence(&why, &sched->decision);
	upload_record(sched, why.data);
	decision_plan(&sched->decision, &sched->plan);
	reservations_assume(&sched->reservations, queued->pod);
	moves_placed(sched->moves, queued->pod, node->name);
	binding_cycle_start(sched->cycle, queued, node->name, why.data,
		&sched->plan, now);
}

static void schedule_pod(struct schedule *sched, struct queued_pod *queued,
	int64_t now)
{
	const struct node *chosen;

	if (!profile_client_may_schedule(sched->aggregators.profile_client,
		    queued, now)) {
		return; /* the pod waits for its VM's profile */
	}
	metrics_begin(&sched->metrics, queued, now_us(), clock_thread_cpu_us());
	reservations_suspend(&sched->reservations, queued->pod);
	decide(&sched->decision, queued->pod, &sched->cache.cluster,
		&(struct filter_options)FILTER_DEFAULTS, now);
	metrics_decided(&sched->metrics, queued, &sched->decision, now_us(),
		clock_thread_cpu_us());
	queue_spent(&sched->queue, queued, now_us() - now, now_us());
	chosen = decision_chosen(&sched->decision);
	if (chosen == NULL) {
		reservations_resume(&sched->reservations, queued->pod);
		fail_unschedulable(sched, queued, now);
	} else {
		bind_pod(sched, queued, chosen, now);
	}
}

static void arm_timer(struct schedule *sched)
{
	int64_t now = now_us(), next = queue_wake_us(&sched->queue);

	if (next == INT64_MAX || sched->synced_us == 0 || !leads(sched)) {
		return;
	}
	if (!may_decide(sched)) {
		next = sched->synced_us + LOAD_WAIT_US + 1000;
	}
	timer_start(sched->turn,
		next <= now ? 0 : (uint64_t)(next - now) / 1000 + 1, 0);
}

static void on_turn(void *owner)
{
	struct schedule *sched = owner;
	int64_t now = now_us();
	struct queued_pod *next[DECISIONS_PER_TURN];
	size_t count = !may_decide(sched)
		? 0
		: queue_next(&sched->queue, next, DECISIONS_PER_TURN, now);

	/* None of these leaves the queue before the event loop runs again. */
	for (size_t i = 0;
		i < count && may_decide(sched) && now_us() - now < TURN_US &&
		binding_cycle_has_capacity(sched->cycle);
		i++) {
		schedule_pod(sched, next[i], now_us());
	}
	/* At the limit, the end of a binding cycle wakes the loop. */
	if (!sched->is_draining && binding_cycle_has_capacity(sched->cycle)) {
		arm_timer(sched);
	}
}

/* Many changes at once cause one turn, when the event loop runs again. */
static void wake(void *owner)
{
	struct schedule *sched = owner;

	if (!sched->is_draining) {
		timer_start(sched->turn, 0, 0);
	}
}

/* ---- events ---- */

/* Releases the lease, so that another replica can take over. */
static void finish_drain(void *owner)
{
	struct schedule *sched = owner;
	void (*drained)(void *) = sched->drained;

	timer_stop(sched->drain);
	sched->drained = NULL;
	if (drained != NULL) {
		leader_release(sched->leader, drained, sched->drained_owner);
	}
}

static void on_cycle_end(void *owner, size_t bindings)
{
	struct schedule *sched = owner;

	if (sched->is_draining && bindings == 0) {
		timer_start(sched->drain, 0, 0);
	} else {
		wake(sched);
	}
}

static bool is_watching(void *owner)
{
	const struct schedule *sched = owner;

	return informers_are_watching(sched->informers);
}

static void on_lead(void *owner, bool leads)
{
	if (leads) {
		wake(owner);
	}
}

static void on_change(void *owner)
{
	struct schedule *sched = owner;

	binding_cycle_poll(sched->cycle);
	wake(sched);
}

static void on_rejected(void *owner, enum rejection rejection)
{
	struct schedule *sched = owner;

	sched->metrics.rejections[rejection]++;
}

static void on_launcher(void *owner, const struct reflector_id *id,
	const struct json_value *pod, bool is_new)
{
	struct schedule *sched = owner;
	const char *left =
		admission_check_pod(sched->admission, id, pod, is_new);

	moves_put_launcher(sched->moves, id->uid, pod);
	if (left != NULL && leads(sched)) {
		events_left_alone(sched->events, sched->cache.interner, pod,
			left, now_us());
	}
}

static void on_pod_gone(void *owner, const char *uid)
{
	struct schedule *sched = owner;

	admission_check_pod_gone(sched->admission, uid);
	moves_launcher_gone(sched->moves, uid);
}

static void on_synced(void *owner)
{
	struct schedule *sched = owner;

	sched->synced_us = now_us();
	admission_check_start(sched->admission);
	leader_stand(sched->leader);
}

static void on_poll(void *owner)
{
	struct schedule *sched = owner;

	informers_poll(sched->informers);
	binding_cycle_poll(sched->cycle);
	profile_client_backfill(sched->aggregators.profile_client);
}

static void on_load(void *owner, const struct node_load *load,
	int64_t sample_us)
{
	struct schedule *sched = owner;
	int64_t now = now_us();
	bool changed;

	cache_put_load(&sched->cache, &changed, load, sample_us, now);
	moves_note_load(sched->moves, load, sample_us);
	if (changed || now - sched->load_wake_us > LOAD_WAKE_US) {
		sched->load_wake_us = now;
		queue_wake_all(&sched->queue);
	}
	wake(sched);
}

static void on_move(void *owner, const struct move_record *record)
{
	struct schedule *sched = owner;

	moves_remember(sched->moves, record);
}

static bool is_synced(void *owner)
{
	const struct schedule *sched = owner;

	return sched->synced_us != 0 && !sched->is_draining;
}

static void open_moves(struct schedule *sched, struct kube_client *client)
{
	sched->moves = moves_new(&(struct moves_options){ .loop = sched->loop,
		.client = client,
		.config = sched->config,
		.cache = &sched->cache,
		.reservations = &sched->reservations,
		.queue = &sched->queue,
		.aggregators = &sched->aggregators,
		.events = sched->events,
		.is_synced = is_synced,
		.leads = leads,
		.wake = wake,
		.owner = sched });
	sched->answers =
		answers_new(&(struct answers_options){ .cache = &sched->cache,
			.reservations = &sched->reservations,
			.queue = &sched->queue,
			.policy = &sched->config->scoring,
			.questions = sched->aggregators.questions,
			.profiles = sched->aggregators.profile_client,
			.loop = sched->loop,
			.planner = moves_planner(sched->moves),
			.kubevirt = moves_kubevirt(sched->moves),
			.room = moves_room(sched->moves),
			.is_synced = is_synced,
			.leads = leads,
			.owner = sched });
}

struct moves *schedule_moves(struct schedule *sched)
{
	return sched->moves;
}

struct admission_check *schedule_admission(const struct schedule *sched)
{
	return sched->admission;
}

/* ---- life ---- */

static void open_parts(struct schedule *sched, struct kube_client *client)
{
	sched->turn = timer_new(sched->loop, on_turn, sched);
	sched->poll = timer_new(sched->loop, on_poll, sched);
	timer_start(sched->poll, OUTAGE_POLL_MS, OUTAGE_POLL_MS);
	sched->drain = timer_new(sched->loop, finish_drain, sched);
	sched->events = events_new(client, sched->config->scheduler_name);
	sched->leader = leader_new(client, sched->config, on_lead, sched);
	sched->cycle = binding_cycle_new(
		&(struct binding_cycle_options){ .client = client,
			.loop = sched->loop,
			.cache = &sched->cache,
			.reservations = &sched->reservations,
			.queue = &sched->queue,
			.metrics = &sched->metrics,
			.events = sched->events,
			.leader = sched->leader,
			.is_watching = is_watching,
			.on_end = on_cycle_end,
			.owner = sched });
	sched->admission = admission_check_new(&(
		struct admission_check_options){ .loop = sched->loop,
		.client = client,
		.cluster = &sched->cache.cluster,
		.scheduler_name = sched->config->webhook_scheduler_name });
	sched->informers = informers_new(client,
		&(struct informers_options){ .cache = &sched->cache,
			.reservations = &sched->reservations,
			.queue = &sched->queue,
			.scheduler_name = sched->config->scheduler_name,
			.has_moves = scheduler_config_moves(sched->config),
			.behaviours = sched->config->behaviours,
			.on_change = on_change,
			.on_launcher = on_launcher,
			.on_pod_gone = on_pod_gone,
			.on_rejected = on_rejected,
			.on_synced = on_synced,
			.owner = sched });
}

int schedule_new(struct schedule **out, uv_loop_t *loop,
	struct kube_client *client, const struct scheduler_config *config,
	struct error *err)
{
	struct schedule *sched = xcalloc(1, sizeof(*sched));
	int r;

	sched->decision.policy = &config->scoring;
	sched->loop = loop;
	sched->config = config;
	cache_init(&sched->cache);
	reservations_init(&sched->reservations, &sched->cache);
	queue_init(&sched->queue);
	r = aggregators_open(&sched->aggregators, loop,
		&(struct aggregators_options){ .urls = &config->aggregators,
			.credentials = &config->credentials,
			.queue = &sched->queue,
			.cache = &sched->cache,
			.on_node = on_load,
			.on_profile = wake,
			.has_moves = scheduler_config_moves(config),
			.on_move = on_move,
			.owner = sched },
		err);
	if (r < 0) {
		cache_fini(&sched->cache);
		free(sched);
		return r;
	}
	open_parts(sched, client);
	open_moves(sched, client);
	*out = sched;
	return 0;
}

bool schedule_is_ready(const struct schedule *sched, struct buffer *why)
{
	size_t total = 0;
	size_t connected = loads_connected(sched->aggregators.loads, &total);
	bool ready = informers_ready(sched->informers, why, connected, total);

	if (ready && why->len == 0) {
		leader_describe(sched->leader, why, clock_monotonic_us());
	}
	return ready;
}

struct scheduler_view schedule_view(struct schedule *sched)
{
	struct scheduler_view view = {
		.cache = &sched->cache,
		.queue = &sched->queue,
		.metrics = &sched->metrics,
		.lease = leader_lease(sched->leader),
		.is_synced = sched->synced_us != 0,
		.cache_age_s = informers_age_s(sched->informers),
		.now_us = now_us(),
	};

	for (enum events_limit i = 0; i < EVENTS_LIMITS; i++) {
		view.suppressed[i] = events_suppressed(sched->events, i);
	}
	moves_stats(sched->moves, &view.moves);
	view.leads = leader_leads(sched->leader, (uint64_t)view.now_us);
	view.aggregator_expiry_s = tls_watch_expiry_s(sched->aggregators.tls);
	view.authority_expiry_s = tls_watch_ca_expiry_s(sched->aggregators.tls);
	view.connected =
		loads_connected(sched->aggregators.loads, &view.aggregators);
	return view;
}

void schedule_drain(struct schedule *sched, void (*done)(void *owner),
	void *owner)
{
	sched->is_draining = true;
	sched->drained = done;
	sched->drained_owner = owner;
	timer_stop(sched->turn);
	record_upload_send(sched->aggregators.decision_upload);
	timer_start(sched->drain,
		binding_cycle_drain(sched->cycle) == 0 ? 0 : DRAIN_MS, 0);
}

void schedule_close(struct schedule *sched)
{
	if (sched == NULL) {
		return;
	}
	answers_close(sched->answers);
	moves_close(sched->moves);
	informers_close(sched->informers);
	admission_check_close(sched->admission);
	aggregators_close(&sched->aggregators);
	binding_cycle_close(sched->cycle);
	volume_plan_fini(&sched->plan);
	events_close(sched->events);
	leader_close(sched->leader);
	timer_close(sched->poll);
	timer_close(sched->turn);
	timer_close(sched->drain);
	queue_fini(&sched->queue);
	reservations_fini(&sched->reservations);
	cache_fini(&sched->cache);
	decision_fini(&sched->decision);
	free(sched);
}
