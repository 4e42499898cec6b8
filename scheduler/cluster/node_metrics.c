#include "scheduler/cluster/node_metrics.h"

#include <math.h>

static const int64_t second_us = 1000000;

double node_metrics_used_cores(const struct node_load *load)
{
	double fast = isnan(load->cpu_used_cores_10s)
		? load->cpu_used_cores
		: load->cpu_used_cores_10s;
	double slow = load->cpu_used_cores_5m;
	double deviation =
		isnan(load->cpu_stdev_cores_5m) ? 0 : load->cpu_stdev_cores_5m;

	fast = isnan(fast) ? slow : fast;
	slow = isnan(slow) ? fast : slow;
	return (fmax(fast, slow) + (fast + slow) / 2) / 2 + deviation / 2;
}

void node_metrics_set(struct node_metrics *out, const struct node_load *load,
	int64_t sample_us)
{
	int64_t intervals_us = INT64_C(3000) * load->interval_ms;

	*out = (struct node_metrics){
		.is_known = true,
		.kvm_state = load->kvm_state,
		.sample_us = sample_us,
		.stale_us = intervals_us > 15 * second_us ? intervals_us
							  : 15 * second_us,
		.cores = load->cpu_cores,
		.used_cores = node_metrics_used_cores(load),
		.used_cores_5m = load->cpu_used_cores_5m,
		.used_cores_latest = load->cpu_used_cores,
		.used_cores_15m = load->cpu_used_cores_15m,
		.stdev_cores_15m = load->cpu_stdev_cores_15m,
		.used_bytes_15m = load->memory_used_bytes_15m,
		.stdev_bytes_15m = load->memory_stdev_bytes_15m,
		.contention = load->cpu_contention,
		.memory_pressure = load->memory_pressure_some,
		.io_pressure = load->io_pressure_some,
		.memory_pressure_full = load->memory_pressure_full_60s,
		.io_pressure_full = load->io_pressure_full_60s,
		.swap_in_bytes = load->memory_swap_in_bytes_60s,
		.memory_total = load->memory_total_bytes,
		.memory_available = load->memory_available_bytes,
	};
}
