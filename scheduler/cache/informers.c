#include "scheduler/cache/informers.h"

#include "kube/json_value.h"
#include "kube/reflector.h"
#include "kube/time.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/cache/api_version.h"
#include "scheduler/cache/constraint_informers.h"
#include "scheduler/cache/launcher_outcomes.h"
#include "scheduler/cache/outage.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/objects/launcher.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOG_AGAIN_US UINT64_C(10000000)

struct informers {
	struct informers_options options;
	struct reflector *nodes, *pods;
	struct reflector *failed; /* pods of this scheduler */
	struct map failed_uids;	  /* uids of those that are there */
	struct constraint_informers *constraints; /* of all else */
	struct api_version *version;
	struct outage outage;
	struct log_limit limit;
	bool is_synced;
};

static int64_t now_us(void)
{
	return (int64_t)clock_monotonic_us();
}

static void notify(struct informers *informers)
{
	informers->options.on_change(informers->options.owner);
}

/* The cluster changed in a way that may let a pending pod fit. */
static void on_change(void *owner)
{
	struct informers *informers = owner;

	queue_wake_all(informers->options.queue);
	notify(informers);
}

static void log_invalid(struct informers *informers, const char *what,
	const char *name, const struct error *err)
{
	if (log_allow(&informers->limit, clock_monotonic_us(), LOG_AGAIN_US,
		    NULL)) {
		log_warning(what, log_str("name", name), log_err(err), LOG_END);
	}
}

static void on_node(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct informers *informers = owner;
	bool changed = false;
	struct error err;

	if (cache_put_node(informers->options.cache, &changed, object, now_us(),
		    &err) < 0) {
		log_invalid(informers, "ignoring invalid node", id->name, &err);
		/* An older version may be less restricted. */
		cache_remove_node(informers->options.cache, id->name);
		return;
	}
	if (changed) {
		on_change(informers);
	}
}

static void on_node_deleted(void *owner, const struct reflector_id *id)
{
	struct informers *informers = owner;

	cache_remove_node(informers->options.cache, id->name);
}

static bool is_nominated(const struct json_value *pod)
{
	return *json_value_text_at(pod, "status/nominatedNodeName", "") != '\0';
}

static void remove_nominated(struct informers *informers, const char *uid)
{
	if (cache_remove_nominated(informers->options.cache, uid)) {
		on_change(informers);
	}
}

/* The pod in place of a reservation is gone before the API server confirmed its
 * binding. */
static void end_reservation(struct informers *informers, const char *uid)
{
	const struct informers_options *o = &informers->options;
	const struct queued_pod *queued = queue_find(o->queue, uid);

	if (cache_is_assumed(o->cache, uid)) {
		reservations_settle(o->reservations, cache_pod(o->cache, uid));
	} else if (queued != NULL && queued->pod != NULL &&
		reservations_target_gone(o->reservations, queued->pod)) {
		on_change(informers);
	}
}

static void remove_pod(struct informers *informers, const char *uid)
{
	remove_nominated(informers, uid);
	end_reservation(informers, uid);
	launcher_outcomes_left(informers->options.cache, uid, now_us());
	queue_remove(informers->options.queue, uid);
	if (!reservations_hold(informers->options.reservations, uid,
		    now_us()) &&
		cache_remove_pod(informers->options.cache, uid)) {
		on_change(informers);
	}
}

static void on_pod_deleted(void *owner, const struct reflector_id *id)
{
	const struct informers *informers = owner;

	informers->options.on_pod_gone(informers->options.owner, id->uid);
	remove_pod(owner, id->uid);
}

/* When a new pod was bound, on the monotonic clock. For a pod of the first list
 * this is the API server's wall clock, which may differ from ours: a time in
 * the future counts as now. A pod that the watch delivers was bound now. */
static int64_t bound_us(const struct informers *informers,
	const struct pod *pod)
{
	int64_t ago = (int64_t)clock_wall_us() - pod->bound_wall_us;

	if (pod->bound_wall_us == TIME_LONG_AGO) {
		return TIME_LONG_AGO;
	}
	return ago < 0 || reflector_state(informers->pods).is_synced
		? now_us()
		: now_us() - ago;
}

/* True if this scheduler bound the pod and the watch still delivers an older
 * version. */
static bool is_stale(const struct informers *informers, const struct pod *pod)
{
	return cache_pod(informers->options.cache, pod->uid) != NULL &&
		queue_find(informers->options.queue, pod->uid) == NULL;
}

/* Queues a pod of this scheduler that has no node. Takes pod. */
static void enqueue(struct informers *informers, struct pod *pod)
{
	if (pod->is_deleting || pod->phase != POD_PENDING ||
		is_stale(informers, pod)) {
		queue_remove(informers->options.queue, pod->uid);
		pod_free(pod);
		return;
	}
	pod->is_move = pod->is_move &&
		reservations_are_for(informers->options.reservations, pod);
	queue_put(informers->options.queue, pod, now_us());
	notify(informers);
}

