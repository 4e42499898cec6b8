/* The lists of all nodes and all VMs, written while they are read.
 *
 * In memory are the nodes' names and a part of the text. Figures are
 * those of the moment they are written, ages count to `now` of the head. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/httpd.h"

#include <stddef.h>
#include <stdint.h>

struct identities;

struct list_options {
	const struct live *live;	     /* outlives the stream */
	const struct identities *identities; /* or NULL */
	uint64_t now_us, wall_us;
	size_t *running; /* counts the streams that are there */
};

/* {"epoch","rev","now","nodes":[...]}, nodes by name. */
struct http_stream list_nodes(const struct list_options *options);

/* {"epoch","rev","now","vms":[...]}, as vms_write_node() writes them, nodes by
 * name. */
struct http_stream list_vms(const struct list_options *options);
