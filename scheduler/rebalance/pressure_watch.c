#include "scheduler/rebalance/pressure_watch.h"

#include "lib/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double mib = 1 << 20;

void pressure_watch_fini(struct pressure_watch *watch)
{
	free(watch->vms);
	*watch = (struct pressure_watch){ 0 };
}

double pressure_floor_bytes(double total_bytes)
{
	return fmin(fmax(0.02 * total_bytes, 512 * mib), 0.1 * total_bytes);
}

double pressure_goal_bytes(double total_bytes)
{
	return pressure_floor_bytes(total_bytes) + 0.05 * total_bytes;
}

/* How many times its limit a figure is; 0 if it is not known. */
static double times(double figure, double limit)
{
	return figure > 0 ? figure / limit : 0;
}

static bool is_ample(const struct pressure_watch *watch)
{
	return watch->available_bytes >= PRESSURE_AMPLE * watch->total_bytes;
}

static double low_memory(const struct pressure_watch *watch)
{
	double floor_bytes = pressure_floor_bytes(watch->total_bytes);

	if (isnan(watch->available_bytes) || !(floor_bytes > 0)) {
		return 0;
	}
	return floor_bytes / fmax(watch->available_bytes, mib);
}

static double memory_severity(const struct pressure_watch *watch)
{
	double waiting = fmax(times(watch->memory_full, PRESSURE_MEMORY_FULL),
		times(watch->swap_in_bytes, PRESSURE_SWAP_IN_BYTES));

	return is_ample(watch) ? 0 : fmax(waiting, low_memory(watch));
}

/* One VM that waits for I/O competes with none: the disk is as fast as it is,
 * here and on another node. */
static bool has_io_rivals(const struct pressure_watch *watch)
{
	size_t waiting = 0;

	for (size_t i = 0; i < watch->vm_count; i++) {
		waiting += watch->vms[i].io_pressure >= PRESSURE_VM_WAITS;
	}
	return waiting >= 2;
}

/* unverified says nothing about the node. */
static bool is_broken(enum kvm_state state)
{
	return state == KVM_MISSING || state == KVM_API_MISMATCH ||
		state == KVM_CREATE_FAILED || state == KVM_RUN_FAILED;
}

double pressure_watch_severity(const struct pressure_watch *watch,
	enum move_reason reason)
{
	switch (reason) {
	case MOVE_FOR_MEMORY:
		return memory_severity(watch);
	case MOVE_FOR_IO:
		return has_io_rivals(watch)
			? times(watch->io_full, PRESSURE_IO_FULL)
			: 0;
	case MOVE_FOR_KVM:
		return is_broken(watch->kvm_state) ? 1 : 0;
	default:
		return 0;
	}
}

static double or_zero(double figure)
{
	return isnan(figure) ? 0 : figure;
}

static int by_uid(const void *a, const void *b)
{
	const struct pressure_vm *x = a;
	const struct pressure_vm *y = b;

	return strcmp(x->pod_uid, y->pod_uid);
}

static void take_vms(struct pressure_watch *watch, const struct node_load *load)
{
	watch->vms = xrealloc(watch->vms, load->vm_count, sizeof(*watch->vms));
	watch->vm_count = load->vm_count;
	for (size_t i = 0; i < load->vm_count; i++) {
		const struct vm_load *vm = &load->vms[i];

		watch->vms[i] = (struct pressure_vm){
			.memory_bytes = vm->memory_bytes,
			.swap_bytes = or_zero(vm->swap_bytes),
			.memory_pressure = or_zero(vm->memory_pressure),
			.io_pressure = or_zero(vm->io_pressure),
		};
		memcpy(watch->vms[i].pod_uid, vm->pod_uid, REPORT_UID_MAX);
	}
	if (watch->vm_count > 0) {
		qsort(watch->vms, watch->vm_count, sizeof(*watch->vms), by_uid);
	}
}

static void drop_vms(struct pressure_watch *watch)
{
	free(watch->vms);
	watch->vms = NULL;
	watch->vm_count = 0;
}

