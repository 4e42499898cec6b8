#include "scheduler/cache/reservations.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct reservation {
	char *key;    /* see key_of() */
	char *uid;    /* of the temporary pod, or of the copy */
	char *source; /* an order: uid of the pod the VM runs in; else NULL */
	char *node;   /* an order: the target; else NULL */
	struct pod *suspended; /* owned; NULL while the cache has it */
	int64_t bound_us, until_us;
};

static void reservation_free(struct reservation *reservation)
{
	if (reservation != NULL) {
		pod_free(reservation->suspended);
		free(reservation->key);
		free(reservation->uid);
		free(reservation->source);
		free(reservation->node);
		free(reservation);
	}
}

void reservations_init(struct reservations *reservations, struct cache *cache)
{
	*reservations = (struct reservations){ .cache = cache };
}

void reservations_fini(struct reservations *reservations)
{
	size_t at = 0;
	void *value;

	while (map_next(&reservations->by_vmi, &at, NULL, &value)) {
		reservation_free(value);
	}
	map_fini(&reservations->by_vmi);
}

/* The label with the UID of a VMI is what the creator of a pod wrote. Pods of
 * other namespaces are not the VM's. The caller frees the key. */
static char *key_of(const char *namespace, const char *vmi_uid)
{
	return xasprintf("%s/%s", namespace, vmi_uid);
}

/* NULL: the pod's VM has no reservation. */
static struct reservation *find(const struct reservations *reservations,
	const struct pod *pod)
{
	scoped_free char *key = key_of(pod->namespace, pod->vmi_uid);

	return map_get(&reservations->by_vmi, key);
}

static bool is_order_of(const struct reservation *held, const char *source)
{
	return held != NULL && held->source != NULL &&
		strcmp(held->source, source) == 0;
}

static void end(struct reservations *reservations, struct reservation *held)
{
	(void)cache_remove_pod(reservations->cache, held->uid);
	reservation_free(map_remove(&reservations->by_vmi, held->key));
}

static struct reservation *add(struct reservations *reservations,
	const struct pod *pod, const char *uid, int64_t until_us)
{
	struct reservation *held = xcalloc(1, sizeof(*held));

	held->key = key_of(pod->namespace, pod->vmi_uid);
	held->uid = xstrdup(uid);
	held->until_us = until_us;
	(void)map_put(&reservations->by_vmi, held->key, held);
	return held;
}

bool reservations_hold(struct reservations *reservations, const char *uid,
	int64_t now_us)
{
	const struct pod *pod = cache_pod(reservations->cache, uid);
	struct reservation *held;

	if (pod == NULL || *pod->vmi_uid == '\0' || *pod->node_name == '\0') {
		return false;
	}
	held = find(reservations, pod);
	if (is_order_of(held, uid)) {
		end(reservations, held); /* the VM ended */
		return false;
	}
	if (!pod->is_provisional) {
		return false;
	}
	if (held == NULL) {
		held = add(reservations, pod, uid,
			now_us + RESERVATIONS_HOLD_US);
	}
	return strcmp(held->uid, uid) == 0;
}

/* ---- orders ---- */

/* The uids of pods are UUIDs. The text is shorter than REPORT_UID_MAX, the
 * longest uid of a node's VM. */
static char *copy_uid_of(const char *pod_uid)
{
	return xasprintf("mv:%s", pod_uid);
}

static bool renew(struct reservation *held, int64_t now_us)
{
	held->until_us = now_us + RESERVATIONS_ORDER_US;
	return true;
}

bool reservations_order(struct reservations *reservations, const char *pod_uid,
	const char *node, int64_t now_us)
{
	const struct pod *pod = cache_pod(reservations->cache, pod_uid);
	scoped_free char *uid = copy_uid_of(pod_uid);
	struct reservation *held;

	if (pod == NULL || *pod->vmi_uid == '\0') {
		return false;
	}
	held = find(reservations, pod);
	if (held != NULL) {
		return is_order_of(held, pod_uid) &&
			strcmp(held->node, node) == 0 && renew(held, now_us);
	}
	if (!cache_put_copy(reservations->cache, pod_uid, uid, node, now_us)) {
		return false;
	}
	held = add(reservations, pod, uid, now_us + RESERVATIONS_ORDER_US);
	held->source = xstrdup(pod_uid);
	held->node = xstrdup(node);
	return true;
}

