#include "aggregator/series/rates.h"

#include <string.h>

/* Below this share of used CPUs, the node's own pressure is not a sign of
 * contention. The value is from OpenShift's descheduler profile for
 * KubeVirt. */
static const double busy_share = 0.70;

/* Below this, the node's own pressure shows that nothing waits: it costs a
 * fifth of the points of contention at most. */
static const double quiet_share = 0.05;

const struct node_rates rates_unknown = {
	.used_cores = NAN,
#define X(resource, line) .resource##_pressure_##line = NAN,
	NODE_PRESSURES(X)
#undef X
		.swap_in_bytes = NAN,
	.contention = NAN,
};

const struct vm_rates rates_vm_unknown = {
	.used_cores = NAN,
	.contention = NAN,
};

static double clamp(double value, double most)
{
	if (value < 0) {
		return 0;
	}
	return value > most ? most : value; /* keeps NAN; ignores a NAN limit */
}

/* The increase of a total; NAN if it is unknown or went back. */
static double growth(uint64_t before, uint64_t after)
{
	return before == REPORT_UNKNOWN || after == REPORT_UNKNOWN ||
			after < before
		? NAN
		: (double)(after - before);
}

static double share(uint64_t before, uint64_t after, uint64_t span_us)
{
	return clamp(growth(before, after) / (double)span_us, 1);
}

static bool both_present(const struct psi *before, const struct psi *after)
{
	return before->state == SOURCE_PRESENT &&
		after->state == SOURCE_PRESENT;
}

