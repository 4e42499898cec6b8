/* An export and its objects, the first line and the rest of the input: an
 * accepted pair is a valid scenario. */
#include "simulate/scenario_import.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_vm(const struct scenario *s, const struct scenario_vm *vm)
{
	if (vm->arrive_step > vm->leave_step || vm->leave_step > s->steps ||
		!(vm->vcpus > 0) || vm->memory_bytes < 0 ||
		vm->cpu_request_milli < 0) {
		abort();
	}
	for (size_t i = 0; i < s->steps; i++) {
		double cores = scenario_demand(vm, i);

		if (!isfinite(cores) || cores < 0) {
			abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size == 0 ? NULL : memchr(text, '\n', size);
	size_t first = end == NULL ? size : (size_t)(end - text);
	const struct scenario_import_text both = { text, text + first, first,
		size - first };
	struct scenario_import_gaps gaps;
	struct scenario s;
	struct error err;

	if (scenario_import_parse(&s, &gaps, &both, &err) < 0) {
		return 0;
	}
	for (size_t i = 0; i < s.node_count; i++) {
		if (!(s.nodes[i].cpu_cores > 0) || s.nodes[i].pods < 0) {
			abort();
		}
	}
	for (size_t i = 0; i < s.vm_count; i++) {
		check_vm(&s, &s.vms[i]);
	}
	scenario_fini(&s);
	return 0;
}
