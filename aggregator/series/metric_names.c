#include "aggregator/series/metric_names.h"

#include "lib/memory.h"

#include <inttypes.h>
#include <assert.h>
#include <math.h>
#include <stdio.h>

#define METRIC(called, text, counts, source, type, member, known_with)         \
	{ .name = (called),                                                    \
		.help = (text),                                                \
		.is_counter = (counts),                                        \
		.from = (source),                                              \
		.offset = offsetof(type, member),                              \
		.state = (known_with) },

/* ---- rows of the table as metrics, by their shapes ---- */

/* The trailing comma gives the shape NONE an argument. */
#define OF_NODE(path, ...) ROW(struct report, path, 0, __VA_ARGS__, )
#define OF_CPU(path, ...)                                                      \
	ROW(struct report, path, offsetof(struct report, cpu.state),           \
		__VA_ARGS__, )
#define OF_MEMORY(path, ...)                                                   \
	ROW(struct report, path, offsetof(struct report, memory.state),        \
		__VA_ARGS__, )
#define OF_POD(path, ...) ROW(struct vm_pod, path, 0, __VA_ARGS__, )
#define ROW(type, path, known_with, kind, name, column, part, shape, ...)      \
	ROW_##shape(kind, type, path name, known_with, __VA_ARGS__)

