#include "scheduler/admission/missed_pods.h"

#include "kube/json_value.h"
#include "lib/memory.h"
#include "scheduler/admission/review.h"
#include "scheduler/admission/unplaceable.h"

#include <stdlib.h>
#include <string.h>

struct seen_pod {
	char *namespace;
	char *full_name;   /* "namespace/pod" */
	char *unsupported; /* unplaceable_why(); NULL: can be placed */
	uint64_t number;   /* of those that cannot be placed, in order */
	bool is_missed;
	bool is_placed; /* by whoever created it */
};

static void seen_pod_free(struct seen_pod *seen)
{
	if (seen != NULL) {
		free(seen->namespace);
		free(seen->full_name);
		free(seen->unsupported);
		free(seen);
	}
}

void missed_pods_fini(struct missed_pods *pods)
{
	size_t at = 0;
	const char *uid;
	void *value;

	while (map_next(&pods->by_uid, &at, &uid, &value)) {
		seen_pod_free(value);
	}
	map_fini(&pods->by_uid);
	free(pods->newest);
	*pods = (struct missed_pods){ 0 };
}

static bool has_condition(const struct json_value *pod, const char *type)
{
	const struct json_value *c =
		json_value_first(json_value_at(pod, "status/conditions"));

	while (c != NULL &&
		strcmp(json_value_text_at(c, "type", ""), type) != 0) {
		c = json_value_next(c);
	}
	return c != NULL;
}

/* A scheduler sets this condition together with the node; the kubelet sets it
 * later. */
static bool is_created_on_node(const struct json_value *pod)
{
	return *json_value_text_at(pod, "spec/nodeName", "") != '\0' &&
		!has_condition(pod, "PodScheduled");
}

static struct seen_pod *add(struct missed_pods *pods,
	const struct labelled *labelled, const struct reflector_id *id,
	const struct json_value *pod)
{
	struct seen_pod *seen = xcalloc(1, sizeof(*seen));

	seen->namespace = xstrdup(id->namespace_name);
	seen->full_name = xasprintf("%s/%s", id->namespace_name, id->name);
	seen->is_placed = is_created_on_node(pod);
	seen->unsupported = unplaceable_why(&labelled->cluster->storage,
		id->namespace_name, pod);
	seen->number = seen->unsupported == NULL ? 0 : ++pods->seen;
	(void)map_put(&pods->by_uid, id->uid, seen);
	return seen;
}

enum missed_kind missed_pods_see(struct missed_pods *pods,
	const struct labelled *labelled, const struct reflector_id *id,
	const struct json_value *pod, bool is_new)
{
	struct seen_pod *seen;

	if (!review_is_unclaimed(pod)) {
		missed_pods_gone(pods, id->uid);
		return MISSED_NOT;
	}
	if (map_get(&pods->by_uid, id->uid) != NULL) {
		return MISSED_NOT;
	}
	seen = add(pods, labelled, id, pod);
	if (!is_new || seen->is_placed ||
		!labelled_has(labelled, id->namespace_name)) {
		return MISSED_NOT;
	}
	if (seen->unsupported != NULL) {
		return MISSED_UNSUPPORTED;
	}
	seen->is_missed = true;
	pods->total++;
	xreplace(&pods->newest, seen->full_name);
	return MISSED_NAME;
}

const char *missed_pods_unsupported(const struct missed_pods *pods,
	const char *uid)
{
	const struct seen_pod *seen = map_get(&pods->by_uid, uid);

	return seen == NULL ? NULL : seen->unsupported;
}

void missed_pods_gone(struct missed_pods *pods, const char *uid)
{
	seen_pod_free(map_remove(&pods->by_uid, uid));
}

static void count_unsupported(struct missed_counts *counts,
	const struct seen_pod *seen, uint64_t *last)
{
	counts->unsupported++;
	if (seen->number > *last) {
		*last = seen->number;
		counts->example = seen->full_name;
		counts->why = seen->unsupported;
	}
}

struct missed_counts missed_pods_count(const struct missed_pods *pods,
	const struct labelled *labelled)
{
	struct missed_counts counts = { 0 };
	uint64_t last = 0;
	size_t at = 0;
	const char *uid;
	void *value;

	while (map_next(&pods->by_uid, &at, &uid, &value)) {
		const struct seen_pod *seen = value;

		if (seen->is_placed ||
			!labelled_has(labelled, seen->namespace)) {
			continue;
		}
		if (seen->unsupported != NULL) {
			count_unsupported(&counts, seen, &last);
		} else {
			counts.missed += seen->is_missed;
			counts.earlier += !seen->is_missed;
		}
	}
	return counts;
}
