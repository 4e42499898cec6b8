/* The table of a report's fields. These are made from its lists: the structs
 * of proto/report.h and proto/kvm_state.h, the wire (proto/wire_report.c), the
 * stored columns (aggregator/codec/report_schema.c), the JSON of
 * `plimsoll-agent --once` (agent/report_json.c) and the metrics
 * (aggregator/series/metric_names.c). The table is in proto/ because agent and
 * aggregator share no other room that knows reports. It holds plain data.
 *
 * A list has one row per field, X(of, kind, name, column, part, metric...):
 *   of      the second argument of the list, for the user of the row
 *   kind    one of enum report_kind
 *   name    of the member, of the wire's field and of the JSON's key
 *   column  number of the stored column: one sequence for the node, one for
 *           a VM pod, one for the entries of each list
 *   part    of a chunk that holds it: SCHEMA_<part> of codec/report_schema.h
 *   metric  NONE, or GAUGE, COUNTER, SECONDS (a counter of microseconds) or
 *           WORD (1, with the state as a label), the name and the HELP
 *           sentence; or CPU_MODE and the mode, a label of CPU time
 *
 * To add a field:
 *   1. Add its row where JSON and /metrics are to show it. Take the next
 *      free column; report_schema.c has those of the lengths of lists.
 *   2. Add its line with a new number to the message in plimsoll.proto.
 *   3. Set it in the agent, which measures it, and describe it in
 *      docs/metrics.md and its metric in docs/http.md.
 *   4. Raise CHUNK_VERSION (aggregator/codec/chunk.h), and the format in
 *      aggregator/store/schema.c: older programs cannot read the chunks.
 * The keys boot_id, pod_uid and cgroup_inode and the lengths of lists have no
 * rows. A new struct or list also needs code in each file named above. */
#pragma once

#include "proto/psi_fields.h"
#include "proto/report_kind.h"
#include "proto/vm_pod_fields.h"

/* From 1, one more per report of a run of the agent. */
#define REPORT_KEY_FIELDS(X, of) X(of, U64, seq, 0, REST, NONE)

/* Both clocks are those of the agent's machine. */
#define REPORT_TIME_FIELDS(X, of)                                              \
	X(of, U64, monotonic_us, 1, ALWAYS, NONE)                              \
	X(of, CLOCK, wall_us, 2, REST, NONE) /* for people */                  \
	X(of, PLAIN_U32, interval_ms, 3, ALWAYS, NONE)

/* Sums over the CPUs since boot. */
#define CPU_FIELDS(X, of)                                                      \
	X(of, STATE, state, 4, CPU, NONE)                                      \
	X(of, COUNT, online, 5, CPU, NONE)                                     \
	X(of, COUNT, possible, 6, REST, NONE)                                  \
	X(of, U64, user_us, 7, CPU, CPU_MODE, "user")                          \
	X(of, U64, nice_us, 8, CPU, CPU_MODE, "nice")                          \
	X(of, U64, system_us, 9, CPU, CPU_MODE, "system")                      \
	X(of, U64, idle_us, 10, REST, CPU_MODE, "idle")                        \
	X(of, U64, iowait_us, 11, REST, CPU_MODE, "iowait")                    \
	X(of, U64, irq_us, 12, CPU, CPU_MODE, "irq")                           \
	X(of, U64, softirq_us, 13, CPU, CPU_MODE, "softirq")                   \
	X(of, U64, steal_us, 14, REST, CPU_MODE, "steal")

#define MEMORY_FIELDS(X, of)                                                   \
	X(of, STATE, state, 36, MEMORY, NONE)                                  \
	X(of, U64, total_bytes, 37, MEMORY, GAUGE,                             \
		"node_memory_MemTotal_bytes", "MemTotal of /proc/meminfo")     \
	X(of, U64, available_bytes, 38, MEMORY, GAUGE,                         \
		"node_memory_MemAvailable_bytes",                              \
		"MemAvailable of /proc/meminfo")                               \
	X(of, U64, swap_total_bytes, 39, REST, GAUGE,                          \
		"node_memory_SwapTotal_bytes", "SwapTotal of /proc/meminfo")   \
	X(of, U64, swap_free_bytes, 40, REST, GAUGE,                           \
		"node_memory_SwapFree_bytes", "SwapFree of /proc/meminfo")     \
	X(of, U64, ksm_saved_bytes, 41, REST, GAUGE,                           \
		"plimsoll_node_memory_ksm_saved_bytes",                        \
		"Memory that KSM shares, charged to several pods but present " \
		"once")                                                        \
	X(of, U64, swap_in_bytes, 63, MEMORY, COUNTER,                         \
		"plimsoll_node_memory_swap_in_bytes_total",                    \
		"Bytes that the node read back from swap")

