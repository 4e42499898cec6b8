#include "scheduler/objects/resources.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/quantity.h"
#include "lib/memory.h"
#include "scheduler/objects/container_statuses.h"

/* The part of a pod that requests an amount, in the order of the sum. */
enum part {
	PART_INIT,    /* an init container that ends */
	PART_SIDECAR, /* an init container that keeps running */
	PART_CONTAINER,
	PART_POD,	 /* spec.resources, which replaces the containers */
	PART_POD_STATUS, /* the same after a resize */
	PART_OVERHEAD,
};

/* An amount that some part requests. All entries of a pod are sorted by name
 * and then summed name by name, which takes n log n steps for any pod. Names
 * are borrowed. */
struct entry {
	const char *name;
	size_t place; /* of the container in the pod; 0 for other parts */
	enum part part;
	bool is_default; /* the container does not request the resource */
	struct quantity amount;
};

struct entries {
	struct entry *list; /* owned */
	size_t count, capacity;
	size_t place; /* of the container that is read */
};

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

static void add_entry(struct entries *entries, const struct entry *entry)
{
	entries->list = xgrow(entries->list, entries->count, &entries->capacity,
		sizeof(*entries->list));
	entries->list[entries->count] = *entry;
	entries->list[entries->count++].place = entries->place;
}

/* Keeps the first error and reads on. */
static int add_list(struct entries *entries, const struct json_value *list,
	enum part part, struct error *err)
{
	int first = 0;

	if (list != NULL && !json_value_is_object(list) &&
		!json_value_is_null(list)) {
		return error_set(err, -EBADMSG, "resources are not an object");
	}
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		struct entry entry = { .name = json_value_key(v),
			.part = part };
		int r = read_quantity(&entry.amount, v, entry.name,
			first == 0 ? err : NULL);

		if (r == 0) {
			add_entry(entries, &entry);
		}
		first = first < 0 ? first : r;
	}
	return first;
}

/* By name, then in the order in which they were added. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a;
	const struct entry *y = b;
	int order = strcmp(x->name, y->name);

	order = order != 0 ? order
			   : (x->place > y->place) - (x->place < y->place);
	return order != 0 ? order : (int)x->part - (int)y->part;
}

/* Sets a resource that has its own member; false: it has none. */
static bool set_named(struct resources *out, const char *name,
	struct quantity amount)
{
	if (strcmp(name, "cpu") == 0) {
		out->cpu_milli = quantity_milli(amount);
	} else if (strcmp(name, "memory") == 0) {
		out->memory_bytes = quantity_units(amount);
	} else if (strcmp(name, "ephemeral-storage") == 0) {
		out->ephemeral_bytes = quantity_units(amount);
	} else if (strcmp(name, "pods") == 0) {
		out->pods = quantity_units(amount);
	} else {
		return false;
	}
	return true;
}

static void set_amount(struct resources *out, struct interner *interner,
	const char *name, struct quantity amount)
{
	if (!set_named(out, name, amount) && is_counted(name) &&
		quantity_units(amount) != 0) {
		out->scalars[out->scalar_count++] = (struct amount){
			.resource = interner_hold(interner, name),
			.value = quantity_units(amount),
		};
	}
}

int resources_read(struct resources *out, struct interner *interner,
	const struct json_value *list, struct error *err)
{
	struct entries entries = { 0 };
	int r = add_list(&entries, list, PART_CONTAINER, err);

	if (r < 0) {
		free(entries.list);
		return r;
	}
	*out = (struct resources){
		.scalars = xcalloc(entries.count + 1, sizeof(*out->scalars)),
	};
	if (entries.count > 0) {
		qsort(entries.list, entries.count, sizeof(*entries.list),
			compare_entries);
	}
	for (size_t i = 0; i < entries.count; i++) {
		set_amount(out, interner, entries.list[i].name,
			entries.list[i].amount);
	}
	free(entries.list);
	return 0;
}

/* ---- the parts of a pod ---- */

