/* The load of a node as the aggregator computes it and everybody reads it:
 * /v1/nodes, snapshots, `score --in`.
 *
 * One list names every figure; structs, wire and JSON follow from it. A figure
 * that is not known is NAN and left out everywhere. */
#pragma once

#include "proto/report.h"

/* X(group, field): JSON "group":{"field"}, member group_field.
 *
 * cpu.cores            CPUs online
 * cpu.used_cores       rate over the last interval, 0 to cores
 * cpu.used_cores_10s.. time-weighted means of those rates
 * cpu.stdev_cores_..   their standard deviation in that window
 * cpu.p95_cores_..     their 95th percentile
 * cpu.pressure_some    share of time, last interval; _60s: last minute
 * cpu.contention       waiting for CPU that no limit explains, 0 to 1
 * memory.*_bytes       total, available (MemAvailable), working set of the VM
 *                      pods, mean and deviation of total - available
 * io, memory pressure  shares of time, last interval */
#define LOAD_FIELDS(X)                                                         \
	X(cpu, cores)                                                          \
	X(cpu, used_cores)                                                     \
	X(cpu, used_cores_10s)                                                 \
	X(cpu, used_cores_5m)                                                  \
	X(cpu, used_cores_15m)                                                 \
	X(cpu, used_cores_1h)                                                  \
	X(cpu, stdev_cores_5m)                                                 \
	X(cpu, stdev_cores_15m)                                                \
	X(cpu, stdev_cores_1h)                                                 \
	X(cpu, p95_cores_1h)                                                   \
	X(cpu, p95_cores_1d)                                                   \
	X(cpu, pressure_some)                                                  \
	X(cpu, pressure_some_60s)                                              \
	X(cpu, contention)                                                     \
	X(memory, total_bytes)                                                 \
	X(memory, available_bytes)                                             \
	X(memory, working_set_bytes)                                           \
	X(memory, used_bytes_15m)                                              \
	X(memory, stdev_bytes_15m)                                             \
	X(memory, pressure_some)                                               \
	X(memory, pressure_full)                                               \
	X(io, pressure_some)                                                   \
	X(io, pressure_full)

struct vm_load {
	char pod_uid[REPORT_UID_MAX];
	char *namespace; /* owned; NULL while not known */
	char *name;	 /* owned; of the VM, NULL while not known */
	double used_cores;
	double used_cores_5m;
	double memory_bytes;
	double contention;
};

enum { LOAD_KVM_DETAIL_MAX = 80 };

struct node_load {
	char *name; /* owned */
	/* Of the newest sample, at the moment this struct was made. */
	uint64_t age_us;
	uint32_t interval_ms;
	enum kvm_state kvm_state;
	char kvm_detail[LOAD_KVM_DETAIL_MAX];
	struct hugepages hugepages[REPORT_HUGEPAGE_SIZES];
	size_t hugepages_count;
	struct vm_load *vms; /* owned */
	size_t vm_count;
#define X(group, field) double group##_##field;
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

/* The field called "cpu.used_cores", or NULL. */
const struct load_field *load_field_find(const char *dotted);

double *load_field_of(struct node_load *load, const struct load_field *field);

enum load_state { LOAD_FRESH, LOAD_STALE, LOAD_LOST };

/* stale: older than max(15 s, 3 intervals); lost: older than 5 min. */
enum load_state load_state(uint64_t age_us, uint32_t interval_ms);
const char *load_state_name(enum load_state state);

void node_load_init(struct node_load *load); /* all figures not known */
void node_load_fini(struct node_load *load); /* NULL and zeroed are fine */
void node_load_copy(struct node_load *out, const struct node_load *from);
void vm_load_init(struct vm_load *vm);
