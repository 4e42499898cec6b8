#include "aggregator/series/pod_series.h"

#include "aggregator/series/slow_values.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* Five minutes in slots of 10 s, and one that the start of the window cuts. */
static const uint64_t slot_us = 10000000;
static const uint64_t five_minutes_us = 300000000;
enum { SLOTS = 31 };
static const float fade_us = 60e6F;

/* Less is shown as nothing: a share that no decision uses. */
static const double pressure_min = 0.001;

void pod_series_fini(struct pod_series *series)
{
	if (series == NULL) {
		return;
	}
	for (size_t i = 0; i < series->count; i++) {
		window_fini(&series->vms[i].cores);
	}
	free(series->vms);
	*series = (struct pod_series){ 0 };
}

/* Takes the series of a pod, which was `was` in the report before, from the old
 * list, or begins one. */
static struct pod_series_entry take_series(struct pod_series *old,
	const struct report *before, const struct vm_pod *was)
{
	struct pod_series_entry taken = {
		.rates = rates_vm_unknown,
		.memory_full = NAN,
		.io_full = NAN,
	};

	if (was != NULL && (size_t)(was - before->vms) < old->count) {
		struct pod_series_entry *from = &old->vms[was - before->vms];

		/* Taken already if the report names the pod twice. */
		if (from->cores.slots != NULL) {
			taken = *from;
			from->cores = (struct window){ 0 };
			return taken;
		}
	}
	window_init(&taken.cores, slot_us, SLOTS);
	return taken;
}

static void forget_pressures(struct pod_series_entry *vm)
{
	vm->pressures_us = 0;
	vm->memory_full = NAN;
	vm->io_full = NAN;
}

/* Most VMs do not wait, and cost no exponential. */
static void fade(float *mean, double rate, uint64_t span_us)
{
	const float nothing = 1e-5F;
	float value = (float)rate;

	if (isnan(value) || isnan(*mean)) {
		*mean = value;
	} else if (value <= 0 && *mean < nothing) {
		*mean = 0;
	} else {
		*mean = value +
			(*mean - value) * expf(-(float)span_us / fade_us);
	}
}

/* The totals grew since they were read last, so that is the span. */
static void add_pressures(struct pod_series_entry *vm,
	const struct pressure *was, const struct pressure *is, uint64_t span_us)
{
	fade(&vm->memory_full,
		rates_full_share(&was->memory, &is->memory, span_us), span_us);
	fade(&vm->io_full, rates_full_share(&was->io, &is->io, span_us),
		span_us);
}

/* An entry with a time has a pod in the report before. */
static void move_pressures(struct pod_series_entry *vm,
	const struct vm_pod *was, struct vm_pod *pod,
	const struct report *report)
{
	if (slow_values_has_pressures(pod)) {
		if (vm->pressures_us > 0) {
			add_pressures(vm, &was->pressure, &pod->pressure,
				report->monotonic_us - vm->pressures_us);
		}
		vm->pressures_us = report->monotonic_us;
	} else if (slow_values_are_current(report, vm->pressures_us)) {
		slow_values_copy_pressures(pod, was);
	} else {
		forget_pressures(vm);
	}
}

static void move_memory(struct pod_series_entry *vm, const struct vm_pod *was,
	struct vm_pod *pod, const struct report *report)
{
	if (slow_values_has_memory(report, pod)) {
		vm->memory_us = report->monotonic_us;
	} else if (slow_values_are_current(report, vm->memory_us)) {
		slow_values_copy_memory(pod, was);
	}
}

void pod_series_move(struct pod_series *series, const struct report *before,
	struct report *after, const struct vm_rates *rates, bool is_continued)
{
	struct pod_series moved = { .count = after->vm_count };
	struct vm_cursor cursor = { 0 };

	moved.vms = xcalloc(moved.count, sizeof(*moved.vms));
	for (size_t i = 0; i < moved.count; i++) {
		struct pod_series_entry *vm = &moved.vms[i];
		struct vm_pod *pod = &after->vms[i];
		const struct vm_pod *was = rates_find_vm(before, pod, &cursor);

		*vm = take_series(series, before, was);
		if (!is_continued) {
			window_clear(&vm->cores);
			forget_pressures(vm);
			vm->memory_us = 0;
		}
		vm->rates = rates[i];
		window_add(&vm->cores, before->monotonic_us,
			after->monotonic_us, vm->rates.used_cores);
		/* First: pressures that are completed look as if read. */
		move_memory(vm, was, pod, after);
		move_pressures(vm, was, pod, after);
	}
	pod_series_fini(series);
	*series = moved;
}

void pod_series_merge(struct pod_series *series, const struct report *report,
	const struct pod_series *other, const struct report *others)
{
	struct vm_cursor cursor = { 0 };

	for (size_t i = 0; i < series->count; i++) {
		const struct vm_pod *was =
			rates_find_vm(others, &report->vms[i], &cursor);

		if (was != NULL && (size_t)(was - others->vms) < other->count) {
			window_merge(&series->vms[i].cores,
				&other->vms[was - others->vms].cores);
		}
	}
}

static double shown(double value, double least)
{
	return value >= least ? value : (double)NAN;
}

void pod_series_fill(struct vm_load *out, const struct pod_series *series,
	const struct report *report, size_t vm)
{
	const struct pod_series_entry *from = &series->vms[vm];

	vm_load_init(out);
	memcpy(out->pod_uid, report->vms[vm].pod_uid, sizeof(out->pod_uid));
	out->used_cores = from->rates.used_cores;
	out->contention = from->rates.contention;
	out->used_cores_5m = window_mean(&from->cores, report->monotonic_us,
		five_minutes_us);
	out->memory_pressure = shown((double)from->memory_full, pressure_min);
	out->io_pressure = shown((double)from->io_full, pressure_min);
	out->swap_bytes = shown(rates_known(report->vms[vm].swap_bytes), 1);
	out->memory_bytes = rates_vm_memory_bytes(&report->vms[vm]);
	if (isnan(out->memory_bytes)) {
		out->memory_bytes =
			rates_known(report->vms[vm].memory_current_bytes);
	}
}
