/* The names that a node's and a VM's figures have in Prometheus, and their
 * values: the one list behind /metrics and remote write. Pure. The names come
 * from proto/report_fields.h and proto/load_fields.h.
 *
 * A figure that node_exporter or cAdvisor export has their name and unit; the
 * names of the others begin with plimsoll_. CPU time has no `cpu` label, as
 * reports hold sums over the CPUs. The caller adds the label node to every
 * series, and the labels pod_uid, namespace and name to those of VMs, the last
 * two once they are known.
 *
 * Metrics of one name, which differ in a label, follow each other. */
#pragma once

#include "proto/load.h"
#include "proto/report.h"

/* The source of a value. */
enum metric_from {
	METRIC_COUNT,  /* uint64_t */
	METRIC_US,     /* uint64_t microseconds, exported as seconds */
	METRIC_NUMBER, /* double */
	METRIC_LOAD,   /* double of struct node_load or struct vm_load */
	METRIC_KVM,
	METRIC_HUGEPAGES, /* of entry: a size */
	METRIC_NUMA,	  /* of entry: a NUMA node and size */
	METRIC_HUGETLB,	  /* of entry: a size */
};

struct metric {
	const char *name;
	const char *help; /* one sentence without full stop */
	bool is_counter;  /* else a gauge */
	enum metric_from from;
	size_t offset; /* in struct report, vm_pod, node_load, vm_load, or in
	                * the entry */
	/* Offset in the same struct of the enum source_state without whose
	 * SOURCE_PRESENT the value is not known; 0: there is none. */
	size_t state;
	size_t entry;
	const char *label, *label_value; /* NULL: no fixed label */
};

enum { METRIC_LABELS_MAX = 2, METRIC_LABEL_MAX = 32 };

/* The value of one metric; value is finite. */
struct metric_sample {
	double value;
	size_t label_count; /* besides those of the node or VM */
	struct {
		const char *key;
		char value[METRIC_LABEL_MAX]; /* without escapes */
	} labels[METRIC_LABELS_MAX];
};

/* The metrics in order; NULL at their number. */
const struct metric *metric_node_at(size_t i);
const struct metric *metric_vm_at(size_t i);

/* A metric of metric_node_at(). With a NULL load its figures are not known.
 * False: the value is not known, and *out is undefined. */
bool metric_node_sample(struct metric_sample *out, const struct metric *metric,
	const struct report *report, const struct node_load *load);

/* A metric of metric_vm_at(); load and result as above. */
bool metric_vm_sample(struct metric_sample *out, const struct metric *metric,
	const struct vm_pod *vm, const struct vm_load *load);