struct pod_source {
	const struct json_value *spec;
	const struct json_value *status; /* NULL: an incoming pod */
	struct container_statuses statuses;
	bool is_infeasible; /* the resize to its spec is */
	bool has_pod_level; /* requests that replace those of containers */
	struct error *err;
	int error; /* the first, or 0 */
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

static void add(struct entries *entries, struct pod_source *source,
	const struct json_value *list, enum part part)
{
	int r = add_list(entries, list, part,
		source->error == 0 ? source->err : NULL);

	source->error = source->error < 0 ? source->error : r;
}

/* Adds the requests of a container or pod. status: what reports the resources
 * that it has, or NULL. */
static void add_requests(struct entries *entries, struct pod_source *source,
	const struct json_value *object, const struct json_value *status,
	enum part part)
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
static void add_defaults(struct entries *entries, size_t first, enum part part)
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
			add_entry(entries,
				&(struct entry){
					.name = defaults[i].name,
					.part = part,
					.is_default = true,
					.amount = defaults[i].amount,
				});
		}
	}
}

static void add_container(struct entries *entries, struct pod_source *source,
	const struct json_value *container, enum part part)
{
	const struct json_value *status = part == PART_INIT
		? NULL
		: container_statuses_find(&source->statuses,
			  json_value_text_at(container, "name", ""));
	size_t first = entries->count;

	entries->place++;
	add_requests(entries, source, container, status, part);
	add_defaults(entries, first, part);
}

static bool is_pod_level(const char *name)
{
	return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
		has_prefix(name, "hugepages-");
}

/* Pod-level requests. The API allows cpu, memory and hugepages there. */
static void add_pod_level(struct entries *entries, struct pod_source *source)
{
	size_t first = entries->count;
	size_t kept = first;

	add_requests(entries, source, source->spec, NULL, PART_POD);
	for (size_t i = first; i < entries->count; i++) {
		if (is_pod_level(entries->list[i].name)) {
			entries->list[kept++] = entries->list[i];
		}
	}
	entries->count = kept;
	source->has_pod_level = kept > first;
	if (json_value_is_object(json_value_get(source->status, "resources"))) {
		add_requests(entries, source, source->spec, source->status,
			PART_POD_STATUS);
	}
}

static void add_pod(struct entries *entries, struct pod_source *source)
{
	const struct json_value *v = json_value_first(
		json_value_get(source->spec, "initContainers"));

	for (; v != NULL; v = json_value_next(v)) {
		add_container(entries, source, v,
			resources_is_sidecar(v) ? PART_SIDECAR : PART_INIT);
	}
	v = json_value_first(json_value_get(source->spec, "containers"));
	for (; v != NULL; v = json_value_next(v)) {
		add_container(entries, source, v, PART_CONTAINER);
	}
	entries->place++;
	add_pod_level(entries, source);
	entries->place++;
	add(entries, source, json_value_get(source->spec, "overhead"),
		PART_OVERHEAD);
}

/* ---- the sum of one resource ---- */

struct sum {
	struct quantity running, sidecars, init_max;
	struct quantity pod, pod_status, overhead;
	bool is_pod_level;
};

/* The terms that count in a sum. */
struct terms {
	bool has_defaults;  /* of containers */
	bool has_pod_level; /* requests in place of the containers' */
	bool has_status;    /* the pod's, in place of its spec */
};

static void add_to_sum(struct sum *sum, enum part part, struct quantity amount)
{
	switch (part) {
	case PART_INIT:
		sum->init_max = quantity_larger(sum->init_max,
			quantity_add(sum->sidecars, amount));
		break;
	case PART_SIDECAR:
		sum->sidecars = quantity_add(sum->sidecars, amount);
		sum->init_max = quantity_larger(sum->init_max, sum->sidecars);
		break;
	case PART_CONTAINER:
		sum->running = quantity_add(sum->running, amount);
		break;
	case PART_POD:
		sum->is_pod_level = true;
		sum->pod = amount;
		break;
	case PART_POD_STATUS:
		sum->pod_status = quantity_larger(sum->pod_status, amount);
		break;
	case PART_OVERHEAD:
		sum->overhead = amount;
		break;
	}
}

