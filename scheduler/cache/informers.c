#include "scheduler/cache/informers.h"

#include "kube/reflector.h"
#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "kube/time.h"
#include "scheduler/cache/outage.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/cache/constraint_informers.h"

#include <stdlib.h>
#include <string.h>

#define COMPLAIN_US UINT64_C(10000000)

struct feed {
	struct feed_options options;
	struct reflector *nodes, *pods;
	struct reflector *failed; /* pods of ours */
	struct map failures;	  /* uids of those that are there */
	struct watches *watches;  /* of all else */
	struct outage outage;
	struct log_limit limit;
	bool is_synced;
};

static int64_t now_us(void)
{
	return (int64_t)clock_monotonic_us();
}

static void tell(struct feed *feed)
{
	feed->options.on_change(feed->options.owner);
}

static void complain(struct feed *feed, const char *what, const char *name,
	const struct error *err)
{
	if (log_allow(&feed->limit, clock_monotonic_us(), COMPLAIN_US, NULL)) {
		log_warning(what, log_str("name", name), log_err(err), LOG_END);
	}
}

static void on_node(void *owner, const struct reflector_id *id,
	const struct value *object)
{
	struct feed *feed = owner;
	bool changed = false;
	struct error err;

	if (cache_put_node(feed->options.cache, &changed, object, now_us(),
		    &err) < 0) {
		complain(feed, "node not understood", id->name, &err);
		return;
	}
	if (changed) {
		queue_wake_all(feed->options.queue);
		tell(feed);
	}
}

/* Of the objects constraints speak of. */
static void on_change(void *owner)
{
	struct feed *feed = owner;

	queue_wake_all(feed->options.queue);
	tell(feed);
}

static void on_node_gone(void *owner, const struct reflector_id *id)
{
	struct feed *feed = owner;

	cache_remove_node(feed->options.cache, id->name);
}

static bool is_nominated(const struct value *pod)
{
	return *value_text_at(pod, "status/nominatedNodeName", "") != '\0';
}

static void forget_nominee(struct feed *feed, const char *uid)
{
	if (cache_remove_nominee(feed->options.cache, uid)) {
		queue_wake_all(feed->options.queue);
		tell(feed);
	}
}

static void forget_pod(struct feed *feed, const char *uid)
{
	forget_nominee(feed, uid);
	queue_remove(feed->options.queue, uid);
	if (!places_keep(feed->options.cache, uid, now_us()) &&
		cache_remove_pod(feed->options.cache, uid)) {
		queue_wake_all(feed->options.queue);
		tell(feed);
	}
}

static void on_pod_gone(void *owner, const struct reflector_id *id)
{
	forget_pod(owner, id->uid);
}

/* When a pod was bound that was not known so far, on our clock. Of one that the
 * first list has only the API server's wall clock tells, which need not agree
 * with ours; a time in the future is now, and so is one that the watch heard
 * of since, whatever the clocks say. */
static int64_t bound_us(const struct feed *feed, const struct pod *pod)
{
	int64_t ago = (int64_t)clock_wall_us() - pod->bound_wall_us;

	if (pod->bound_wall_us == MOMENT_LONG_AGO) {
		return MOMENT_LONG_AGO;
	}
	return ago < 0 || reflector_state(feed->pods).is_synced
		? now_us()
		: now_us() - ago;
}

/* We have bound it, and the watch is still at what it was before. */
static bool is_old_news(const struct feed *feed, const struct pod *pod)
{
	return cache_pod(feed->options.cache, pod->uid) != NULL &&
		queue_find(feed->options.queue, pod->uid) == NULL;
}

/* Takes a pod of ours that has no node yet. */
static void take_waiting(struct feed *feed, struct pod *pod)
{
	if (pod->is_deleting || pod->phase != POD_PENDING ||
		is_old_news(feed, pod)) {
		queue_remove(feed->options.queue, pod->uid);
		pod_free(pod);
		return;
	}
	queue_put(feed->options.queue, pod, now_us());
	tell(feed);
}

static void on_pod(void *owner, const struct reflector_id *id,
	const struct value *object)
{
	struct feed *feed = owner;
	const char *node = value_text_at(object, "spec/nodeName", "");
	const char *scheduler = value_text_at(object, "spec/schedulerName", "");
	bool is_ours = strcmp(scheduler, feed->options.scheduler_name) == 0;
	struct pod *pod;
	struct error err;

	if (*node == '\0' && !is_ours && !is_nominated(object)) {
		forget_nominee(feed, id->uid);
		return;
	}
	if (pod_new(&pod, feed->options.cache->names, object,
		    is_ours && *node == '\0' ? POD_TO_PLACE : POD_PLACED,
		    &err) < 0) {
		complain(feed, "pod not understood", id->name, &err);
		return;
	}
	if (pod_is_over(pod)) {
		forget_pod(feed, pod->uid);
		pod_free(pod);
	} else if (*node == '\0' && !is_ours) {
		cache_put_nominee(feed->options.cache, pod);
	} else if (*node == '\0') {
		take_waiting(feed, pod);
	} else {
		(void)cache_remove_nominee(feed->options.cache, pod->uid);
		/* While a binding is under way its end removes it from there,
		 * so that the event is told. */
		if (!cache_is_assumed(feed->options.cache, pod->uid)) {
			queue_remove(feed->options.queue, pod->uid);
		}
		places_settle(feed->options.cache, pod);
		cache_put_pod(feed->options.cache, pod, bound_us(feed, pod));
		if (queue_wake_related(feed->options.queue)) {
			tell(feed);
		}
	}
}

