/* The VMs of a node by KubeVirt's account, and their migrations. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct cluster;
struct flights;

struct node_vms {
	const char *node;
	struct node_vm {
		char *namespace, *name; /* escaped */
	} * vms;
	size_t count, capacity;
};

/* Lists the VMs of all namespaces that run on node, which is kept. */
must_check int node_vms_list(struct node_vms *out, struct cluster *cluster,
	const char *node, struct error *err);
void node_vms_fini(struct node_vms *vms); /* zeroed is fine */

/* Adds the migrations of these VMs that have not ended to flights, which has
 * none before. */
must_check int node_vms_add_flights(struct flights *flights,
	const struct node_vms *vms, struct error *err);
