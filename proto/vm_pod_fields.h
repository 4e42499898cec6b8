/* The part of the table of proto/report_fields.h that is about one VM pod; the
 * rules and the columns of its rows are described there. */
#pragma once

#define VM_POD_CPU_FIELDS(X, of)                                               \
	X(of, U64, cpu_usage_us, 0, POD_CPU, SECONDS,                          \
		"container_cpu_usage_seconds_total", "CPU time of the VM pod") \
	X(of, U64, nr_throttled, 1, POD_REST, COUNTER,                         \
		"container_cpu_cfs_throttled_periods_total",                   \
		"Periods in which the VM pod used up its CPU limit")           \
	X(of, U64, throttled_us, 2, POD_CPU, SECONDS,                          \
		"container_cpu_cfs_throttled_seconds_total",                   \
		"Seconds in which the CPU limit throttled the VM pod")

/* These are slow values, as are huge pages and the pressures of memory and io:
 * each is in one of slow_every reports in a row (proto/plimsoll.proto), all of
 * a pod's in the same one. */
#define VM_POD_MEMORY_FIELDS(X, of)                                            \
	X(of, U64, memory_current_bytes, 12, POD_REST, GAUGE,                  \
		"container_memory_usage_bytes",                                \
		"Memory of the VM pod with page cache, without huge pages")    \
	X(of, U64, working_set_bytes, 13, POD_MEMORY, GAUGE,                   \
		"container_memory_working_set_bytes",                          \
		"Memory of the VM pod without inactive page cache")            \
	X(of, U64, anon_shmem_bytes, 14, POD_MEMORY, GAUGE,                    \
		"plimsoll_vm_anon_shmem_bytes",                                \
		"Anonymous and shared memory of the VM pod")                   \
	X(of, U64, swap_bytes, 15, POD_REST, GAUGE, "container_memory_swap",   \
		"Bytes of the VM pod in swap")                                 \
	X(of, U64, oom_kills, 16, POD_REST, COUNTER,                           \
		"container_oom_events_total",                                  \
		"Processes of the VM pod that the OOM killer killed")

#define HUGETLB_USE_FIELDS(X, of)                                              \
	X(of, U64, size_bytes, 0, POD_MEMORY, NONE)                            \
	X(of, U64, used_bytes, 1, POD_MEMORY, GAUGE,                           \
		"container_hugetlb_usage_bytes",                               \
		"Huge pages in use by the VM pod")

#define VM_POD_FIELDS(X, of)                                                   \
	VM_POD_CPU_FIELDS(X, of)                                               \
	VM_POD_MEMORY_FIELDS(X, of)
