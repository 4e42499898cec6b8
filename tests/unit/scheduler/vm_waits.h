/* When the wait of a VM and a node ends. */
#pragma once

#include "scheduler/cluster/vm_failures.h"

/* 0: there is none. */
static inline int64_t vm_wait_until(const struct vm_failures *failures,
	const char *of, const char *vm, const char *node)
{
	return vm_failures_node_until(vm_failures_of(failures, of, vm), node);
}
