#include "simulate/simulated_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

void simulated_load_begin(struct simulated_load *o)
{
	o->demand = 0;
	o->memory_bytes = 0;
	o->vm_count = 0;
}

void simulated_load_vm(struct simulated_load *o, const struct pod *pod,
	double cores, double memory_bytes)
{
	struct vm_load *vm;

	o->vms = xgrow(o->vms, o->vm_count, &o->vm_capacity, sizeof(*o->vms));
	vm = &o->vms[o->vm_count++];
	vm_load_init(vm);
	strncpy(vm->pod_uid, pod->uid, sizeof(vm->pod_uid) - 1);
	vm->used_cores = cores;
	vm->memory_bytes = memory_bytes;
	o->demand += cores;
	o->memory_bytes += vm->memory_bytes;
}

void simulated_load_add_memory(struct simulated_load *o, double bytes)
{
	o->memory_bytes += bytes;
}

/* The share of the memory in use that is in swap. */
static double swapped_share(const struct simulated_load *o,
	const struct scenario_node *node)
{
	return o->memory_bytes > (double)node->memory_bytes
		? 1 - (double)node->memory_bytes / o->memory_bytes
		: 0;
}

double simulated_load_stalled(const struct simulated_load *o,
	const struct scenario_node *node)
{
	return fmin(10 * swapped_share(o, node), 1);
}

void simulated_load_add(struct simulated_load *o, double cores)
{
	o->demand += cores;
}

/* The last steps, at least one. */
struct window {
	const float *from;
	size_t count;
};

static struct window last(const struct simulated_load *o, size_t steps,
	double seconds)
{
	double wanted = fmax(floor(seconds / o->step_s), 1);
	size_t count = wanted < (double)steps ? (size_t)wanted : steps;

	return (struct window){ o->used + steps - count, count };
}

/* Used cores are at most all cores. */
static double used(const struct simulated_load *o, float load)
{
	return fmin((double)load, 1) * o->cores;
}

static double mean(const struct simulated_load *o, struct window w)
{
	double sum = 0;

	for (size_t i = 0; i < w.count; i++) {
		sum += used(o, w.from[i]);
	}
	return sum / (double)w.count;
}

static double deviation(const struct simulated_load *o, struct window w)
{
	double middle = mean(o, w);
	double sum = 0;

	for (size_t i = 0; i < w.count; i++) {
		double off = used(o, w.from[i]) - middle;

		sum += off * off;
	}
	return sqrt(sum / (double)w.count);
}

static void fill_cpu(struct node_load *load, const struct simulated_load *o,
	size_t steps)
{
	load->cpu_cores = o->cores;
	load->cpu_used_cores = used(o, o->used[steps - 1]);
	load->cpu_used_cores_10s = mean(o, last(o, steps, 10));
	load->cpu_used_cores_5m = mean(o, last(o, steps, 300));
	load->cpu_used_cores_15m = mean(o, last(o, steps, 900));
	load->cpu_used_cores_1h = mean(o, last(o, steps, 3600));
	load->cpu_stdev_cores_5m = deviation(o, last(o, steps, 300));
	load->cpu_stdev_cores_15m = deviation(o, last(o, steps, 900));
	load->cpu_stdev_cores_1h = deviation(o, last(o, steps, 3600));
	load->cpu_contention =
		o->demand > o->cores ? 1 - o->cores / o->demand : 0;
	load->cpu_pressure_some = load->cpu_contention;
	load->cpu_pressure_some_60s = load->cpu_contention;
}

/* All VMs of the node have the same part of their memory in swap. */
static void swap_vms(const struct simulated_load *o,
	const struct scenario_node *node)
{
	double swapped = swapped_share(o, node);

	for (size_t i = 0; i < o->vm_count && swapped > 0; i++) {
		struct vm_load *vm = &o->vms[i];

		vm->swap_bytes = vm->memory_bytes * swapped;
		vm->memory_bytes -= vm->swap_bytes;
		vm->memory_pressure = simulated_load_stalled(o, node);
	}
}

static void fill_memory(struct node_load *load, const struct simulated_load *o,
	const struct scenario_node *node)
{
	load->memory_total_bytes = (double)node->memory_bytes;
	load->memory_available_bytes =
		fmax((double)node->memory_bytes - o->memory_bytes, 0);
	load->memory_working_set_bytes =
		fmin(o->memory_bytes, load->memory_total_bytes);
	load->memory_used_bytes_15m = load->memory_working_set_bytes;
	load->memory_stdev_bytes_15m = 0;
	load->memory_pressure_full = simulated_load_stalled(o, node);
	load->memory_pressure_full_60s = load->memory_pressure_full;
	load->memory_pressure_some = load->memory_pressure_full;
	load->io_pressure_some = 0;
	load->io_pressure_full = 0;
	load->io_pressure_full_60s = 0;
}

void simulated_load_end(struct simulated_load *o, size_t step,
	struct node_load *load, const struct scenario_node *node)
{
	double served = o->demand > o->cores ? o->cores / o->demand : 1;

	o->used[step] = (float)(o->demand / o->cores);
	node_load_init(load);
	load->name = xstrdup(node->name);
	load->kvm_state = KVM_OK;
	load->interval_ms = (uint32_t)llround(o->step_s * 1000);
	fill_cpu(load, o, step + 1);
	fill_memory(load, o, node);
	swap_vms(o, node);
	for (size_t i = 0; i < o->vm_count; i++) {
		o->vms[i].used_cores *= served;
		o->vms[i].used_cores_5m = o->vms[i].used_cores;
	}
	load->vms = o->vms;
	load->vm_count = o->vm_count;
	o->vms = NULL;
	o->vm_count = 0;
	o->vm_capacity = 0;
}

void simulated_load_fini(struct simulated_load *o)
{
	free(o->vms);
	*o = (struct simulated_load){ 0 };
}