/* The share of a span in which some, or all, tasks waited. */
#define WAITED(line, before, after, span_us)                                   \
	(both_present(before, after) ? share((before)->line##_us,              \
					       (after)->line##_us, span_us)    \
				     : (double)NAN)

double rates_full_share(const struct psi *before, const struct psi *after,
	uint64_t span_us)
{
	return WAITED(full, before, after, span_us);
}

/* Each mode on its own: after a restart of the counters, one may have fallen
 * less than another has risen. */
static double busy_growth(const struct cpu_totals *was,
	const struct cpu_totals *is)
{
	return was->state != SOURCE_PRESENT || is->state != SOURCE_PRESENT
		? NAN
		: growth(was->user_us, is->user_us) +
			growth(was->nice_us, is->nice_us) +
			growth(was->system_us, is->system_us) +
			growth(was->irq_us, is->irq_us) +
			growth(was->softirq_us, is->softirq_us);
}

static double cores_of(const struct report *report)
{
	return report->cpu.online > 0 ? (double)report->cpu.online
				      : (double)NAN;
}

static double throttled_rate(const struct vm_pod *before,
	const struct vm_pod *after, uint64_t span_us)
{
	if (after->throttled_us == REPORT_UNKNOWN &&
		after->cpu_usage_us != REPORT_UNKNOWN) {
		return 0;
	}
	return growth(before->throttled_us, after->throttled_us) /
		(double)span_us;
}

static double vm_contention(const struct vm_pod *before,
	const struct vm_pod *after, uint64_t span_us)
{
	const struct psi *was = &before->pressure.cpu;
	const struct psi *is = &after->pressure.cpu;
	double some = WAITED(some, was, is, span_us);
	double full = WAITED(full, was, is, span_us);
	double held = throttled_rate(before, after, span_us);

	if (isnan(held)) {
		return NAN;
	}
	if (!isnan(full) && full < held) {
		held = full;
	}
	return clamp(some - held, 1);
}

static struct vm_rates vm_rates_between(const struct vm_pod *before,
	const struct vm_pod *after, uint64_t span_us, double cores)
{
	return (struct vm_rates){
		.used_cores = clamp(
			growth(before->cpu_usage_us, after->cpu_usage_us) /
				(double)span_us,
			cores),
		.contention = vm_contention(before, after, span_us),
	};
}

struct contention_sum {
	double weighted, weight;
	double plain, count;
};

static void add_contention(struct contention_sum *sum,
	const struct vm_rates *vm)
{
	if (isnan(vm->contention)) {
		return;
	}
	sum->plain += vm->contention;
	sum->count++;
	if (!isnan(vm->used_cores)) {
		sum->weighted += vm->contention * vm->used_cores;
		sum->weight += vm->used_cores;
	}
}

/* The node's own pressure, where no VM's is known. Between busy and quiet, it
 * may be of throttled tasks alone. */
static double contention_without_vms(const struct node_rates *rates,
	double cores, bool has_vms)
{
	if (rates->used_cores > busy_share * cores) {
		return rates->cpu_pressure_some;
	}
	return !has_vms && !isnan(rates->used_cores) &&
			rates->cpu_pressure_some < quiet_share
		? 0
		: NAN;
}

static double node_contention(const struct contention_sum *sum,
	const struct node_rates *rates, double cores, bool has_vms)
{
	if (sum->weight > 0) {
		return sum->weighted / sum->weight;
	}
	if (sum->count > 0) { /* no VM used CPU */
		return sum->plain / sum->count;
	}
	return contention_without_vms(rates, cores, has_vms);
}

uint64_t rates_span_us(const struct report *before, const struct report *after)
{
	if (strcmp(before->boot_id, after->boot_id) != 0 ||
		after->monotonic_us <= before->monotonic_us) {
		return 0;
	}
	return after->monotonic_us - before->monotonic_us;
}

const struct vm_pod *rates_find_vm(const struct report *report,
	const struct vm_pod *vm, struct vm_cursor *cursor)
{
	size_t most = RATES_STEPS_FREE + RATES_STEPS_PER_VM * report->vm_count;

	for (size_t i = 0; i < report->vm_count && cursor->steps < most; i++) {
		size_t at = (cursor->at + i) % report->vm_count;
		const struct vm_pod *other = &report->vms[at];

		cursor->steps++;
		if (other->cgroup_inode == vm->cgroup_inode &&
			strcmp(other->pod_uid, vm->pod_uid) == 0) {
			cursor->at = at + 1;
			return other;
		}
	}
	return NULL;
}

static void fill_node(struct node_rates *out, const struct report *before,
	const struct report *after, uint64_t span_us)
{
	const struct pressure *was = &before->pressure;
	const struct pressure *is = &after->pressure;

	out->used_cores =
		clamp(busy_growth(&before->cpu, &after->cpu) / (double)span_us,
			cores_of(after));
#define X(resource, line)                                                      \
	out->resource##_pressure_##line =                                      \
		WAITED(line, &was->resource, &is->resource, span_us);
	NODE_PRESSURES(X)
#undef X
	out->swap_in_bytes = growth(before->memory.swap_in_bytes,
				     after->memory.swap_in_bytes) *
		1e6 / (double)span_us;
}

void rates_over(struct node_rates *out, struct vm_rates *vms,
	const struct report *before, const struct report *after,
	uint64_t span_us)
{
	struct contention_sum sum = { 0 };
	struct vm_cursor cursor = { 0 };

	*out = rates_unknown;
	if (span_us > 0) {
		fill_node(out, before, after, span_us);
	}
	for (size_t i = 0; i < after->vm_count; i++) {
		struct vm_rates vm = rates_vm_unknown;
		const struct vm_pod *was =
			rates_find_vm(before, &after->vms[i], &cursor);

		if (span_us > 0 && was != NULL) {
			vm = vm_rates_between(was, &after->vms[i], span_us,
				cores_of(after));
		}
		add_contention(&sum, &vm);
		if (vms != NULL) {
			vms[i] = vm;
		}
	}
	out->contention = node_contention(&sum, out, cores_of(after),
		after->vm_count > 0);
}

bool rates_cross_runs(const struct report *before, const struct report *after)
{
	return after->boot_id[0] != '\0' &&
		rates_span_us(before, after) >=
		after->interval_ms * UINT64_C(500);
}

void rates_between(struct node_rates *out, struct vm_rates *vms,
	const struct report *before, const struct report *after)
{
	rates_over(out, vms, before, after, rates_span_us(before, after));
}

double rates_known(uint64_t value)
{
	return value == REPORT_UNKNOWN ? NAN : (double)value;
}

double rates_vm_memory_bytes(const struct vm_pod *vm)
{
	double sum = rates_known(vm->anon_shmem_bytes);

	for (size_t i = 0; i < vm->hugetlb_count; i++) {
		sum += rates_known(vm->hugetlb[i].used_bytes);
	}
	return sum;
}

/* NAN if one pod's is unknown: the sum would be too small. */
static double working_set(const struct report *report)
{
	double sum = report->cgroup_mode == CGROUP_V2 ? 0 : NAN;

	for (size_t i = 0; i < report->vm_count; i++) {
		sum += rates_known(report->vms[i].working_set_bytes);
	}
	return sum;
}

void rates_fill_load(struct node_load *load, const struct report *report,
	const struct node_rates *rates)
{
	bool has_memory = report->memory.state == SOURCE_PRESENT;

	load->cpu_cores = cores_of(report);
	load->cpu_used_cores = rates->used_cores;
	load->cpu_contention = rates->contention;
	load->memory_total_bytes =
		has_memory ? rates_known(report->memory.total_bytes) : NAN;
	load->memory_available_bytes =
		has_memory ? rates_known(report->memory.available_bytes) : NAN;
	load->memory_working_set_bytes = working_set(report);
#define X(resource, line)                                                      \
	load->resource##_pressure_##line = rates->resource##_pressure_##line;
	NODE_PRESSURES(X)
#undef X
}
