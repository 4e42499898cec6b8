/* The parts of a VirtualMachineInstance on which its next launcher pod depends,
 * as one small value.
 *
 * A cluster has hundreds of thousands of VMIs, most of which ask for the same:
 * the parts are one interned text, which VMIs share that ask for the same in
 * the same words. Names of hotplugged claims are the VMI's own. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/interner.h"

#include <stdint.h>

/* The annotation of a VMI whose dedicated CPUs are to be an even number. */
#define LAUNCHER_PARITY "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"

/* Longer parts are not kept: the next pod of such a VM is not known. */
enum { LAUNCHER_VM_MAX = 64 << 10 };

/* Zeroed: not known. */
struct launcher_vm {
	uint32_t parts; /* held: JSON; see launcher_template.h; 0: too long */
	/* Owned: the claims of the volumes that are hotplugged, each followed
	 * by a newline. NULL: none. The launcher pod does not have them: an
	 * attachment pod on the same node does. */
	char *hotplugged;
};

/* object: a VirtualMachineInstance as the API server has it. */
void launcher_vm_read(struct launcher_vm *out, struct interner *interner,
	const struct json_value *object);
void launcher_vm_fini(struct launcher_vm *vm, struct interner *interner);
