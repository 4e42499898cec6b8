/* Host ports: which a pod takes of its node, and whether they are free. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PORTS_MAX = 4096 };

struct host_port {
	uint32_t address, protocol; /* held */
	int32_t port;
};

/* A zeroed one takes none. */
struct host_ports {
	struct host_port *list; /* owned */
	size_t count;
	uint32_t any; /* held: 0.0.0.0; 0 without ports */
};

/* Of containers and sidecars; an ordinary init container's do not count.
 * -E2BIG: more than PORTS_MAX. */
must_check int host_ports_read(struct host_ports *out, struct names *names,
	const struct value *spec, struct error *err);
void host_ports_fini(struct host_ports *ports, struct names *names);

/* Same protocol and port, and the same address or 0.0.0.0 on either side;
 * "::" is an address like others. */
bool host_ports_conflict(const struct host_ports *a,
	const struct host_ports *b);
