#include "scheduler/objects/pod_source.h"

#include <string.h>

#include "lib/memory.h"
#include "scheduler/objects/container_statuses.h"
#include "scheduler/objects/resources.h"

static bool is_infeasible(const struct json_value *status)
{
	const struct json_value *list = json_value_get(status, "conditions");

	for (const struct json_value *c = json_value_first(list); c != NULL;
		c = json_value_next(c)) {
		if (strcmp(json_value_text_at(c, "type", ""),
			    "PodResizePending") == 0) {
			return strcmp(json_value_text_at(c, "reason", ""),
				       "Infeasible") == 0;
		}
	}
	return false;
}

static void add(struct resource_entries *entries, struct pod_source *source,
	const struct json_value *list, enum resource_part part)
{
	int r = resource_entries_read(entries, list, part,
		source->error == 0 ? source->err : NULL);

	source->error = source->error < 0 ? source->error : r;
}

/* Adds the requests of a container or pod. status: what reports the resources
 * that it has, or NULL. */
static void add_requests(struct resource_entries *entries,
	struct pod_source *source, const struct json_value *object,
	const struct json_value *status, enum resource_part part)
{
	const struct json_value *reported = json_value_get(status, "resources");
	bool is_reported = json_value_is_object(reported);

	if (!is_reported || !source->is_infeasible) {
		add(entries, source,
			json_value_at(object, "resources/requests"), part);
	}
	if (is_reported) {
		add(entries, source, json_value_get(reported, "requests"),
			part);
		add(entries, source,
			json_value_get(status, "allocatedResources"), part);
	}
}

/* The defaults of what the entries from index `first` on lack. */
static void add_defaults(struct resource_entries *entries, size_t first,
	enum resource_part part)
{
	static const struct {
		const char *name;
		struct quantity amount;
	} defaults[] = {
		{ "cpu", { .nanos = RESOURCES_DEFAULT_CPU_MILLI * 1000000 } },
		{ "memory", { .units = RESOURCES_DEFAULT_MEMORY_BYTES } },
	};
	size_t end = entries->count;

	for (size_t i = 0; i < count_of(defaults); i++) {
		size_t at = first;

		while (at < end &&
			strcmp(entries->list[at].name, defaults[i].name) != 0) {
			at++;
		}
		if (at == end) {
			resource_entries_add(entries,
				&(struct resource_entry){
					.name = defaults[i].name,
					.part = part,
					.is_default = true,
					.amount = defaults[i].amount,
				});
		}
	}
}

/* Adds a list of a container to the views that have no list yet. */
static void add_to_views(struct resource_entries *entries,
	struct pod_source *source, const struct json_value *list,
	unsigned views, enum resource_part part)
{
	size_t first = entries->count;

	if (views == 0) {
		return;
	}
	entries->views = views;
	add(entries, source, list, part);
	add_defaults(entries, first, part);
}

/* A list that the kubelet has not reported is as the spec wants it, unless the
 * resize to the spec is infeasible. */
static void add_views(struct resource_entries *entries,
	struct pod_source *source, const struct json_value *container,
	enum resource_part part)
{
	const struct json_value *status = container_statuses_find(
		&source->statuses, json_value_text_at(container, "name", ""));
	const struct json_value *allocated =
		json_value_get(status, "allocatedResources");
	const struct json_value *actuated =
		json_value_at(status, "resources/requests");
	unsigned left =
		source->has_total_status ? 0 : VIEW_ALLOCATED | VIEW_ACTUATED;
	unsigned taken = json_value_is_object(actuated) ? VIEW_ACTUATED : 0;

	add_to_views(entries, source, actuated, left & taken, part);
	left &= ~taken;
	taken = json_value_is_object(allocated) ? left : 0;
	add_to_views(entries, source, allocated, taken, part);
	left &= ~taken;
	if (source->is_infeasible) {
		add_to_views(entries, source, NULL, left, part);
		left = 0;
	}
	add_to_views(entries, source,
		json_value_at(container, "resources/requests"),
		left | VIEW_SPEC, part);
}

