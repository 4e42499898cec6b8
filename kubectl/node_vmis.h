/* The VMs of a node by KubeVirt's account, and their migrations. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

struct api_client;
struct migrations;

struct node_vmis {
	const char *node;
	struct node_vmi {
		char *namespace, *name; /* escaped */
	} * vms;
	size_t count, capacity;
};

/* Lists the VMs of all namespaces that run on node, which is kept. */
must_check int node_vmis_list(struct node_vmis *out, struct api_client *client,
	const char *node, struct error *err);
void node_vmis_fini(struct node_vmis *vms); /* zeroed is fine */

/* Adds the migrations of these VMs that have not ended to migrations, which has
 * none before. */
must_check int node_vmis_add_migrations(struct migrations *migrations,
	const struct node_vmis *vms, struct error *err);
