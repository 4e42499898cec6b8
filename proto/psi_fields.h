/* The part of the table of proto/report_fields.h that is about pressure stall
 * information. */
#pragma once

/* The rows of one psi, whose columns and metrics are in the lists below. */
#define PSI_FIELDS(X, of)                                                      \
	X(of, STATE, state, 0, NONE, NONE)                                     \
	X(of, U64, some_us, 1, NONE, NONE)                                     \
	X(of, U64, full_us, 2, NONE, NONE)

/* X(member, column, part, part of full_us, lines, metric, whose, for what):
 * `column` and the two that follow hold state, some_us and full_us. The line
 * "some" is exported as <metric>_waiting_seconds_total, the line "full" as
 * <metric>_stalled_seconds_total, if `lines` names them. */
#define REPORT_PSI(X)                                                          \
	X(pressure.cpu, 15, PRESSURE, REST, SOME, "node_pressure_cpu",         \
		"the node", "CPU")                                             \
	X(pressure.memory, 18, PRESSURE, FULL, BOTH, "node_pressure_memory",   \
		"the node", "memory")                                          \
	X(pressure.io, 21, PRESSURE, FULL, BOTH, "node_pressure_io",           \
		"the node", "I/O")                                             \
	X(irq, 33, REST, REST, IRQ, "node_pressure_irq", "the node", "IRQ")    \
	X(kubepods.cpu, 24, REST, REST, BOTH,                                  \
		"plimsoll_kubepods_pressure_cpu", "the pods", "CPU")           \
	X(kubepods.memory, 27, REST, REST, BOTH,                               \
		"plimsoll_kubepods_pressure_memory", "the pods", "memory")     \
	X(kubepods.io, 30, REST, REST, BOTH, "plimsoll_kubepods_pressure_io",  \
		"the pods", "I/O")

#define VM_POD_PSI(X)                                                          \
	X(pressure.cpu, 3, POD_CPU, POD_CPU, BOTH, "container_pressure_cpu",   \
		"the VM pod", "CPU")                                           \
	X(pressure.memory, 6, POD_REST, POD_REST, BOTH,                        \
		"container_pressure_memory", "the VM pod", "memory")           \
	X(pressure.io, 9, POD_REST, POD_REST, BOTH, "container_pressure_io",   \
		"the VM pod", "I/O")
