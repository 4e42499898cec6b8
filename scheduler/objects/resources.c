#include "scheduler/objects/resources.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "kube/quantity.h"

/* Exact sums by name, rounded only at the end. Names are borrowed. */
struct tally {
	struct tally_item {
		const char *name;
		struct quantity amount;
	} items[RESOURCES_NODE_MAX];
	size_t count;
};

/* Merges two amounts of the same resource. */
typedef struct quantity (*tally_merge)(struct quantity a, struct quantity b);

static struct quantity replace(struct quantity a, struct quantity b)
{
	(void)a;
	return b;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* NodeResourcesFit's IsScalarResourceName(). */
static bool is_counted(const char *name)
{
	if (strstr(name, "kubernetes.io/") != NULL) {
		return true;
	}
	if (strchr(name, '/') != NULL) {
		return !has_prefix(name, "requests.");
	}
	return has_prefix(name, "hugepages-") ||
		has_prefix(name, "attachable-volumes-");
}

static int merge_item(struct tally *tally, const struct tally_item *item,
	tally_merge merge, struct error *err)
{
	for (size_t i = 0; i < tally->count; i++) {
		struct tally_item *found = &tally->items[i];

		if (strcmp(found->name, item->name) == 0) {
			found->amount = merge(found->amount, item->amount);
			return 0;
		}
	}
	if (tally->count == RESOURCES_NODE_MAX) {
		return error_set(err, -E2BIG, "more than %d kinds of resources",
			RESOURCES_NODE_MAX);
	}
	tally->items[tally->count++] = *item;
	return 0;
}

static int merge_tally(struct tally *tally, const struct tally *other,
	tally_merge merge, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < other->count && r == 0; i++) {
		r = merge_item(tally, &other->items[i], merge, err);
	}
	return r;
}

/* The API serves strings; manifests may have whole numbers. */
static int read_quantity(struct quantity *out, const struct json_value *v,
	const char *name, struct error *err)
{
	const char *text = json_value_text(v);
	char digits[32];
	double number;
	int r;

	if (text == NULL) {
		if (!json_value_number(&number, v) || number < 0 ||
			number > 9e15 || floor(number) != number) {
			return error_set(err, -EBADMSG,
				"resource '%s' is not a quantity", name);
		}
		(void)snprintf(digits, sizeof(digits), "%.0f", number);
		text = digits;
	}
	r = quantity_parse(out, text, err);
	return r < 0 ? error_wrap(err, r, "resource '%s'", name) : 0;
}

static int merge_list(struct tally *tally, const struct json_value *list,
	tally_merge merge, struct error *err)
{
	if (list != NULL && !json_value_is_object(list) &&
		!json_value_is_null(list)) {
		return error_set(err, -EBADMSG, "resources are not an object");
	}
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		struct tally_item item = { .name = json_value_key(v) };
		int r = read_quantity(&item.amount, v, item.name, err);

		r = r < 0 ? r : merge_item(tally, &item, merge, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* The resources that the status of a container or pod reports. */
struct status_resources {
	const struct json_value *resources; /* NULL: not reported */
	const struct json_value *allocated;
	bool is_infeasible; /* the resize to its spec is */
};

/* Adds the requests of a container or pod. status: NULL without one. */
static int merge_requests(struct tally *tally, const struct json_value *object,
	const struct status_resources *status, struct error *err)
{
	const struct json_value *requested =
		json_value_at(object, "resources/requests");
	struct tally sum = { 0 };
	int r = 0;

	if (status == NULL || !json_value_is_object(status->resources)) {
		return merge_list(tally, requested, quantity_add, err);
	}
	if (!status->is_infeasible) {
		r = merge_list(&sum, requested, quantity_larger, err);
	}
	if (r == 0) {
		r = merge_list(&sum,
			json_value_get(status->resources, "requests"),
			quantity_larger, err);
	}
	if (r == 0) {
		r = merge_list(&sum, status->allocated, quantity_larger, err);
	}
	return r < 0 ? r : merge_tally(tally, &sum, quantity_add, err);
}

/* Sets a resource that has its own member; false: it has none. */
static bool set_named(struct resources *out, const struct tally_item *item)
{
	if (strcmp(item->name, "cpu") == 0) {
		out->cpu_milli = quantity_milli(item->amount);
	} else if (strcmp(item->name, "memory") == 0) {
		out->memory_bytes = quantity_units(item->amount);
	} else if (strcmp(item->name, "ephemeral-storage") == 0) {
		out->ephemeral_bytes = quantity_units(item->amount);
	} else if (strcmp(item->name, "pods") == 0) {
		out->pods = quantity_units(item->amount);
	} else {
		return false;
	}
	return true;
}

static int compare_items(const void *a, const void *b)
{
	const struct tally_item *x = a;
	const struct tally_item *y = b;

	return strcmp(x->name, y->name);
}

static void set_from_tally(struct resources *out, struct interner *interner,
	struct tally *tally)
{
	struct resources read = { 0 };

	qsort(tally->items, tally->count, sizeof(*tally->items), compare_items);
	read.scalars = xcalloc(tally->count + 1, sizeof(*read.scalars));
	for (size_t i = 0; i < tally->count; i++) {
		const struct tally_item *item = &tally->items[i];

		if (set_named(&read, item) || !is_counted(item->name) ||
			quantity_units(item->amount) == 0) {
			continue;
		}
		read.scalars[read.scalar_count++] = (struct amount){
			.resource = interner_hold(interner, item->name),
			.value = quantity_units(item->amount),
		};
	}
	*out = read;
}

int resources_read(struct resources *out, struct interner *interner,
	const struct json_value *list, struct error *err)
{
	struct tally tally = { 0 };
	int r = merge_list(&tally, list, replace, err);

	if (r < 0) {
		return r;
	}
	set_from_tally(out, interner, &tally);
	return 0;
}

struct pod_source {
	const struct json_value *spec;
	const struct json_value *status; /* NULL: an incoming pod */
	bool is_infeasible;
	struct error *err;
};

bool resources_is_sidecar(const struct json_value *container)
{
	return strcmp(json_value_text_at(container, "restartPolicy", ""),
		       "Always") == 0;
}

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

static const struct json_value *find_status(const struct json_value *list,
	const char *name)
{
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (strcmp(json_value_text_at(v, "name", ""), name) == 0) {
			return v;
		}
	}
	return NULL;
}

/* Upstream reads init containers last, so the status of an init container wins
 * over a container of the same name. */
static int merge_container(struct tally *tally, const struct pod_source *source,
	const struct json_value *container)
{
	const char *name = json_value_text_at(container, "name", "");
	const struct json_value *found = find_status(
		json_value_get(source->status, "initContainerStatuses"), name);
	struct status_resources status = { .is_infeasible =
						   source->is_infeasible };

	if (found == NULL) {
		found = find_status(
			json_value_get(source->status, "containerStatuses"),
			name);
	}
	status.resources = json_value_get(found, "resources");
	status.allocated = json_value_get(found, "allocatedResources");
	return merge_requests(tally, container, &status, source->err);
}

/* The maximum that init containers need while they run one after another, and
 * in *sidecars the sum of the sidecars, which keep running. */
static int tally_init_containers(struct tally *init_max, struct tally *sidecars,
	const struct pod_source *source)
{
	const struct json_value *list =
		json_value_get(source->spec, "initContainers");

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		bool is_sidecar = resources_is_sidecar(v);
		struct tally running = *sidecars;
		int r = is_sidecar
			? merge_container(&running, source, v)
			: merge_requests(&running, v, NULL, source->err);

		if (r == 0) {
			r = merge_tally(init_max, &running, quantity_larger,
				source->err);
		}
		if (r < 0) {
			return r;
		}
		if (is_sidecar) {
			*sidecars = running;
		}
	}
	return 0;
}

