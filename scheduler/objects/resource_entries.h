/* The amounts of resources that the parts of a pod request, as a list. */
#pragma once

#include "kube/json_value.h"
#include "kube/quantity.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The part of a pod that requests an amount, in the order of the sum. */
enum resource_part {
	PART_INIT,    /* an init container that ends */
	PART_SIDECAR, /* an init container that keeps running */
	PART_CONTAINER,
	PART_POD,	 /* spec.resources, which replaces the containers */
	PART_POD_STATUS, /* the same after a resize */
	PART_OVERHEAD,
};

/* The sums in which an amount counts; bits. With BEHAVIOUR_RESIZE_BY_SUMS, a
 * pod that has a node counts as the largest of three sums: of what the spec
 * wants, of what the kubelet has allocated, and of what the containers have.
 * Otherwise there is one sum, VIEW_SPEC. */
enum resource_view {
	VIEW_SPEC = 1,
	VIEW_ALLOCATED = 2,
	VIEW_ACTUATED = 4,
	VIEWS_ALL = 7,
};

/* An amount that some part requests. All entries of a pod are sorted by name
 * and then summed name by name, which takes n log n steps for any pod. Names
 * are borrowed. */
struct resource_entry {
	const char *name;
	size_t place; /* of the container in the pod; 0 for other parts */
	enum resource_part part;
	unsigned views;	 /* enum resource_view */
	bool is_default; /* the container does not request the resource */
	struct quantity amount;
};

struct resource_entries {
	struct resource_entry *list; /* owned */
	size_t count, capacity;
	size_t place;	/* of the container that is read */
	unsigned views; /* of the amounts that are read */
};

/* Appends a copy of the entry, at the place and with the views of the list. */
void resource_entries_add(struct resource_entries *entries,
	const struct resource_entry *entry);

/* Appends a ResourceList. Keeps the first error, -EBADMSG, and reads on. */
int resource_entries_read(struct resource_entries *entries,
	const struct json_value *list, enum resource_part part,
	struct error *err);

/* For qsort(3): by name, then in the order in which they were added. */
int resource_entries_compare(const void *a, const void *b);

/* Entries of one name by the part that requests them. */
int resource_entries_compare_parts(const struct resource_entry *a,
	const struct resource_entry *b);
