/* The load of a node as the aggregator computes it, for /v1/nodes, snapshots
 * and `score --in`.
 *
 * Structs, wire, JSON and metrics are made from the lists of figures. An
 * unknown figure is NAN and left out of all of them. */
#pragma once

#include "proto/report.h"

/* X(group, field, metric): member group_field, JSON "group":{"field"}, metric
 * plimsoll_node_group_field if `metric` is GAUGE and its HELP sentence. RATIO:
 * the metric's name ends in _ratio. NONE: the report itself has the metric.
 * Means, deviations and percentiles are weighted with time; memory in use is
 * MemTotal less MemAvailable. Shares and the contention are 0 to 1. */
#define LOAD_FIELDS(X)                                                         \
	X(cpu, cores, GAUGE, "CPUs online")                                    \
	X(cpu, used_cores, GAUGE, "CPUs in use over the last interval")        \
	X(cpu, used_cores_10s, GAUGE, "CPUs in use, mean of 10 s")             \
	X(cpu, used_cores_5m, GAUGE, "CPUs in use, mean of 5 min")             \
	X(cpu, used_cores_15m, GAUGE, "CPUs in use, mean of 15 min")           \
	X(cpu, used_cores_1h, GAUGE, "CPUs in use, mean of 1 h")               \
	X(cpu, stdev_cores_5m, GAUGE,                                          \
		"Standard deviation of the CPUs in use, 5 min")                \
	X(cpu, stdev_cores_15m, GAUGE,                                         \
		"Standard deviation of the CPUs in use, 15 min")               \
	X(cpu, stdev_cores_1h, GAUGE,                                          \
		"Standard deviation of the CPUs in use, 1 h")                  \
	X(cpu, p95_cores_1h, GAUGE, "95th percentile of the CPUs in use, 1 h") \
	X(cpu, p95_cores_1d, GAUGE, "95th percentile of the CPUs in use, 1 d") \
	X(cpu, pressure_some, RATIO,                                           \
		"Share of the last interval in which some task waited for "    \
		"CPU")                                                         \
	X(cpu, pressure_some_60s, RATIO,                                       \
		"Share of the last minute in which some task waited for CPU")  \
	X(cpu, contention, RATIO,                                              \
		"Share of time the VMs waited for CPU for another reason "     \
		"than their own limits")                                       \
	X(memory, total_bytes, NONE, "Usable memory of the node (MemTotal)")   \
	X(memory, available_bytes, NONE,                                       \
		"Memory for new work without swapping (MemAvailable)")         \
	X(memory, working_set_bytes, GAUGE, "Working set of all VM pods")      \
	X(memory, used_bytes_15m, GAUGE,                                       \
		"MemTotal less MemAvailable, mean of 15 min")                  \
	X(memory, stdev_bytes_15m, GAUGE,                                      \
		"Standard deviation of the memory in use, 15 min")             \
	X(memory, pressure_some, RATIO,                                        \
		"Share of the last interval in which some task waited for "    \
		"memory")                                                      \
	X(memory, pressure_full, RATIO,                                        \
		"Share of the last interval in which all non-idle tasks "      \
		"waited for memory")                                           \
	X(memory, pressure_full_60s, RATIO,                                    \
		"Share of the last minute in which all non-idle tasks waited " \
		"for memory")                                                  \
	X(memory, swap_in_bytes_60s, GAUGE,                                    \
		"Bytes a second read back from swap, mean of 60 s")            \
	X(io, pressure_some, RATIO,                                            \
		"Share of the last interval in which some task waited for "    \
		"I/O")                                                         \
	X(io, pressure_full, RATIO,                                            \
		"Share of the last interval in which all non-idle tasks "      \
		"waited for I/O")                                              \
	X(io, pressure_full_60s, RATIO,                                        \
		"Share of the last minute in which all non-idle tasks waited " \
		"for I/O")

/* X(field, metric, HELP): metric plimsoll_vm_field, as above. The last three
 * are means that fade with a time constant of 60 s. They are NAN where they are
 * next to 0, because few of 30,000 VMs wait or swap. */
#define VM_LOAD_FIELDS(X)                                                      \
	X(used_cores, GAUGE, "CPUs in use over the last interval")             \
	X(used_cores_5m, GAUGE, "CPUs in use, mean of 5 min")                  \
	X(memory_bytes, GAUGE,                                                 \
		"Anonymous memory, shared memory and huge pages of the VM")    \
	X(contention, RATIO,                                                   \
		"Share of time the VM waited for CPU for another reason than " \
		"its own limit")                                               \
	X(memory_pressure, RATIO,                                              \
		"Share of about the last minute in which all tasks of the VM " \
		"waited for memory")                                           \
	X(io_pressure, RATIO,                                                  \
		"Share of about the last minute in which all tasks of the VM " \
		"waited for I/O")                                              \
	X(swap_bytes, GAUGE, "Memory of the VM in swap")

struct vm_load {
	char pod_uid[REPORT_UID_MAX];
	char *namespace; /* in the node's `names`; NULL while unknown */
	char *name;	 /* of the VM; in the node's `names`, or NULL */
#define X(field, ...) double field;
	VM_LOAD_FIELDS(X)
#undef X
};

enum { LOAD_KVM_DETAIL_MAX = 80 };

struct node_load {
	char *name;	 /* owned */
	uint64_t age_us; /* of the newest sample, when this was made */
	uint32_t interval_ms;
	enum kvm_state kvm_state;
	char kvm_detail[LOAD_KVM_DETAIL_MAX];
	struct hugepages hugepages[REPORT_HUGEPAGE_SIZES];
	size_t hugepages_count;
	struct vm_load *vms; /* owned */
	size_t vm_count;
	char *names; /* owned; the texts that the VMs point to */
#define X(group, field, ...) double group##_##field;
	LOAD_FIELDS(X)
#undef X
};

struct load_field {
	const char *group;
	const char *name;
	size_t offset; /* of the double in struct node_load */
};

/* All of LOAD_FIELDS in order; load_field_count of them. */
extern const struct load_field load_fields[];
extern const size_t load_field_count;

double *load_field_of(struct node_load *load, const struct load_field *field);

enum load_state { LOAD_FRESH, LOAD_STALE, LOAD_LOST };

/* stale: older than max(15 s, 3 intervals); lost: older than 5 min. */
enum load_state load_state(uint64_t age_us, uint32_t interval_ms);
const char *load_state_name(enum load_state state);

void node_load_init(struct node_load *load); /* all figures unknown */
void node_load_fini(struct node_load *load); /* NULL and zeroed are fine */
void node_load_copy(struct node_load *out, const struct node_load *from);

struct vm_name {
	const char *namespace; /* NULL: unknown, as name */
	const char *name;
};

/* Copies the names of all VMs, in order. Call it once. */
void node_load_name_vms(struct node_load *load, const struct vm_name *names);
void vm_load_init(struct vm_load *vm);

/* ---- on the wire, as in proto/wire.h ---- */

struct snapshot_request {
	uint64_t epoch, rev;
};

struct snapshot {
	uint64_t epoch, rev;
	bool full;		 /* forget nodes of earlier snapshots */
	struct node_load *nodes; /* owned */
	size_t count;
};
void snapshot_fini(struct snapshot *snapshot); /* NULL, zeroed are fine */
