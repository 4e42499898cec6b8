/* A scenario: nodes, and VMs that arrive, use CPU and leave.
 *
 * docs/simulate.md describes the file. Only the simulation reads the CPU usage
 * of a VM, never a policy: it is the future. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than a year of minutes, and more than any cluster. The steps of all VMs
 * together are at most SCENARIO_FIGURES_MAX. */
enum {
	SCENARIO_STEPS_MAX = 600000,
	SCENARIO_NODES_MAX = 20000,
	SCENARIO_VMS_MAX = 500000,
	SCENARIO_FIGURES_MAX = 64 << 20,
};
/* A VM has no more: the object of its launcher pod has room for these. */
enum { SCENARIO_LABELS_MAX = 16 };
#define SCENARIO_FILE_MAX ((size_t)512 << 20)

struct scenario_node {
	char *name;	  /* owned */
	double cpu_cores; /* above 0 */
	int64_t memory_bytes, pods;
};

struct scenario_label {
	char *key, *value; /* owned */
};

struct scenario_vm {
	char *name, *namespace; /* owned */
	double vcpus;
	int64_t memory_bytes, cpu_request_milli;
	char *expected_cores;	       /* owned; its announcement, or NULL */
	struct scenario_label *labels; /* owned */
	size_t label_count;
	size_t arrive_step, leave_step; /* leave: the first step without it */
	float *cpu_percent;		/* owned; of its vCPUs, per step */
	/* Owned; memory in use, of memory_bytes, per step; NULL: 100. Above 100
	 * where less is requested than the guest has. */
	float *memory_percent;
};

struct scenario {
	double step_s;
	size_t steps;
	struct scenario_node *nodes; /* owned */
	size_t node_count;
	struct scenario_vm *vms; /* owned; by arrival */
	size_t vm_count;
	bool has_memory_use; /* some VM has memory_percent */
};

/* -EBADMSG: invalid; -E2BIG, -ERANGE: above the limits. The error names the
 * place. */
must_check int scenario_parse(struct scenario *out, const char *text,
	size_t len, struct error *err);

/* The same from a file ("-": standard input); also errors of reading. */
must_check int scenario_read(struct scenario *out, const char *path,
	struct error *err);

/* For scenario_import.c: reads step_s and steps. */
must_check int scenario_time(struct scenario *s, const struct json_value *input,
	struct error *err);

/* The same: allocates s->vms for the list of VMs. -E2BIG: the VMs have too many
 * steps in total. */
must_check int scenario_open_vms(struct scenario *s,
	const struct json_value **list, const struct json_value *input,
	struct error *err);

void scenario_fini(struct scenario *scenario); /* zeroed is fine */

/* The cores that the VM demands at a step of its life. */
double scenario_demand(const struct scenario_vm *vm, size_t step);

/* The bytes that the VM uses at a step of its life. */
double scenario_memory(const struct scenario_vm *vm, size_t step);
