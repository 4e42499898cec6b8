#include "aggregator/apiserver/heat.h"

#include "lib/memory.h"
#include "proto/kvm_state.h"

#include <math.h>

/* Bursts and rounding can exceed the whole. */
static double share_of(double part, double whole)
{
	return whole > 0 ? fmin(fmax(part / whole, 0), 1) : NAN;
}

struct heat heat_of(const struct node_load *load)
{
	double used = load->memory_total_bytes - load->memory_available_bytes;
	bool has_kvm =
		load->kvm_state == KVM_OK || load->kvm_state == KVM_UNVERIFIED;
	const struct heat all[] = {
		{ "cpu",
			fmax(share_of(load->cpu_used_cores_10s,
				     load->cpu_cores),
				load->cpu_contention) },
		{ "memory",
			fmax(share_of(used, load->memory_total_bytes),
				load->memory_pressure_full_60s) },
		{ "io", load->io_pressure_full_60s },
		{ "kvm", has_kvm ? NAN : 1 },
	};
	struct heat hottest = { NULL, NAN };

	for (size_t i = 0; i < count_of(all); i++) {
		if (!isnan(all[i].share) &&
			(hottest.resource == NULL ||
				all[i].share > hottest.share)) {
			hottest = all[i];
		}
	}
	return hottest;
}