static struct quantity total_of(const struct sum *sum,
	const struct terms *terms)
{
	struct quantity total = quantity_larger(
		quantity_add(sum->running, sum->sidecars), sum->init_max);

	if (sum->is_pod_level && terms->has_pod_level) {
		total = terms->has_status ? sum->pod_status : sum->pod;
	}
	return quantity_add(total, sum->overhead);
}

/* The largest of count entries; *is_known is false if none counts. */
static struct quantity largest_entry(bool *is_known, const struct entry *list,
	size_t count, const struct terms *terms)
{
	struct quantity amount = { 0 };

	*is_known = false;
	for (size_t i = 0; i < count; i++) {
		if (terms->has_defaults || !list[i].is_default) {
			amount = quantity_larger(amount, list[i].amount);
			*is_known = true;
		}
	}
	return amount;
}

/* Sums the entries of one name; each part counts its largest entry. */
static struct quantity sum_entries(const struct entry *list, size_t count,
	const struct terms *terms)
{
	struct sum sum = { 0 };
	size_t end;

	for (size_t i = 0; i < count; i = end) {
		struct quantity amount;
		bool is_known;

		end = i + 1;
		while (end < count && list[end].place == list[i].place &&
			list[end].part == list[i].part) {
			end++;
		}
		amount = largest_entry(&is_known, &list[i], end - i, terms);
		if (is_known) {
			add_to_sum(&sum, list[i].part, amount);
		}
	}
	return total_of(&sum, terms);
}

static bool has_request(const struct entry *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!list[i].is_default && list[i].part != PART_POD_STATUS) {
			return true;
		}
	}
	return false;
}

static void set_sum(struct resources *out, struct interner *interner,
	const struct pod_source *source, const struct entry *list, size_t count)
{
	bool is_placed = source->status != NULL;
	struct terms terms = {
		.has_pod_level = true,
		.has_status = json_value_is_object(
			json_value_get(source->status, "resources")),
	};
	struct quantity nonzero;

	set_amount(out, interner, list->name, sum_entries(list, count, &terms));
	/* Upstream has no defaults beside the pod-level requests of a placed
	 * pod, and LeastAllocated overlooks those of an incoming pod. */
	terms.has_pod_level = is_placed;
	terms.has_defaults = !is_placed || !source->has_pod_level ||
		!has_request(list, count);
	nonzero = sum_entries(list, count, &terms);
	if (strcmp(list->name, "cpu") == 0) {
		out->nonzero_milli = quantity_milli(nonzero);
	} else if (strcmp(list->name, "memory") == 0) {
		out->nonzero_bytes = quantity_units(nonzero);
	}
}

int resources_read_requests(struct resources *out, struct interner *interner,
	const struct json_value *spec, const struct json_value *status,
	struct error *err)
{
	struct pod_source source = {
		.spec = spec,
		.status = status,
		.is_infeasible = is_infeasible(status),
		.err = err,
	};
	struct entries entries = { 0 };
	size_t end;

	container_statuses_read(&source.statuses, status);
	add_pod(&entries, &source);
	container_statuses_fini(&source.statuses);
	*out = (struct resources){
		.scalars = xcalloc(entries.count + 1, sizeof(*out->scalars)),
	};
	if (entries.count > 0) {
		qsort(entries.list, entries.count, sizeof(*entries.list),
			compare_entries);
	}
	for (size_t i = 0; i < entries.count; i = end) {
		end = i + 1;
		while (end < entries.count &&
			strcmp(entries.list[end].name, entries.list[i].name) ==
				0) {
			end++;
		}
		set_sum(out, interner, &source, &entries.list[i], end - i);
	}
	out->pods = 0;
	free(entries.list);
	out->scalars = xrealloc(out->scalars, out->scalar_count + 1,
		sizeof(*out->scalars));
	return source.error;
}

void resources_fini(struct resources *resources, struct interner *interner)
{
	for (size_t i = 0; i < resources->scalar_count; i++) {
		interner_drop(interner, resources->scalars[i].resource);
	}
	free(resources->scalars);
	*resources = (struct resources){ 0 };
}
