/* A placement problem: nodes, and VMs that come, use CPU and go.
 *
 * docs/simulate.md describes the file. What a VM will use is the future: only
 * the simulation reads it, never a policy. */
#pragma once

#include "lib/error.h"

#include <stddef.h>
#include <stdint.h>

/* A year of minutes, and more than anybody's cluster. All steps of all VMs
 * together are at most SCENARIO_FIGURES_MAX. */
enum {
	SCENARIO_STEPS_MAX = 600000,
	SCENARIO_NODES_MAX = 20000,
	SCENARIO_VMS_MAX = 500000,
	SCENARIO_FIGURES_MAX = 64 << 20,
};
#define SCENARIO_FILE_MAX ((size_t)512 << 20)

struct scenario_node {
	char *name;	  /* owned */
	double cpu_cores; /* above 0 */
	int64_t memory_bytes, pods;
};

struct scenario_vm {
	char *name, *namespace; /* owned */
	double vcpus;
	int64_t memory_bytes, cpu_request_milli;
	size_t arrive_step, leave_step; /* leave: the first step it is gone */
	float *cpu_percent;		/* owned; of its vCPUs, each step */
};

struct scenario {
	double step_s;
	size_t steps;
	struct scenario_node *nodes; /* owned */
	size_t node_count;
	struct scenario_vm *vms; /* owned; by arrival */
	size_t vm_count;
};

/* -EBADMSG: not a scenario, and where; -E2BIG, -ERANGE: beyond the limits. */
must_check int scenario_parse(struct scenario *out, const char *text,
	size_t len, struct error *err);

/* The same from a file; also what reading it said. */
must_check int scenario_read(struct scenario *out, const char *path,
	struct error *err);
void scenario_fini(struct scenario *scenario); /* zeroed is fine */

/* Cores that the VM wants at a step while it is there. */
double scenario_demand(const struct scenario_vm *vm, size_t step);
