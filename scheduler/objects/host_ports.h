/* The host ports of a pod, and conflicts between two pods. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_PORTS_MAX = 4096 };

struct host_port {
	uint32_t address, protocol; /* held */
	int32_t port;
};

/* Zeroed: none. */
struct host_ports {
	struct host_port *list; /* owned */
	size_t count;
	uint32_t any; /* 0.0.0.0, held; 0 without ports */
};

/* Reads the ports of containers and sidecars. Those of other init containers do
 * not count. -E2BIG: more than HOST_PORTS_MAX. */
must_check int host_ports_read(struct host_ports *out,
	struct interner *interner, const struct json_value *spec,
	struct error *err);
void host_ports_fini(struct host_ports *ports, struct interner *interner);

/* Equal protocol and port, and equal addresses or 0.0.0.0 on one side. "::" has
 * no special meaning. */
bool host_ports_conflict(const struct host_ports *a,
	const struct host_ports *b);
