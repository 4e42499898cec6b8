/* The node's own NUMA nodes: /sys/devices/system/node.
 *
 * A VM with huge pages on one NUMA node needs them there, so the pools are
 * told apart. And what the NUMA nodes' meminfo says of the machine's memory
 * cannot be shadowed: lxcfs mounts its own /proc/meminfo over the kernel's in
 * some containers, which then shows the container's limit as the node's size. */
#pragma once

#include "lib/error.h"
#include "proto/report.h"

#include <stdint.h>

/* Fills out->numa_hugepages: the pools of all NUMA nodes, below sys, an open
 * directory. What cannot be read is left out and says so in err. */
void numa_read_hugepages(struct report *out, int sys, struct error *err);

/* The memory of all NUMA nodes together, in bytes; REPORT_UNKNOWN where the
 * kernel does not say. */
uint64_t numa_memory_bytes(int sys);

/* MemTotal out of a NUMA node's meminfo ("Node 0 MemTotal:  1024 kB"), in
 * bytes. False: it is not there. Pure. */
bool numa_parse_memory(uint64_t *bytes, const char *text);
