#include "scheduler/objects/resources.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
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

/* How two amounts of the same resource become one. */
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

/* Names beside cpu, memory and ephemeral-storage that NodeResourcesFit looks
 * at: its IsScalarResourceName(). */
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
		struct tally_item *mine = &tally->items[i];

		if (strcmp(mine->name, item->name) == 0) {
			mine->amount = merge(mine->amount, item->amount);
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

/* The API writes strings; people also write whole numbers. */
static int read_quantity(struct quantity *out, const struct value *v,
	const char *name, struct error *err)
{
	const char *text = value_text(v);
	char digits[32];
	double number;
	int r;

	if (text == NULL) {
		if (!value_number(&number, v) || number < 0 || number > 9e15 ||
			floor(number) != number) {
			return error_set(err, -EBADMSG,
				"resource '%s' is not a quantity", name);
		}
		(void)snprintf(digits, sizeof(digits), "%.0f", number);
		text = digits;
	}
	r = quantity_parse(out, text, err);
	return r < 0 ? error_wrap(err, r, "resource '%s'", name) : 0;
}

static int merge_list(struct tally *tally, const struct value *list,
	tally_merge merge, struct error *err)
{
	if (list != NULL && !value_is_object(list) && !value_is_null(list)) {
		return error_set(err, -EBADMSG, "resources are not an object");
	}
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		struct tally_item item = { .name = value_key(v) };
		int r = read_quantity(&item.amount, v, item.name, err);

		if (r == 0) {
			r = merge_item(tally, &item, merge, err);
		}
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* What a running container, or pod, was really given. */
struct given {
	const struct value *resources; /* NULL: not said */
	const struct value *allocated;
	bool is_infeasible; /* what its spec wants will never be */
};

/* Adds what an object with "resources" requests. */
static int merge_requests(struct tally *tally, const struct value *object,
	const struct given *given, struct error *err)
{
	const struct value *wanted = value_at(object, "resources/requests");
	struct tally own = { 0 };
	int r = 0;

	if (given == NULL || !value_is_object(given->resources)) {
		return merge_list(tally, wanted, quantity_add, err);
	}
	if (!given->is_infeasible) {
		r = merge_list(&own, wanted, quantity_larger, err);
	}
	if (r == 0) {
		r = merge_list(&own, value_get(given->resources, "requests"),
			quantity_larger, err);
	}
	if (r == 0) {
		r = merge_list(&own, given->allocated, quantity_larger, err);
	}
	return r < 0 ? r : merge_tally(tally, &own, quantity_add, err);
}

/* Takes one of the fields a struct resources has of its own. */
static bool take_fixed(struct resources *out, const struct tally_item *item)
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

static void take_tally(struct resources *out, struct names *names,
	struct tally *tally)
{
	struct resources taken = { 0 };

	qsort(tally->items, tally->count, sizeof(*tally->items), compare_items);
	taken.others = xcalloc(tally->count + 1, sizeof(*taken.others));
	for (size_t i = 0; i < tally->count; i++) {
		const struct tally_item *item = &tally->items[i];

		if (take_fixed(&taken, item) || !is_counted(item->name) ||
			quantity_units(item->amount) == 0) {
			continue;
		}
		taken.others[taken.other_count++] = (struct amount){
			.resource = names_hold(names, item->name),
			.value = quantity_units(item->amount),
		};
	}
	*out = taken;
}

int resources_read(struct resources *out, struct names *names,
	const struct value *list, struct error *err)
{
	struct tally tally = { 0 };
	int r = merge_list(&tally, list, replace, err);

	if (r < 0) {
		return r;
	}
	take_tally(out, names, &tally);
	return 0;
}

/* What is read of a pod. */
struct reading {
	const struct value *spec;
	const struct value *status; /* NULL: a pod to place */
	bool is_infeasible;
	struct error *err;
};

static bool is_infeasible(const struct value *status)
{
	const struct value *list = value_get(status, "conditions");

	for (const struct value *c = value_first(list); c != NULL;
		c = value_next(c)) {
		if (strcmp(value_text_at(c, "type", ""), "PodResizePending") ==
			0) {
			return strcmp(value_text_at(c, "reason", ""),
				       "Infeasible") == 0;
		}
	}
	return false;
}

static const struct value *status_called(const struct value *list,
	const char *name)
{
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		if (strcmp(value_text_at(v, "name", ""), name) == 0) {
			return v;
		}
	}
	return NULL;
}

/* Init containers come last upstream, so theirs wins over one of the same
 * name. */
static int merge_container(struct tally *tally, const struct reading *of,
	const struct value *container)
{
	const char *name = value_text_at(container, "name", "");
	const struct value *status = status_called(
		value_get(of->status, "initContainerStatuses"), name);
	struct given given = { .is_infeasible = of->is_infeasible };

	if (status == NULL) {
		status = status_called(
			value_get(of->status, "containerStatuses"), name);
	}
	given.resources = value_get(status, "resources");
	given.allocated = value_get(status, "allocatedResources");
	return merge_requests(tally, container, &given, of->err);
}

/* What init containers need at most while they run one after another, and in
 * *sidecars what those that stay need from then on. */
static int tally_init(struct tally *most, struct tally *sidecars,
	const struct reading *of)
{
	const struct value *list = value_get(of->spec, "initContainers");

	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		bool is_sidecar = strcmp(value_text_at(v, "restartPolicy", ""),
					  "Always") == 0;
		struct tally running = *sidecars;
		int r = is_sidecar ? merge_container(&running, of, v)
				   : merge_requests(&running, v, NULL, of->err);

		if (r == 0) {
			r = merge_tally(most, &running, quantity_larger,
				of->err);
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

/* Pod-level requests replace what the containers ask for, where the API takes
 * them: cpu, memory and hugepages. */
static int replace_by_pod_level(struct tally *tally, const struct reading *of)
{
	const struct given given = {
		.resources = value_get(of->status, "resources"),
		.allocated = value_get(of->status, "allocatedResources"),
		.is_infeasible = of->is_infeasible,
	};
	struct tally wanted = { 0 };
	struct tally had = { 0 };
	int r = merge_requests(&wanted, of->spec, NULL, of->err);

	if (r == 0) {
		r = merge_requests(&had, of->spec, &given, of->err);
	}
	for (size_t i = 0; i < wanted.count && r == 0; i++) {
		struct tally_item item = wanted.items[i];

		item.amount = find_quantity(&had, item.name);
		if (is_pod_level(item.name)) {
			r = merge_item(tally, &item, replace, of->err);
		}
	}
	return r;
}

static int tally_containers(struct tally *total, const struct reading *of)
{
	const struct value *list = value_get(of->spec, "containers");
	int r = 0;

	for (const struct value *v = value_first(list); v != NULL && r == 0;
		v = value_next(v)) {
		r = merge_container(total, of, v);
	}
	return r;
}

static int tally_pod(struct tally *total, const struct reading *of)
{
	struct tally sidecars = { 0 };
	struct tally most = { 0 };
	int r = tally_init(&most, &sidecars, of);

	if (r == 0) {
		r = merge_tally(total, &sidecars, quantity_add, of->err);
	}
	if (r == 0) {
		r = tally_containers(total, of);
	}
	if (r == 0) {
		r = merge_tally(total, &most, quantity_larger, of->err);
	}
	if (r == 0) {
		r = replace_by_pod_level(total, of);
	}
	if (r == 0) {
		r = merge_list(total, value_get(of->spec, "overhead"),
			quantity_add, of->err);
	}
	return r;
}

int resources_read_requests(struct resources *out, struct names *names,
	const struct value *spec, const struct value *status, struct error *err)
{
	const struct reading of = { spec, status, is_infeasible(status), err };
	struct tally total = { 0 };
	struct resources taken = { 0 };
	int r = tally_pod(&total, &of);

	if (r < 0) {
		return r;
	}
	take_tally(&taken, names, &total);
	if (taken.other_count > RESOURCES_POD_MAX) {
		resources_fini(&taken, names);
		return error_set(err, -E2BIG,
			"the pod requests more than %d kinds of resources",
			RESOURCES_POD_MAX);
	}
	taken.pods = 0;
	*out = taken;
	return 0;
}

void resources_fini(struct resources *resources, struct names *names)
{
	for (size_t i = 0; i < resources->other_count; i++) {
		names_drop(names, resources->others[i].resource);
	}
	free(resources->others);
	*resources = (struct resources){ 0 };
}