/* The order of the VMI; NULL: it has none. */
static struct reservation *find_order(const struct reservations *reservations,
	const char *namespace, const char *vmi_uid)
{
	scoped_free char *key = key_of(namespace, vmi_uid);
	struct reservation *held = map_get(&reservations->by_vmi, key);

	return held != NULL && held->source != NULL ? held : NULL;
}

bool reservations_renew(struct reservations *reservations,
	const char *namespace, const char *vmi_uid, int64_t now_us)
{
	struct reservation *held = find_order(reservations, namespace, vmi_uid);

	return held != NULL && renew(held, now_us);
}

bool reservations_cancel(struct reservations *reservations,
	const char *namespace, const char *vmi_uid)
{
	struct reservation *held = find_order(reservations, namespace, vmi_uid);

	if (held != NULL) {
		end(reservations, held);
	}
	return held != NULL;
}

bool reservations_are_for(const struct reservations *reservations,
	const struct pod *target)
{
	const struct reservation *held = find(reservations, target);

	return held != NULL && held->source != NULL && target->is_target &&
		strcmp(held->source, target->uid) != 0;
}

bool reservations_target_gone(struct reservations *reservations,
	const struct pod *target)
{
	bool is_order = reservations_are_for(reservations, target);

	if (is_order) {
		end(reservations, find(reservations, target));
	}
	return is_order;
}

/* ---- decisions ---- */

/* The aggregators may not know the VM's profile. */
static void take_usage(const struct reservations *reservations, struct pod *pod)
{
	const struct pod *source =
		cache_migration_source(reservations->cache, pod);

	if (source != NULL) {
		struct usage usage =
			cache_usage(reservations->cache, source->uid);

		if (usage.seconds > pod->usage.seconds) {
			pod->usage = usage;
		} else if (usage.recent_seconds > 0) {
			/* Profiles do not have it. */
			pod->usage.recent_seconds = usage.recent_seconds;
			pod->usage.recent_cores = usage.recent_cores;
		}
	}
}

void reservations_suspend(struct reservations *reservations, struct pod *pod)
{
	struct reservation *held = find(reservations, pod);

	if (held != NULL && held->suspended == NULL) {
		held->suspended = cache_take_pod(reservations->cache, held->uid,
			&held->bound_us);
	}
	if (pod->is_target) {
		take_usage(reservations, pod);
	}
}

void reservations_resume(struct reservations *reservations,
	const struct pod *pod)
{
	struct reservation *held = find(reservations, pod);

	if (held != NULL && held->suspended != NULL) {
		cache_put_pod(reservations->cache, take_ptr(held->suspended),
			held->bound_us);
	}
}

/* The pod source of an order has a node all the time, and a hotplugged volume
 * has a pod of its own. */
static bool replaces(const struct pod *pod, const struct reservation *held)
{
	if (strcmp(held->uid, pod->uid) == 0) {
		return false;
	}
	return held->source == NULL ||
		(pod->is_launcher && !pod->is_provisional &&
			strcmp(held->source, pod->uid) != 0);
}

void reservations_assume(struct reservations *reservations,
	const struct pod *pod)
{
	const struct reservation *held = find(reservations, pod);

	if (held != NULL && !replaces(pod, held)) {
		reservations_resume(reservations, pod);
	}
}

void reservations_settle(struct reservations *reservations,
	const struct pod *pod)
{
	struct reservation *held = find(reservations, pod);

	if (held != NULL && replaces(pod, held)) {
		end(reservations, held);
	}
}

bool reservations_drop(struct reservations *reservations, const char *namespace,
	const char *vmi_uid, const char *uid)
{
	scoped_free char *key = key_of(namespace, vmi_uid);
	struct reservation *held = map_get(&reservations->by_vmi, key);

	if (is_order_of(held, uid)) {
		end(reservations, held);
	} else if (held != NULL && strcmp(held->uid, uid) == 0) {
		reservation_free(map_remove(&reservations->by_vmi, key));
	}
	return cache_remove_pod(reservations->cache, uid);
}

bool reservations_expire(struct reservations *reservations, int64_t now_us)
{
	bool was_any = false;
	size_t at = 0;
	void *value;

	while (map_next(&reservations->by_vmi, &at, NULL, &value)) {
		struct reservation *held = value;

		if (held->until_us <= now_us) {
			end(reservations, held);
			was_any = true;
		}
	}
	return was_any;
}