static void take_figures(struct pressure_watch *watch,
	const struct node_load *load)
{
	const int64_t second_us = 1000000;
	int64_t intervals_us = INT64_C(3000) * load->interval_ms;

	watch->stale_us =
		intervals_us > 15 * second_us ? intervals_us : 15 * second_us;
	watch->total_bytes = load->memory_total_bytes;
	watch->available_bytes = load->memory_available_bytes;
	watch->memory_full = load->memory_pressure_full_60s;
	watch->swap_in_bytes = load->memory_swap_in_bytes_60s;
	watch->io_full = load->io_pressure_full_60s;
	watch->kvm_state = load->kvm_state;
	memcpy(watch->kvm_detail, load->kvm_detail, sizeof(watch->kvm_detail));
}

static void set_present(struct pressure_watch *watch, enum move_reason reason,
	int64_t sample_us, bool is_continued)
{
	bool was_present = watch->is_present[reason] && is_continued;

	watch->is_present[reason] = pressure_watch_severity(watch, reason) >= 1;
	if (!was_present) {
		watch->since_us[reason] = sample_us;
	}
}

void pressure_watch_note(struct pressure_watch *watch,
	const struct node_load *load, int64_t sample_us)
{
	bool is_continued = watch->stale_us > 0 &&
		sample_us - watch->sample_us <= watch->stale_us;

	if (watch->stale_us > 0 && sample_us <= watch->sample_us) {
		return;
	}
	take_figures(watch, load);
	take_vms(watch, load);
	for (int reason = 0; reason < MOVE_REASONS; reason++) {
		set_present(watch, (enum move_reason)reason, sample_us,
			is_continued);
	}
	watch->sample_us = sample_us;
	if (!pressure_watch_is_troubled(watch)) {
		drop_vms(watch);
	}
}

void pressure_watch_restart(struct pressure_watch *watch, int64_t now_us)
{
	for (int reason = 0; reason < MOVE_REASONS; reason++) {
		watch->since_us[reason] = now_us;
	}
}

bool pressure_watch_is_sustained(const struct pressure_watch *watch,
	enum move_reason reason, int64_t now_us)
{
	return watch->is_present[reason] &&
		now_us - watch->sample_us <= watch->stale_us &&
		watch->sample_us - watch->since_us[reason] >=
		(reason == MOVE_FOR_KVM ? PRESSURE_KVM_US
					: PRESSURE_SUSTAINED_US);
}

bool pressure_watch_is_troubled(const struct pressure_watch *watch)
{
	for (int reason = 0; reason < MOVE_REASONS; reason++) {
		if (watch->is_present[reason]) {
			return true;
		}
	}
	return false;
}

const struct pressure_vm *pressure_watch_find(
	const struct pressure_watch *watch, const char *pod_uid)
{
	struct pressure_vm key = { 0 };

	if (watch->vm_count == 0) {
		return NULL;
	}
	strncpy(key.pod_uid, pod_uid, sizeof(key.pod_uid) - 1);
	return bsearch(&key, watch->vms, watch->vm_count, sizeof(key), by_uid);
}

/* The figure that is furthest above its limit. */
static void memory_text(char *out, const struct pressure_watch *watch)
{
	double severity = memory_severity(watch);

	if (low_memory(watch) >= severity) {
		(void)snprintf(out, PRESSURE_TEXT_MAX,
			"memory: %.0f MiB are available, less than %.0f MiB",
			watch->available_bytes / mib,
			pressure_floor_bytes(watch->total_bytes) / mib);
	} else if (times(watch->memory_full, PRESSURE_MEMORY_FULL) >=
		severity) {
		(void)snprintf(out, PRESSURE_TEXT_MAX,
			"memory: in %.0f %% of the last minute all tasks "
			"waited for memory",
			100 * watch->memory_full);
	} else {
		(void)snprintf(out, PRESSURE_TEXT_MAX,
			"memory: %.1f MiB a second are read back from swap",
			watch->swap_in_bytes / mib);
	}
}

void pressure_watch_text(char out[PRESSURE_TEXT_MAX],
	const struct pressure_watch *watch, enum move_reason reason)
{
	bool has_detail = watch->kvm_detail[0] != '\0';

	if (reason == MOVE_FOR_MEMORY) {
		memory_text(out, watch);
	} else if (reason == MOVE_FOR_IO) {
		(void)snprintf(out, PRESSURE_TEXT_MAX,
			"I/O: in %.0f %% of the last minute all tasks waited "
			"for I/O",
			100 * watch->io_full);
	} else {
		(void)snprintf(out, PRESSURE_TEXT_MAX, "KVM: %s%s%s",
			kvm_state_name(watch->kvm_state),
			has_detail ? ", " : "", watch->kvm_detail);
	}
}
