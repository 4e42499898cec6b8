#include "aggregator/series/metric_names.h"

#include "lib/memory.h"

#include <inttypes.h>
#include <assert.h>
#include <math.h>
#include <stdio.h>

#define CPU(mode)                                                              \
	{                                                                      \
		.name = "node_cpu_seconds_total",                              \
		.help = "Seconds the CPUs spent in each mode",                 \
		.is_counter = true, .from = METRIC_CPU,                        \
		.offset = offsetof(struct report, cpu.mode##_us),              \
		.label = "mode", .label_value = #mode                          \
	}

#define PSI(called, text, kind, holder, member)                                \
	{                                                                      \
		.name = called, .help = text, .is_counter = true,              \
		.from = METRIC_PSI_##kind, .offset = offsetof(holder, member)  \
	}

#define GAUGE(called, text, kind, holder, member)                              \
	{                                                                      \
		.name = called, .help = text, .from = METRIC_##kind,           \
		.offset = offsetof(holder, member)                             \
	}

#define COUNTER(called, text, kind, holder, member)                            \
	{                                                                      \
		.name = called, .help = text, .is_counter = true,              \
		.from = METRIC_##kind, .offset = offsetof(holder, member)      \
	}

#define ENTRY(called, text, kind, holder, member, at)                          \
	{                                                                      \
		.name = called, .help = text, .from = METRIC_##kind,           \
		.offset = offsetof(holder, member), .entry = (at)              \
	}

#define ENTRIES_4(called, text, kind, holder, member, first)                   \
	ENTRY(called, text, kind, holder, member, (first)),                    \
		ENTRY(called, text, kind, holder, member, (first) + 1),        \
		ENTRY(called, text, kind, holder, member, (first) + 2),        \
		ENTRY(called, text, kind, holder, member, (first) + 3)

#define ENTRIES_32(called, text, kind, holder, member)                         \
	ENTRIES_4(called, text, kind, holder, member, 0),                      \
		ENTRIES_4(called, text, kind, holder, member, 4),              \
		ENTRIES_4(called, text, kind, holder, member, 8),              \
		ENTRIES_4(called, text, kind, holder, member, 12),             \
		ENTRIES_4(called, text, kind, holder, member, 16),             \
		ENTRIES_4(called, text, kind, holder, member, 20),             \
		ENTRIES_4(called, text, kind, holder, member, 24),             \
		ENTRIES_4(called, text, kind, holder, member, 28)

static_assert(REPORT_HUGEPAGE_SIZES == 4 && REPORT_NUMA_HUGEPAGES == 32,
	"as many metrics as there are entries");

static const struct metric nodes[] = {
	CPU(user),
	CPU(nice),
	CPU(system),
	CPU(idle),
	CPU(iowait),
	CPU(irq),
	CPU(softirq),
	CPU(steal),
	PSI("node_pressure_cpu_waiting_seconds_total",
		"Seconds in which some task of the node waited for CPU", SOME,
		struct report, pressure.cpu),
	PSI("node_pressure_memory_waiting_seconds_total",
		"Seconds in which some task of the node waited for memory",
		SOME, struct report, pressure.memory),
	PSI("node_pressure_memory_stalled_seconds_total",
		"Seconds in which no task of the node ran for want of memory",
		FULL, struct report, pressure.memory),
	PSI("node_pressure_io_waiting_seconds_total",
		"Seconds in which some task of the node waited for I/O", SOME,
		struct report, pressure.io),
	PSI("node_pressure_io_stalled_seconds_total",
		"Seconds in which no task of the node ran for want of I/O",
		FULL, struct report, pressure.io),
	PSI("node_pressure_irq_stalled_seconds_total",
		"Seconds in which tasks of the node were held up by interrupts",
		FULL, struct report, irq),
	PSI("plimsoll_kubepods_pressure_cpu_waiting_seconds_total",
		"Seconds in which some task of the pods waited for CPU", SOME,
		struct report, kubepods.cpu),
	PSI("plimsoll_kubepods_pressure_cpu_stalled_seconds_total",
		"Seconds in which no task of the pods ran for want of CPU",
		FULL, struct report, kubepods.cpu),
	PSI("plimsoll_kubepods_pressure_memory_waiting_seconds_total",
		"Seconds in which some task of the pods waited for memory",
		SOME, struct report, kubepods.memory),
	PSI("plimsoll_kubepods_pressure_memory_stalled_seconds_total",
		"Seconds in which no task of the pods ran for want of memory",
		FULL, struct report, kubepods.memory),
	PSI("plimsoll_kubepods_pressure_io_waiting_seconds_total",
		"Seconds in which some task of the pods waited for I/O", SOME,
		struct report, kubepods.io),
	PSI("plimsoll_kubepods_pressure_io_stalled_seconds_total",
		"Seconds in which no task of the pods ran for want of I/O",
		FULL, struct report, kubepods.io),
	GAUGE("node_memory_MemTotal_bytes", "MemTotal of /proc/meminfo", MEMORY,
		struct report, memory.total_bytes),
	GAUGE("node_memory_MemAvailable_bytes", "MemAvailable of /proc/meminfo",
		MEMORY, struct report, memory.available_bytes),
	GAUGE("node_memory_SwapTotal_bytes", "SwapTotal of /proc/meminfo",
		MEMORY, struct report, memory.swap_total_bytes),
	GAUGE("node_memory_SwapFree_bytes", "SwapFree of /proc/meminfo", MEMORY,
		struct report, memory.swap_free_bytes),
	GAUGE("plimsoll_node_memory_ksm_saved_bytes",
		"Memory that is charged to several pods and there once", MEMORY,
		struct report, memory.ksm_saved_bytes),
	GAUGE("node_load1", "Load average of 1 minute", NUMBER, struct report,
		load1),
	GAUGE("node_load5", "Load average of 5 minutes", NUMBER, struct report,
		load5),
	GAUGE("node_load15", "Load average of 15 minutes", NUMBER,
		struct report, load15),
	ENTRIES_4("plimsoll_node_hugepages", "Huge pages in the pool",
		HUGEPAGES, struct hugepages, total, 0),
	ENTRIES_4("plimsoll_node_hugepages_free", "Huge pages that nobody uses",
		HUGEPAGES, struct hugepages, free, 0),
	ENTRIES_4("plimsoll_node_hugepages_reserved",
		"Huge pages that are promised and not used yet", HUGEPAGES,
		struct hugepages, reserved, 0),
	ENTRIES_32("plimsoll_node_numa_hugepages",
		"Huge pages in the pool of a NUMA node", NUMA,
		struct numa_hugepages, total),
	ENTRIES_32("plimsoll_node_numa_hugepages_free",
		"Huge pages of a NUMA node that nobody uses", NUMA,
		struct numa_hugepages, free),
	{ .name = "plimsoll_node_kvm",
		.help = "1 for the state that KVM was found in",
		.from = METRIC_KVM },
	COUNTER("plimsoll_node_reports_dropped_total",
		"Reports that the agent lost before they were stored", COUNT,
		struct report, dropped),
	GAUGE("plimsoll_node_vms_skipped",
		"VM pods that did not fit in the report", COUNT, struct report,
		vms_skipped),
	COUNTER("plimsoll_agent_cpu_seconds_total",
		"CPU time of the agent itself", US, struct report, own.cpu_us),
	GAUGE("plimsoll_agent_resident_memory_bytes",
		"Resident memory of the agent itself", COUNT, struct report,
		own.rss_bytes),
	GAUGE("plimsoll_agent_spool_bytes",
		"Reports of the agent that wait on disk", COUNT, struct report,
		own.spool_bytes),
	GAUGE("plimsoll_node_cpu_cores", "CPUs online", LOAD, struct node_load,
		cpu_cores),
	GAUGE("plimsoll_node_cpu_used_cores",
		"CPUs in use over the last interval", LOAD, struct node_load,
		cpu_used_cores),
	GAUGE("plimsoll_node_cpu_used_cores_10s", "CPUs in use, mean of 10 s",
		LOAD, struct node_load, cpu_used_cores_10s),
	GAUGE("plimsoll_node_cpu_used_cores_5m", "CPUs in use, mean of 5 min",
		LOAD, struct node_load, cpu_used_cores_5m),
	GAUGE("plimsoll_node_cpu_used_cores_15m", "CPUs in use, mean of 15 min",
		LOAD, struct node_load, cpu_used_cores_15m),
	GAUGE("plimsoll_node_cpu_used_cores_1h", "CPUs in use, mean of 1 h",
		LOAD, struct node_load, cpu_used_cores_1h),
	GAUGE("plimsoll_node_cpu_stdev_cores_5m",
		"Standard deviation of the CPUs in use, 5 min", LOAD,
		struct node_load, cpu_stdev_cores_5m),
	GAUGE("plimsoll_node_cpu_stdev_cores_15m",
		"Standard deviation of the CPUs in use, 15 min", LOAD,
		struct node_load, cpu_stdev_cores_15m),
	GAUGE("plimsoll_node_cpu_stdev_cores_1h",
		"Standard deviation of the CPUs in use, 1 h", LOAD,
		struct node_load, cpu_stdev_cores_1h),
	GAUGE("plimsoll_node_cpu_p95_cores_1h",
		"95th percentile of the CPUs in use, 1 h", LOAD,
		struct node_load, cpu_p95_cores_1h),
	GAUGE("plimsoll_node_cpu_p95_cores_1d",
		"95th percentile of the CPUs in use, 1 d", LOAD,
		struct node_load, cpu_p95_cores_1d),
	GAUGE("plimsoll_node_cpu_pressure_some",
		"Share of the last interval in which some task waited for CPU",
		LOAD, struct node_load, cpu_pressure_some),
	GAUGE("plimsoll_node_cpu_pressure_some_60s",
		"Share of the last minute in which some task waited for CPU",
		LOAD, struct node_load, cpu_pressure_some_60s),
	GAUGE("plimsoll_node_cpu_contention",
		"Share of time the VMs waited for CPU that no limit of theirs "
		"explains",
		LOAD, struct node_load, cpu_contention),
	GAUGE("plimsoll_node_memory_working_set_bytes",
		"Working set of all VM pods", LOAD, struct node_load,
		memory_working_set_bytes),
	GAUGE("plimsoll_node_memory_used_bytes_15m",
		"MemTotal less MemAvailable, mean of 15 min", LOAD,
		struct node_load, memory_used_bytes_15m),
	GAUGE("plimsoll_node_memory_stdev_bytes_15m",
		"Standard deviation of the memory in use, 15 min", LOAD,
		struct node_load, memory_stdev_bytes_15m),
	GAUGE("plimsoll_node_memory_pressure_some",
		"Share of the last interval in which some task waited for "
		"memory",
		LOAD, struct node_load, memory_pressure_some),
	GAUGE("plimsoll_node_memory_pressure_full",
		"Share of the last interval in which no task ran for want of "
		"memory",
		LOAD, struct node_load, memory_pressure_full),
	GAUGE("plimsoll_node_io_pressure_some",
		"Share of the last interval in which some task waited for I/O",
		LOAD, struct node_load, io_pressure_some),
	GAUGE("plimsoll_node_io_pressure_full",
		"Share of the last interval in which no task ran for want of "
		"I/O",
		LOAD, struct node_load, io_pressure_full),
};

static const struct metric vms[] = {
	COUNTER("container_cpu_usage_seconds_total", "CPU time of the VM pod",
		US, struct vm_pod, cpu_usage_us),
	COUNTER("container_cpu_cfs_throttled_periods_total",
		"Periods in which the VM pod used up its CPU limit", COUNT,
		struct vm_pod, nr_throttled),
	COUNTER("container_cpu_cfs_throttled_seconds_total",
		"Seconds the VM pod was held back by its CPU limit", US,
		struct vm_pod, throttled_us),
	PSI("container_pressure_cpu_waiting_seconds_total",
		"Seconds in which some task of the VM pod waited for CPU", SOME,
		struct vm_pod, pressure.cpu),
	PSI("container_pressure_cpu_stalled_seconds_total",
		"Seconds in which no task of the VM pod ran for want of CPU",
		FULL, struct vm_pod, pressure.cpu),
	PSI("container_pressure_memory_waiting_seconds_total",
		"Seconds in which some task of the VM pod waited for memory",
		SOME, struct vm_pod, pressure.memory),
	PSI("container_pressure_memory_stalled_seconds_total",
		"Seconds in which no task of the VM pod ran for want of memory",
		FULL, struct vm_pod, pressure.memory),
	PSI("container_pressure_io_waiting_seconds_total",
		"Seconds in which some task of the VM pod waited for I/O", SOME,
		struct vm_pod, pressure.io),
	PSI("container_pressure_io_stalled_seconds_total",
		"Seconds in which no task of the VM pod ran for want of I/O",
		FULL, struct vm_pod, pressure.io),
	GAUGE("container_memory_usage_bytes",
		"Memory of the VM pod with its page cache and without huge "
		"pages",
		COUNT, struct vm_pod, memory_current_bytes),
	GAUGE("container_memory_working_set_bytes",
		"Memory of the VM pod without inactive page cache", COUNT,
		struct vm_pod, working_set_bytes),
	GAUGE("plimsoll_vm_anon_shmem_bytes",
		"Anonymous and shared memory of the VM pod", COUNT,
		struct vm_pod, anon_shmem_bytes),
	GAUGE("container_memory_swap", "Bytes of the VM pod in swap", COUNT,
		struct vm_pod, swap_bytes),
	COUNTER("container_oom_events_total",
		"Processes of the VM pod that the kernel killed for want of "
		"memory",
		COUNT, struct vm_pod, oom_kills),
	ENTRIES_4("container_hugetlb_usage_bytes",
		"Huge pages in use by the VM pod", HUGETLB, struct hugetlb_use,
		used_bytes, 0),
	GAUGE("plimsoll_vm_used_cores", "CPUs in use over the last interval",
		LOAD, struct vm_load, used_cores),
	GAUGE("plimsoll_vm_used_cores_5m", "CPUs in use, mean of 5 min", LOAD,
		struct vm_load, used_cores_5m),
	GAUGE("plimsoll_vm_memory_bytes",
		"Anonymous, shared and huge pages of the VM", LOAD,
		struct vm_load, memory_bytes),
	GAUGE("plimsoll_vm_contention",
		"Share of time the VM waited for CPU that no limit of its own "
		"explains",
		LOAD, struct vm_load, contention),
};

const struct metric *metric_node_at(size_t i)
{
	return i < count_of(nodes) ? &nodes[i] : NULL;
}

const struct metric *metric_vm_at(size_t i)
{
	return i < count_of(vms) ? &vms[i] : NULL;
}

static const void *member(const void *holder, size_t offset)
{
	return (const char *)holder + offset;
}

static double number_at(const void *holder, size_t offset)
{
	return *(const double *)member(holder, offset);
}

static double count_at(const void *holder, size_t offset)
{
	uint64_t value = *(const uint64_t *)member(holder, offset);

	return value == REPORT_UNKNOWN ? NAN : (double)value;
}

static double psi_seconds(const void *holder, const struct metric *metric)
{
	const struct psi *psi = member(holder, metric->offset);
	uint64_t us =
		metric->from == METRIC_PSI_SOME ? psi->some_us : psi->full_us;

	return psi->state != SOURCE_PRESENT || us == REPORT_UNKNOWN
		? NAN
		: (double)us / 1e6;
}

static void add_label(struct metric_sample *out, const char *key,
	const char *value)
{
	out->labels[out->label_count].key = key;
	(void)snprintf(out->labels[out->label_count].value, METRIC_LABEL_MAX,
		"%s", value);
	out->label_count++;
}

static void add_number_label(struct metric_sample *out, const char *key,
	uint64_t value)
{
	char text[METRIC_LABEL_MAX];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	add_label(out, key, text);
}

/* What nodes and VMs have alike. */
static double plain_value(const void *holder, const struct metric *metric)
{
	switch (metric->from) {
	case METRIC_PSI_SOME:
	case METRIC_PSI_FULL:
		return psi_seconds(holder, metric);
	case METRIC_US:
	case METRIC_CPU:
		return count_at(holder, metric->offset) / 1e6;
	case METRIC_COUNT:
	case METRIC_MEMORY:
		return count_at(holder, metric->offset);
	case METRIC_NUMBER:
		return number_at(holder, metric->offset);
	default:
		return NAN;
	}
}

static double hugepages_value(struct metric_sample *out,
	const struct metric *metric, const struct report *report)
{
	const struct hugepages *pages = &report->hugepages[metric->entry];

	if (metric->entry >= report->hugepages_count) {
		return NAN;
	}
	add_number_label(out, "page_bytes", pages->size_bytes);
	return count_at(pages, metric->offset);
}

static double numa_value(struct metric_sample *out, const struct metric *metric,
	const struct report *report)
{
	const struct numa_hugepages *pages =
		&report->numa_hugepages[metric->entry];

	if (metric->entry >= report->numa_hugepages_count) {
		return NAN;
	}
	add_number_label(out, "numa_node", pages->numa_node);
	add_number_label(out, "page_bytes", pages->size_bytes);
	return count_at(pages, metric->offset);
}

static double node_value(struct metric_sample *out, const struct metric *metric,
	const struct report *report, const struct node_load *load)
{
	switch (metric->from) {
	case METRIC_CPU:
		return report->cpu.state == SOURCE_PRESENT
			? plain_value(report, metric)
			: NAN;
	case METRIC_MEMORY:
		return report->memory.state == SOURCE_PRESENT
			? plain_value(report, metric)
			: NAN;
	case METRIC_KVM:
		add_label(out, "state", kvm_state_name(report->kvm.state));
		return 1;
	case METRIC_HUGEPAGES:
		return hugepages_value(out, metric, report);
	case METRIC_NUMA:
		return numa_value(out, metric, report);
	case METRIC_LOAD:
		return load == NULL ? NAN : number_at(load, metric->offset);
	default:
		return plain_value(report, metric);
	}
}

/* As cAdvisor writes page sizes: 2MB, 1GB. */
static void add_page_size(struct metric_sample *out, uint64_t bytes)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
	char text[METRIC_LABEL_MAX];
	size_t unit = 0;

	while (unit + 1 < count_of(units) && bytes >= 1024 &&
		bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	(void)snprintf(text, sizeof(text), "%" PRIu64 "%s", bytes, units[unit]);
	add_label(out, "pagesize", text);
}

static double vm_value(struct metric_sample *out, const struct metric *metric,
	const struct vm_pod *vm, const struct vm_load *load)
{
	if (metric->from == METRIC_LOAD) {
		return load == NULL ? NAN : number_at(load, metric->offset);
	}
	if (metric->from != METRIC_HUGETLB) {
		return plain_value(vm, metric);
	}
	if (metric->entry >= vm->hugetlb_count) {
		return NAN;
	}
	add_page_size(out, vm->hugetlb[metric->entry].size_bytes);
	return count_at(&vm->hugetlb[metric->entry], metric->offset);
}

static void begin_sample(struct metric_sample *out, const struct metric *metric)
{
	out->label_count = 0;
	if (metric->label != NULL) {
		add_label(out, metric->label, metric->label_value);
	}
}

bool metric_node_sample(struct metric_sample *out, const struct metric *metric,
	const struct report *report, const struct node_load *load)
{
	begin_sample(out, metric);
	out->value = node_value(out, metric, report, load);
	return isfinite(out->value);
}

bool metric_vm_sample(struct metric_sample *out, const struct metric *metric,
	const struct vm_pod *vm, const struct vm_load *load)
{
	begin_sample(out, metric);
	out->value = vm_value(out, metric, vm, load);
	return isfinite(out->value);
}