#define FROM_U64 METRIC_COUNT
#define FROM_DOUBLE METRIC_NUMBER
#define ROW_NONE(...)
#define ROW_GAUGE(kind, type, member, known_with, called, text, ...)           \
	METRIC(called, text, false, FROM_##kind, type, member, known_with)
#define ROW_COUNTER(kind, type, member, known_with, called, text, ...)         \
	METRIC(called, text, true, METRIC_COUNT, type, member, known_with)
#define ROW_SECONDS(kind, type, member, known_with, called, text, ...)         \
	METRIC(called, text, true, METRIC_US, type, member, known_with)
#define ROW_WORD(kind, type, member, known_with, called, text, ...)            \
	METRIC(called, text, false, METRIC_KVM, type, member, known_with)
#define ROW_CPU_MODE(kind, type, member, known_with, mode, ...)                \
	{ .name = "plimsoll_node_cpu_seconds_total",                           \
		.help = "Seconds the CPUs spent in each mode",                 \
		.is_counter = true,                                            \
		.from = METRIC_US,                                             \
		.offset = offsetof(type, member),                              \
		.state = (known_with),                                         \
		.label = "mode",                                               \
		.label_value = (mode) },

#define NODE_PSI(path, first, part, full_part, lines, ...)                     \
	PSI_##lines(struct report, path, __VA_ARGS__)
#define POD_PSI(path, first, part, full_part, lines, ...)                      \
	PSI_##lines(struct vm_pod, path, __VA_ARGS__)
#define PSI_SOME(type, path, called, whose, resource)                          \
	METRIC(called "_waiting_seconds_total",                                \
		"Seconds in which some task of " whose                         \
		" waited for " resource,                                       \
		true, METRIC_US, type, path.some_us,                           \
		offsetof(type, path.state))
#define PSI_FULL(type, path, called, whose, resource)                          \
	METRIC(called "_stalled_seconds_total",                                \
		"Seconds in which all non-idle tasks of " whose                \
		" waited for " resource,                                       \
		true, METRIC_US, type, path.full_us,                           \
		offsetof(type, path.state))
#define PSI_BOTH(...)                                                          \
	PSI_SOME(__VA_ARGS__)                                                  \
	PSI_FULL(__VA_ARGS__)
#define PSI_IRQ(type, path, called, whose, resource)                           \
	METRIC(called "_stalled_seconds_total",                                \
		"Seconds in which interrupts held up tasks of " whose, true,   \
		METRIC_US, type, path.full_us, offsetof(type, path.state))

/* One metric for each entry that a list can have. */
#define OF_HUGEPAGES(from, ...)                                                \
	LIST(4, METRIC_HUGEPAGES, struct hugepages, __VA_ARGS__, )
#define OF_NUMA(from, ...)                                                     \
	LIST(32, METRIC_NUMA, struct numa_hugepages, __VA_ARGS__, )
#define OF_HUGETLB(from, ...)                                                  \
	LIST(4, METRIC_HUGETLB, struct hugetlb_use, __VA_ARGS__, )
#define LIST(most, from, type, kind, name, column, part, shape, ...)           \
	LIST_##shape(most, from, type, name, __VA_ARGS__)
#define LIST_NONE(...)
#define LIST_GAUGE(most, from, type, member, called, text, ...)                \
	ENTRIES_##most(0, called, text, from, offsetof(type, member))
#define ENTRY(at, called, text, source, where)                                 \
	{ .name = (called),                                                    \
		.help = (text),                                                \
		.from = (source),                                              \
		.offset = (where),                                             \
		.entry = (at) },
#define ENTRIES_4(first, ...)                                                  \
	ENTRY(first, __VA_ARGS__)                                              \
	ENTRY((first) + 1, __VA_ARGS__)                                        \
	ENTRY((first) + 2, __VA_ARGS__)                                        \
	ENTRY((first) + 3, __VA_ARGS__)
#define ENTRIES_16(first, ...)                                                 \
	ENTRIES_4(first, __VA_ARGS__)                                          \
	ENTRIES_4((first) + 4, __VA_ARGS__)                                    \
	ENTRIES_4((first) + 8, __VA_ARGS__)                                    \
	ENTRIES_4((first) + 12, __VA_ARGS__)
#define ENTRIES_32(first, ...)                                                 \
	ENTRIES_16(first, __VA_ARGS__)                                         \
	ENTRIES_16((first) + 16, __VA_ARGS__)

static_assert(REPORT_HUGEPAGE_SIZES == 4 && REPORT_NUMA_HUGEPAGES == 32,
	"as many metrics as there are entries");

#define OF_NODE_LOAD(group, field, ...)                                        \
	LOAD(struct node_load, group##_##field,                                \
		"plimsoll_node_" #group "_" #field, __VA_ARGS__, )
#define OF_VM_LOAD(field, ...)                                                 \
	LOAD(struct vm_load, field, "plimsoll_vm_" #field, __VA_ARGS__, )
#define LOAD(type, member, called, shape, ...)                                 \
	LOAD_##shape(type, member, called, __VA_ARGS__)
#define LOAD_NONE(...)
#define LOAD_RATIO(type, member, called, text, ...)                            \
	METRIC(called "_ratio", text, false, METRIC_LOAD, type, member, 0)
#define LOAD_GAUGE(type, member, called, text, ...)                            \
	METRIC(called, text, false, METRIC_LOAD, type, member, 0)

#define NODE_METRICS                                                           \
	CPU_FIELDS(OF_CPU, cpu.)                                               \
	REPORT_PSI(NODE_PSI)                                                   \
	MEMORY_FIELDS(OF_MEMORY, memory.)                                      \
	REPORT_LOAD_FIELDS(OF_NODE, )                                          \
	HUGEPAGES_FIELDS(OF_HUGEPAGES, )                                       \
	NUMA_HUGEPAGES_FIELDS(OF_NUMA, )                                       \
	KVM_FIELDS(OF_NODE, kvm.)                                              \
	REPORT_RUN_FIELDS(OF_NODE, )                                           \
	REPORT_VMS_FIELDS(OF_NODE, )                                           \
	OWN_COST_FIELDS(OF_NODE, own.)                                         \
	LOAD_FIELDS(OF_NODE_LOAD)

#define VM_METRICS                                                             \
	VM_POD_CPU_FIELDS(OF_POD, )                                            \
	VM_POD_PSI(POD_PSI)                                                    \
	VM_POD_MEMORY_FIELDS(OF_POD, )                                         \
	HUGETLB_USE_FIELDS(OF_HUGETLB, )                                       \
	VM_LOAD_FIELDS(OF_VM_LOAD)

static const struct metric nodes[] = { NODE_METRICS };
static const struct metric vms[] = { VM_METRICS };

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

static bool is_known(const void *holder, const struct metric *metric)
{
	return metric->state == 0 ||
		*(const enum source_state *)member(holder, metric->state) ==
		SOURCE_PRESENT;
}

/* A value that is a member of the report or the pod. */
static double plain_value(const void *holder, const struct metric *metric)
{
	if (!is_known(holder, metric)) {
		return NAN;
	}
	switch (metric->from) {
	case METRIC_COUNT:
		return count_at(holder, metric->offset);
	case METRIC_US:
		return count_at(holder, metric->offset) / 1e6;
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
