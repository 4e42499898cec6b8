#include "scheduler/objects/resources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/quantity.h"
#include "lib/memory.h"
#include "scheduler/objects/pod_source.h"
#include "scheduler/objects/resource_entries.h"

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

#define HUGEPAGES "hugepages-"

uint64_t resources_page_bytes(const char *name)
{
	struct quantity size;

	if (!has_prefix(name, HUGEPAGES) ||
		quantity_parse(&size, name + strlen(HUGEPAGES), NULL) < 0) {
		return 0;
	}
	return (uint64_t)quantity_units(size);
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
	return has_prefix(name, HUGEPAGES) ||
		has_prefix(name, "attachable-volumes-");
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
	struct resource_entries entries = { 0 };
	int r = resource_entries_read(&entries, list, PART_CONTAINER, err);

	if (r < 0) {
		free(entries.list);
		return r;
	}
	*out = (struct resources){
		.scalars = xcalloc(entries.count + 1, sizeof(*out->scalars)),
	};
	if (entries.count > 0) {
		qsort(entries.list, entries.count, sizeof(*entries.list),
			resource_entries_compare);
	}
	for (size_t i = 0; i < entries.count; i++) {
		set_amount(out, interner, entries.list[i].name,
			entries.list[i].amount);
	}
	free(entries.list);
	return 0;
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
	unsigned view;	    /* of the entries that count */
};

static void add_to_sum(struct sum *sum, enum resource_part part,
	struct quantity amount)
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

/* Adds the largest of the entries of one part, if any of them counts. */
static void add_largest(struct sum *sum, const struct resource_entry *list,
	size_t count, const struct terms *terms)
{
	struct quantity amount = { 0 };
	bool is_known = false;

	for (size_t i = 0; i < count; i++) {
		if ((list[i].views & terms->view) != 0 &&
			(terms->has_defaults || !list[i].is_default)) {
			amount = quantity_larger(amount, list[i].amount);
			is_known = true;
		}
	}
	if (is_known) {
		add_to_sum(sum, list->part, amount);
	}
}

/* Sums the entries of one name in one view. */
static struct quantity sum_view(const struct resource_entry *list, size_t count,
	const struct terms *terms)
{
	struct sum sum = { 0 };
	size_t end;

	for (size_t i = 0; i < count; i = end) {
		end = i + 1;
		while (end < count &&
			resource_entries_compare_parts(&list[end], &list[i]) ==
				0) {
			end++;
		}
		add_largest(&sum, &list[i], end - i, terms);
	}
	return total_of(&sum, terms);
}

/* The largest of the sums that count. */
static struct quantity sum_entries(const struct resource_entry *list,
	size_t count, struct terms terms, unsigned counted)
{
	struct quantity largest = { 0 };

	for (unsigned view = VIEW_SPEC; view <= VIEW_ACTUATED; view *= 2) {
		terms.view = counted & view;
		if (terms.view != 0) {
			largest = quantity_larger(largest,
				sum_view(list, count, &terms));
		}
	}
	return largest;
}

static bool has_request(const struct resource_entry *list, size_t count,
	unsigned counted)
{
	for (size_t i = 0; i < count; i++) {
		if ((list[i].views & counted) != 0 && !list[i].is_default &&
			list[i].part != PART_POD_STATUS) {
			return true;
		}
	}
	return false;
}

static void set_sum(struct resources *out, struct interner *interner,
	const struct pod_source *source, const struct resource_entry *list,
	size_t count)
{
	bool is_placed = source->status != NULL;
	struct terms terms = {
		.has_pod_level = true,
		.has_status = !source->has_views &&
			json_value_is_object(
				json_value_get(source->status, "resources")),
	};
	struct quantity nonzero;

	set_amount(out, interner, list->name,
		sum_entries(list, count, terms, source->counted));
	/* Upstream has no defaults beside the pod-level requests of a placed
	 * pod, and LeastAllocated overlooks those of an incoming pod. */
	terms.has_pod_level = is_placed;
	terms.has_defaults = !is_placed || !source->has_pod_level ||
		!has_request(list, count, source->counted);
	nonzero = sum_entries(list, count, terms, source->counted);
	if (strcmp(list->name, "cpu") == 0) {
		out->nonzero_milli = quantity_milli(nonzero);
	} else if (strcmp(list->name, "memory") == 0) {
		out->nonzero_bytes = quantity_units(nonzero);
	}
}

int resources_read_requests(struct resources *out, struct interner *interner,
	const struct json_value *spec, const struct json_value *status,
	struct behaviours behaviours, struct error *err)
{
	struct pod_source source = pod_source_of(spec, status, behaviours, err);
	struct resource_entries entries = { .views = VIEW_SPEC };
	size_t end;

	pod_source_read(&entries, &source);
	*out = (struct resources){
		.scalars = xcalloc(entries.count + 1, sizeof(*out->scalars)),
	};
	if (entries.count > 0) {
		qsort(entries.list, entries.count, sizeof(*entries.list),
			resource_entries_compare);
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
