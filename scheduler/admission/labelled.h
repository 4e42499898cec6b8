/* The namespaces whose VMs plimsoll is asked to schedule: those with the label
 * plimsoll.io/schedule=enabled. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/cluster/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABELLED_KEY "plimsoll.io/schedule"
#define LABELLED_VALUE "enabled"

struct labelled {
	const struct cluster *cluster; /* borrowed */
	uint32_t key, value;	       /* of the label; held */
};

void labelled_init(struct labelled *labelled, const struct cluster *cluster);
void labelled_fini(struct labelled *labelled); /* before the cluster */

/* The Namespace object exists and has the label. */
bool labelled_has(const struct labelled *labelled, const char *name);

/* Appends the names in order, such as "a, b and 7 more", and returns their
 * number. out NULL: only counts. */
size_t labelled_list(struct buffer *out, const struct labelled *labelled);