/* The sums that a pod's status reports, in place of its containers'. */
static void add_total_status(struct resource_entries *entries,
	struct pod_source *source)
{
	if (source->has_total_status) {
		entries->place++;
		entries->views = VIEW_ALLOCATED;
		add(entries, source,
			json_value_get(source->status, "allocatedResources"),
			PART_CONTAINER);
		entries->views = VIEW_ACTUATED;
		add(entries, source,
			json_value_at(source->status, "resources/requests"),
			PART_CONTAINER);
	}
	entries->views = VIEWS_ALL;
}

static void add_container(struct resource_entries *entries,
	struct pod_source *source, const struct json_value *container,
	enum resource_part part)
{
	const struct json_value *status = part == PART_INIT
		? NULL
		: container_statuses_find(&source->statuses,
			  json_value_text_at(container, "name", ""));
	size_t first = entries->count;

	entries->place++;
	if (source->has_views) {
		add_views(entries, source, container, part);
		return;
	}
	add_requests(entries, source, container, status, part);
	add_defaults(entries, first, part);
}

static bool is_pod_level(const char *name)
{
	return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
		strncmp(name, "hugepages-", strlen("hugepages-")) == 0;
}

/* Removes the entries from index `first` on that the API does not allow for a
 * pod: it allows cpu, memory and hugepages. */
static void keep_pod_level(struct resource_entries *entries, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < entries->count; i++) {
		if (is_pod_level(entries->list[i].name)) {
			entries->list[kept++] = entries->list[i];
		}
	}
	entries->count = kept;
}

/* Pod-level requests. */
static void add_pod_level(struct resource_entries *entries,
	struct pod_source *source)
{
	size_t first = entries->count;
	bool is_reported = json_value_is_object(
		json_value_get(source->status, "resources"));

	add_requests(entries, source, source->spec, NULL, PART_POD);
	keep_pod_level(entries, first);
	source->has_pod_level = entries->count > first;
	if (!is_reported || (source->has_views && !source->has_pod_level)) {
		return;
	}
	if (!source->has_views) {
		add_requests(entries, source, source->spec, source->status,
			PART_POD_STATUS);
		return;
	}
	entries->count = first;
	add_requests(entries, source, source->spec, source->status, PART_POD);
	keep_pod_level(entries, first);
}

static void add_pod(struct resource_entries *entries, struct pod_source *source)
{
	const struct json_value *v = json_value_first(
		json_value_get(source->spec, "initContainers"));

	for (; v != NULL; v = json_value_next(v)) {
		add_container(entries, source, v,
			container_is_sidecar(v) ? PART_SIDECAR : PART_INIT);
	}
	v = json_value_first(json_value_get(source->spec, "containers"));
	for (; v != NULL; v = json_value_next(v)) {
		add_container(entries, source, v, PART_CONTAINER);
	}
	add_total_status(entries, source);
	entries->place++;
	add_pod_level(entries, source);
	entries->place++;
	add(entries, source, json_value_get(source->spec, "overhead"),
		PART_OVERHEAD);
}

struct pod_source pod_source_of(const struct json_value *spec,
	const struct json_value *status, struct behaviours behaviours,
	struct error *err)
{
	struct pod_source source = {
		.spec = spec,
		.status = status,
		.is_infeasible = is_infeasible(status),
		.has_views = status != NULL &&
			behaviours_have(behaviours, BEHAVIOUR_RESIZE_BY_SUMS),
		.counted = VIEW_SPEC,
		.err = err,
	};

	if (source.has_views) {
		source.counted = source.is_infeasible
			? VIEW_ALLOCATED | VIEW_ACTUATED
			: VIEWS_ALL;
		source.has_total_status =
			json_value_is_object(
				json_value_get(status, "allocatedResources")) &&
			json_value_is_object(
				json_value_at(status, "resources/requests"));
	}
	return source;
}

void pod_source_read(struct resource_entries *out, struct pod_source *source)
{
	container_statuses_read(&source->statuses, source->status,
		source->has_views);
	add_pod(out, source);
	container_statuses_fini(&source->statuses);
}
