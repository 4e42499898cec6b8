/* The NUMA nodes of the machine: /sys/devices/system/node.
 *
 * A VM that is pinned to a NUMA node needs its huge pages there, so each NUMA
 * node's pools are reported separately. The meminfo files of the NUMA nodes
 * also give the real memory size: in some containers lxcfs mounts its own
 * /proc/meminfo, which shows the container's limit instead. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>

/* Fills out->numa_hugepages with the pools of all NUMA nodes below sys, an open
 * directory. A pool that cannot be read is omitted, and err is set. */
void numa_read_hugepages(struct report *out, int sys, struct error *err);

/* The memory of all NUMA nodes together in bytes; REPORT_UNKNOWN if the kernel
 * has no such files. */
uint64_t numa_memory_bytes(int sys);

/* Parses MemTotal of a NUMA node's meminfo ("Node 0 MemTotal:  1024 kB") to
 * bytes. False: there is no such line. Pure. */
bool numa_parse_memory(uint64_t *bytes, const char *text);
