/* The host ports of a pod, and conflicts between two pods. */
#pragma once

#include "kube/json_value.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_port {
	uint32_t address, protocol; /* held */
	int32_t port;
	bool is_any; /* the address is 0.0.0.0 */
};

/* Zeroed: none. */
struct host_ports {
	struct host_port *list; /* owned; sorted, see host_ports.c */
	size_t count, capacity;
};

/* Reads the ports of containers and sidecars. Those of other init containers do
 * not count. */
void host_ports_read(struct host_ports *out, struct interner *interner,
	const struct json_value *spec);
void host_ports_fini(struct host_ports *ports, struct interner *interner);

/* Equal protocol and port, and equal addresses or 0.0.0.0 on one side. "::" has
 * no special meaning. */
bool host_ports_conflict(const struct host_ports *a,
	const struct host_ports *b);