/* ---- pods that failed ---- */

/* They leave the watch of the others without saying why. One that failed
 * before we came, or looks different, is no news. */
static void on_failed(void *owner, const struct reflector_id *id,
	const struct value *object)
{
	struct feed *feed = owner;
	enum rejection rejection = rejection_of(object);
	const char *node = value_text_at(object, "spec/nodeName", "");
	const char *vmi = value_text(value_get(
		value_at(object, "metadata/labels"), "kubevirt.io/created-by"));

	places_forget(feed->options.cache, vmi == NULL ? "" : vmi, id->uid);
	if (map_get(&feed->failures, id->uid) != NULL) {
		return;
	}
	(void)map_put(&feed->failures, id->uid, feed);
	if (rejection == REJECTION_NONE || *node == '\0' ||
		!reflector_state(feed->failed).is_synced) {
		return;
	}
	log_warning("kubelet rejected a pod",
		log_str("namespace", id->namespace_name),
		log_str("pod", id->name), log_str("node", node),
		log_str("reason", value_text_at(object, "status/reason", "")),
		log_str("message", value_text_at(object, "status/message", "")),
		LOG_END);
	feed->options.on_rejected(feed->options.owner, node, rejection);
}

static void on_failed_gone(void *owner, const struct reflector_id *id)
{
	struct feed *feed = owner;

	(void)map_remove(&feed->failures, id->uid);
}

static void on_failed_synced(void *owner)
{
	(void)owner;
}

static void on_synced(void *owner)
{
	struct feed *feed = owner;

	if (!feed->is_synced && reflector_state(feed->nodes).is_synced &&
		reflector_state(feed->pods).is_synced &&
		watches_complete(feed->watches)) {
		feed->is_synced = true;
		log_info("the cluster is known",
			log_int("nodes",
				(int64_t)feed->options.cache->cluster.count),
			log_int("pods",
				(int64_t)feed->options.cache->pods.count),
			log_int("waiting",
				(int64_t)feed->options.queue->by_uid.count),
			LOG_END);
		feed->options.on_synced(feed->options.owner);
	}
}

void feed_look(struct feed *feed)
{
	struct reflector_state nodes = reflector_state(feed->nodes);
	struct reflector_state pods = reflector_state(feed->pods);

	if (places_expire(feed->options.cache, now_us())) {
		queue_wake_all(feed->options.queue);
		tell(feed);
	}
	outage_look(&feed->outage, &nodes, &pods, clock_monotonic_us());
	if (watches_look(feed->watches, nodes.is_synced && pods.is_synced,
		    clock_monotonic_us())) {
		on_synced(feed);
	}
}

struct feed *feed_new(struct kube_client *client,
	const struct feed_options *options)
{
	struct feed *feed = xcalloc(1, sizeof(*feed));
	struct reflector_handler nodes = { on_node, on_node_gone, on_synced,
		feed };
	struct reflector_handler pods = { on_pod, on_pod_gone, on_synced,
		feed };

	struct reflector_handler failed = { on_failed, on_failed_gone,
		on_failed_synced, feed };
	scoped_free char *ours =
		xasprintf("status.phase=Failed,spec.schedulerName=%s",
			options->scheduler_name);

	feed->options = *options;
	feed->watches = watches_new(client, &options->cache->cluster,
		&(struct watches_handler){ on_change, on_synced, feed });
	feed->nodes = reflector_new(client,
		&(struct reflector_options){ .path = "/api/v1/nodes" }, &nodes);
	feed->pods = reflector_new(client,
		&(struct reflector_options){ .path = "/api/v1/pods",
			.field_selector = "status.phase!=Succeeded,"
					  "status.phase!=Failed" },
		&pods);
	feed->failed = reflector_new(client,
		&(struct reflector_options){ .path = "/api/v1/pods",
			.field_selector = ours },
		&failed);
	return feed;
}

bool feed_ready(const struct feed *feed, struct buffer *why, size_t connected,
	size_t of)
{
	struct reflector_state nodes = reflector_state(feed->nodes);
	struct reflector_state pods = reflector_state(feed->pods);

	return outage_ready(why, &nodes, &pods, connected, of);
}

void feed_close(struct feed *feed)
{
	if (feed == NULL) {
		return;
	}
	reflector_close(feed->nodes);
	reflector_close(feed->pods);
	reflector_close(feed->failed);
	map_fini(&feed->failures);
	watches_close(feed->watches);
	free(feed);
}