static bool is_pod_level(const char *name)
{
	return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
		has_prefix(name, "hugepages-");
}

static struct quantity find_quantity(const struct tally *tally,
	const char *name)
{
	for (size_t i = 0; i < tally->count; i++) {
		if (strcmp(tally->items[i].name, name) == 0) {
			return tally->items[i].amount;
		}
	}
	return (struct quantity){ 0 };
}

/* Pod-level requests replace the sums of the containers. The API allows cpu,
 * memory and hugepages there. */
static int replace_by_pod_level(struct tally *tally,
	const struct pod_source *source)
{
	const struct status_resources status = {
		.resources = json_value_get(source->status, "resources"),
		.allocated =
			json_value_get(source->status, "allocatedResources"),
		.is_infeasible = source->is_infeasible,
	};
	struct tally requested = { 0 };
	struct tally allocated_sum = { 0 };
	int r = merge_requests(&requested, source->spec, NULL, source->err);

	if (r == 0) {
		r = merge_requests(&allocated_sum, source->spec, &status,
			source->err);
	}
	for (size_t i = 0; i < requested.count && r == 0; i++) {
		struct tally_item item = requested.items[i];

		item.amount = find_quantity(&allocated_sum, item.name);
		if (is_pod_level(item.name)) {
			r = merge_item(tally, &item, replace, source->err);
		}
	}
	return r;
}

static int tally_containers(struct tally *total,
	const struct pod_source *source)
{
	const struct json_value *list =
		json_value_get(source->spec, "containers");
	int r = 0;

	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		r = merge_container(total, source, v);
	}
	return r;
}

static int tally_pod(struct tally *total, const struct pod_source *source)
{
	struct tally sidecars = { 0 };
	struct tally init_max = { 0 };
	int r = tally_init_containers(&init_max, &sidecars, source);

	if (r == 0) {
		r = merge_tally(total, &sidecars, quantity_add, source->err);
	}
	r = r < 0 ? r : tally_containers(total, source);
	if (r == 0) {
		r = merge_tally(total, &init_max, quantity_larger, source->err);
	}
	r = r < 0 ? r : replace_by_pod_level(total, source);
	if (r == 0) {
		r = merge_list(total, json_value_get(source->spec, "overhead"),
			quantity_add, source->err);
	}
	return r;
}

int resources_read_requests(struct resources *out, struct interner *interner,
	const struct json_value *spec, const struct json_value *status,
	struct error *err)
{
	const struct pod_source source = { spec, status, is_infeasible(status),
		err };
	struct tally total = { 0 };
	struct resources read = { 0 };
	int r = tally_pod(&total, &source);

	if (r < 0) {
		return r;
	}
	set_from_tally(&read, interner, &total);
	if (read.scalar_count > RESOURCES_POD_MAX) {
		resources_fini(&read, interner);
		return error_set(err, -E2BIG,
			"the pod requests more than %d kinds of resources",
			RESOURCES_POD_MAX);
	}
	read.pods = 0;
	*out = read;
	return 0;
}

void resources_fini(struct resources *resources, struct interner *interner)
{
	for (size_t i = 0; i < resources->scalar_count; i++) {
		interner_drop(interner, resources->scalars[i].resource);
	}
	free(resources->scalars);
	*resources = (struct resources){ 0 };
}
