/* The figures of the load of a node and of a VM (proto/load.h).
 *
 * A figure has one name, from which the others are made:
 *
 *     X(cpu, pressure_some, RATIO, ...)
 *     member of a struct, wire      cpu_pressure_some
 *     JSON of /v1                   "cpu":{"pressure_some"}
 *     history                       cpu.pressure_some
 *     metric                        plimsoll_node_cpu_pressure_some_ratio
 *     Kubernetes API, in camelCase  status.cpu.pressureSome
 *
 * A name begins with what is measured, in the words of the kernel: some and
 * full are lines of /proc/pressure/cpu, and the report that has their totals
 * in microseconds names them pressure.cpu.some_us (proto/psi_fields.h). Then
 * comes the unit, except of shares, then the length of a window.
 *
 * X(group, field, metric, HELP): the figure has a metric if `metric` is GAUGE,
 * or RATIO: the metric's name ends in _ratio. NONE: the report itself has the
 * metric. Means, deviations and percentiles are weighted with time; memory in
 * use is MemTotal less MemAvailable. Shares and the contention are 0 to 1. */
#pragma once

#define CPU_LOAD_FIELDS(X)                                                     \
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
		"than their own limits")

#define MEMORY_LOAD_FIELDS(X)                                                  \
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
		"Bytes a second read back from swap, mean of 60 s")

#define IO_LOAD_FIELDS(X)                                                      \
	X(io, pressure_some, RATIO,                                            \
		"Share of the last interval in which some task waited for "    \
		"I/O")                                                         \
	X(io, pressure_full, RATIO,                                            \
		"Share of the last interval in which all non-idle tasks "      \
		"waited for I/O")                                              \
	X(io, pressure_full_60s, RATIO,                                        \
		"Share of the last minute in which all non-idle tasks waited " \
		"for I/O")

#define LOAD_FIELDS(X)                                                         \
	CPU_LOAD_FIELDS(X)                                                     \
	MEMORY_LOAD_FIELDS(X)                                                  \
	IO_LOAD_FIELDS(X)

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