#define REPORT_LOAD_FIELDS(X, of)                                              \
	X(of, DOUBLE, load1, 42, REST, GAUGE, "node_load1",                    \
		"Load average of 1 minute")                                    \
	X(of, DOUBLE, load5, 43, REST, GAUGE, "node_load5",                    \
		"Load average of 5 minutes")                                   \
	X(of, DOUBLE, load15, 44, REST, GAUGE, "node_load15",                  \
		"Load average of 15 minutes")                                  \
	X(of, CGROUP_MODE, cgroup_mode, 45, MEMORY, NONE)

#define KVM_FIELDS(X, of)                                                      \
	X(of, KVM_STATE, state, 46, REST, WORD, "plimsoll_node_kvm",           \
		"1 for the state of KVM on the node")                          \
	X(of, KVM_LEVEL, level, 47, REST, NONE)                                \
	X(of, ERRNO, error_number, 48, REST, NONE)                             \
	X(of, EXIT_REASON, exit_reason, 49, REST, NONE) /* KVM_EXIT_* */       \
	X(of, PLAIN_U64, latency_us, 50, REST, NONE)                           \
	X(of, KNOWN_BOOL, nested, 51, REST, NONE)

/* Their JSON keys have no "has_". */
#define KVM_DEVICES(X, of)                                                     \
	X(of, BOOL, has_tun, 52, REST, NONE)                                   \
	X(of, BOOL, has_vhost_net, 53, REST, NONE)                             \
	X(of, BOOL, has_vhost_vsock, 54, REST, NONE)                           \
	X(of, BOOL, has_sev, 55, REST, NONE)

/* VM pods that did not fit; which reports have a pod's slow values. */
#define REPORT_VMS_FIELDS(X, of)                                               \
	X(of, U64, vms_skipped, 56, REST, GAUGE, "plimsoll_node_vms_skipped",  \
		"VM pods that did not fit in the report")                      \
	X(of, COUNT, slow_every, 64, REST, NONE)

/* Reports that this run of the agent has lost from its ring so far. */
#define REPORT_RUN_FIELDS(X, of)                                               \
	X(of, U64, dropped, 57, REST, COUNTER,                                 \
		"plimsoll_node_reports_dropped_total",                         \
		"Reports that the agent lost before they were stored")

/* The cost of the agent's own process; CPU time is user and system. */
#define OWN_COST_FIELDS(X, of)                                                 \
	X(of, U64, cpu_us, 58, REST, SECONDS,                                  \
		"plimsoll_agent_cpu_seconds_total",                            \
		"CPU time of the agent itself")                                \
	X(of, U64, rss_bytes, 59, REST, GAUGE,                                 \
		"plimsoll_agent_resident_memory_bytes",                        \
		"Resident memory of the agent itself")                         \
	X(of, U64, spool_bytes, 60, REST, GAUGE, "plimsoll_agent_spool_bytes", \
		"Bytes of reports that the agent spools on disk")

/* Pages of one size. */
#define HUGEPAGES_FIELDS(X, of)                                                \
	X(of, U64, size_bytes, 0, REST, NONE)                                  \
	X(of, U64, total, 1, REST, GAUGE, "plimsoll_node_hugepages",           \
		"Huge pages in the pool")                                      \
	X(of, U64, free, 2, REST, GAUGE, "plimsoll_node_hugepages_free",       \
		"Huge pages that are not in use")                              \
	X(of, U64, reserved, 3, REST, GAUGE,                                   \
		"plimsoll_node_hugepages_reserved",                            \
		"Huge pages that are reserved but not yet in use")

/* Pages of one size on one NUMA node. */
#define NUMA_HUGEPAGES_FIELDS(X, of)                                           \
	X(of, U64, numa_node, 0, REST, NONE)                                   \
	X(of, U64, size_bytes, 1, REST, NONE)                                  \
	X(of, U64, total, 2, REST, GAUGE, "plimsoll_node_numa_hugepages",      \
		"Huge pages in the pool of a NUMA node")                       \
	X(of, U64, free, 3, REST, GAUGE, "plimsoll_node_numa_hugepages_free",  \
		"Huge pages of a NUMA node that are not in use")

/* The fields of the Report message itself. */
#define REPORT_OWN_FIELDS(X, of)                                               \
	REPORT_KEY_FIELDS(X, of)                                               \
	REPORT_TIME_FIELDS(X, of)                                              \
	REPORT_LOAD_FIELDS(X, of)                                              \
	REPORT_VMS_FIELDS(X, of)                                               \
	REPORT_RUN_FIELDS(X, of)

/* All rows of the node, with the path of their struct in struct report. */
#define REPORT_FIELDS(X)                                                       \
	REPORT_OWN_FIELDS(X, )                                                 \
	CPU_FIELDS(X, cpu.)                                                    \
	MEMORY_FIELDS(X, memory.)                                              \
	KVM_FIELDS(X, kvm.)                                                    \
	KVM_DEVICES(X, kvm.)                                                   \
	OWN_COST_FIELDS(X, own.)