/* An update of a bound pod concerns other pods as in kube-scheduler's queueing
 * hints. A resize that frees CPU or memory may let any pod fit. */
static bool frees_room(const struct pod *old, const struct pod *pod)
{
	return old != NULL &&
		(pod->requests.cpu_milli < old->requests.cpu_milli ||
			pod->requests.memory_bytes <
				old->requests.memory_bytes);
}

/* (Anti-)affinity and spreading see the pod's node and labels. An assumed pod
 * whose binding is confirmed counts as new. */
static bool is_seen_anew(const struct cache *cache, const struct pod *old,
	const struct pod *pod)
{
	return old == NULL || cache_is_assumed(cache, pod->uid) ||
		strcmp(old->node_name, pod->node_name) != 0 ||
		old->labels.count != pod->labels.count ||
		!labels_include(&old->labels, &pod->labels);
}

/* A pod that has a node. Takes pod. */
static void add_bound(struct informers *informers, struct pod *pod)
{
	const struct informers_options *o = &informers->options;
	const struct pod *old = cache_pod(o->cache, pod->uid);
	bool is_smaller = frees_room(old, pod);
	bool is_anew = is_seen_anew(o->cache, old, pod);

	(void)cache_remove_nominated(o->cache, pod->uid);
	/* The binding cycle of an assumed pod removes it from the queue, after
	 * it created the event. */
	if (!cache_is_assumed(o->cache, pod->uid)) {
		queue_remove(o->queue, pod->uid);
	}
	reservations_settle(o->reservations, pod);
	launcher_outcomes_changed(o->cache, pod);
	cache_put_pod(o->cache, pod, bound_us(informers, pod));
	if (is_smaller) {
		on_change(informers);
	} else if (is_anew && queue_wake_related(o->queue)) {
		notify(informers);
	}
}

static enum pod_depth depth_of(const struct informers_options *options,
	const struct json_value *pod, bool is_pending)
{
	return is_pending || (options->has_moves && launcher_has_label(pod))
		? POD_UNSCHEDULED
		: POD_SCHEDULED;
}

static void on_pod(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct informers *informers = owner;
	const char *node = json_value_text_at(object, "spec/nodeName", "");
	const char *scheduler =
		json_value_text_at(object, "spec/schedulerName", "");
	const struct informers_options *o = &informers->options;
	bool is_ours = strcmp(scheduler, o->scheduler_name) == 0;
	struct pod *pod;
	struct error err;

	if (launcher_has_label(object)) {
		o->on_launcher(o->owner, id, object, informers->is_synced);
	}
	if (*node == '\0' && !is_ours && !is_nominated(object)) {
		remove_nominated(informers, id->uid);
		return;
	}
	if (pod_new_by(&pod, o->cache->interner, object,
		    depth_of(o, object, is_ours && *node == '\0'),
		    o->cache->cluster.behaviours, &err) < 0) {
		log_invalid(informers, "ignoring invalid pod", id->name, &err);
		return;
	}
	if (*node != '\0' && pod->unsupported != NULL) {
		(void)error_set(&err, -EBADMSG, "%s", pod->unsupported);
		log_invalid(informers, "counting what can be read of pod",
			id->name, &err);
	}
	if (pod_is_terminated(pod)) {
		remove_pod(informers, pod->uid);
		pod_free(pod);
	} else if (*node == '\0' && !is_ours) {
		cache_put_nominated(o->cache, pod);
	} else if (*node == '\0') {
		enqueue(informers, pod);
	} else {
		add_bound(informers, pod);
	}
}

/* ---- pods that failed ---- */

static void log_rejection(const struct reflector_id *id,
	const struct json_value *object)
{
	log_warning("kubelet rejected pod",
		log_str("namespace", id->namespace_name),
		log_str("pod", id->name),
		log_str("node",
			json_value_text_at(object, "spec/nodeName", "")),
		log_str("reason",
			json_value_text_at(object, "status/reason", "")),
		log_str("message",
			json_value_text_at(object, "status/message", "")),
		LOG_END);
}

/* Pods that failed before this process started do not count, nor do updates. */
static void count_failure(struct informers *informers,
	const struct reflector_id *id, const struct json_value *object)
{
	enum rejection rejection = rejection_of(object);
	const char *node = json_value_text_at(object, "spec/nodeName", "");

	if (map_get(&informers->failed_uids, id->uid) != NULL) {
		return;
	}
	(void)map_put(&informers->failed_uids, id->uid, informers);
	if (*node == '\0' || !reflector_state(informers->failed).is_synced) {
		return;
	}
	launcher_outcomes_failed(informers->options.cache, object, now_us());
	if (rejection != REJECTION_NONE) {
		log_rejection(id, object);
		informers->options.on_rejected(informers->options.owner,
			rejection);
	}
}

/* The watch of running pods drops failed pods without a reason. */
static void on_failed(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct informers *informers = owner;
	const char *vmi = json_value_text(
		json_value_get(json_value_at(object, "metadata/labels"),
			"kubevirt.io/created-by"));

	count_failure(informers, id, object);
	/* Whichever watch delivers first frees the node and wakes the queue. */
	if (reservations_drop(informers->options.reservations,
		    id->namespace_name, vmi == NULL ? "" : vmi, id->uid)) {
		on_change(informers);
	}
}

