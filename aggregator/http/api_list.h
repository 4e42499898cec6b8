/* The lists of all nodes and all VMs, written while the client reads them.
 *
 * The nodes' names and a part of the text are in memory. Figures are current
 * when they are written; ages are relative to `now` in the head. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/http/httpd.h"

struct identities;

struct api_list_options {
	const struct live *live;	     /* outlives the stream */
	const struct identities *identities; /* or NULL */
	uint64_t now_us, wall_us;
};

/* {"epoch","rev","now","nodes":[...]}, nodes by name. */
struct httpd_stream api_list_nodes(const struct api_list_options *options);

/* {"epoch","rev","now","vms":[...]}, as vm_pods_write_node() writes them, by
 * node name. */
struct httpd_stream api_list_vms(const struct api_list_options *options);