static void on_failed_deleted(void *owner, const struct reflector_id *id)
{
	struct informers *informers = owner;

	(void)map_remove(&informers->failed_uids, id->uid);
}

static void on_synced(void *owner)
{
	struct informers *informers = owner;
	const struct informers_options *o = &informers->options;

	if (!informers->is_synced &&
		reflector_state(informers->nodes).is_synced &&
		reflector_state(informers->pods).is_synced &&
		reflector_state(informers->failed).is_synced &&
		constraint_informers_complete(informers->constraints)) {
		informers->is_synced = true;
		cache_set_complete(o->cache);
		log_info("caches synced",
			log_int("nodes", (int64_t)o->cache->cluster.count),
			log_int("pods", (int64_t)o->cache->pods.count),
			log_int("pending", (int64_t)o->queue->by_uid.count),
			LOG_END);
		o->on_synced(o->owner);
	}
}

/* All pods are read again if the sums of their requests differ. */
static void on_version(void *owner, struct behaviours behaviours)
{
	struct informers *informers = owner;
	struct behaviours *current =
		&informers->options.cache->cluster.behaviours;
	bool differs = behaviours_have(*current, BEHAVIOUR_RESIZE_BY_SUMS) !=
		behaviours_have(behaviours, BEHAVIOUR_RESIZE_BY_SUMS);

	*current = behaviours;
	if (differs) {
		reflector_list_again(informers->pods);
	}
	on_change(informers);
}

void informers_poll(struct informers *informers)
{
	struct reflector_state nodes = reflector_state(informers->nodes);
	struct reflector_state pods = reflector_state(informers->pods);

	if (reservations_expire(informers->options.reservations, now_us())) {
		queue_wake_all(informers->options.queue);
		notify(informers);
	}
	outage_poll(&informers->outage, &nodes, &pods, clock_monotonic_us());
	api_version_poll(informers->version, clock_monotonic_us());
	if (constraint_informers_poll(informers->constraints,
		    nodes.is_synced && pods.is_synced, clock_monotonic_us())) {
		on_synced(informers);
	}
}

struct informers *informers_new(struct kube_client *client,
	const struct informers_options *options)
{
	struct informers *informers = xcalloc(1, sizeof(*informers));
	struct reflector_handler nodes = { on_node, on_node_deleted, on_synced,
		informers };
	struct reflector_handler pods = { on_pod, on_pod_deleted, on_synced,
		informers };
	struct reflector_handler failed = { on_failed, on_failed_deleted,
		on_synced, informers };
	scoped_free char *ours =
		xasprintf("status.phase=Failed,spec.schedulerName=%s",
			options->scheduler_name);

	informers->options = *options;
	informers->version =
		api_version_new(&(struct api_version_options){ .client = client,
			.overrides = options->behaviours,
			.on_change = on_version,
			.owner = informers });
	informers->constraints =
		constraint_informers_new(client, &options->cache->cluster,
			&(struct constraint_informers_handler){ on_change,
				on_synced, informers });
	informers->nodes = reflector_new(client,
		&(struct reflector_options){ .path = "/api/v1/nodes" }, &nodes);
	informers->pods = reflector_new(client,
		&(struct reflector_options){ .path = "/api/v1/pods",
			.field_selector = "status.phase!=Succeeded,"
					  "status.phase!=Failed" },
		&pods);
	informers->failed = reflector_new(client,
		&(struct reflector_options){ .path = "/api/v1/pods",
			.field_selector = ours },
		&failed);
	return informers;
}

bool informers_ready(const struct informers *informers, struct buffer *why,
	size_t connected, size_t total)
{
	struct reflector_state nodes = reflector_state(informers->nodes);
	struct reflector_state pods = reflector_state(informers->pods);

	return outage_ready(why, &nodes, &pods, connected, total);
}

double informers_age_s(const struct informers *informers)
{
	const struct reflector *watches[] = { informers->nodes, informers->pods,
		informers->failed };
	uint64_t earliest =
		constraint_informers_contact_us(informers->constraints);

	for (size_t i = 0; i < count_of(watches); i++) {
		uint64_t contact_us = reflector_state(watches[i]).contact_us;

		if (contact_us < earliest) {
			earliest = contact_us;
		}
	}
	return informers->is_synced
		? (double)(clock_monotonic_us() - earliest) / 1e6
		: NAN;
}

bool informers_are_watching(const struct informers *informers)
{
	struct reflector_state pods = reflector_state(informers->pods);

	return pods.is_synced && pods.is_watching;
}

void informers_close(struct informers *informers)
{
	if (informers == NULL) {
		return;
	}
	api_version_close(informers->version);
	reflector_close(informers->nodes);
	reflector_close(informers->pods);
	reflector_close(informers->failed);
	map_fini(&informers->failed_uids);
	constraint_informers_close(informers->constraints);
	free(informers);
}
