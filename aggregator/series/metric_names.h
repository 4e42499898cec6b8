/* What a node's and a VM's figures are called in Prometheus, and their values:
 * the one list behind /metrics and remote write. Pure.
 *
 * Where node_exporter or cAdvisor have a name for a figure it is theirs, with
 * their units; what they do not have begins with plimsoll_. CPU time has no
 * `cpu` label, as reports hold sums over the CPUs. Every series also gets the
 * label node, and a VM's the labels pod_uid, namespace and name, the last two
 * once they are known: those are the caller's to add.
 *
 * The lists are in the order of the names: metrics of one name, which differ in
 * a label, stand together. */
#pragma once

#include "proto/load.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a value comes from. */
enum metric_from {
	METRIC_CPU,    /* uint64_t microseconds, known with struct cpu_totals */
	METRIC_MEMORY, /* uint64_t bytes, known with struct memory */
	METRIC_PSI_SOME, /* struct psi */
	METRIC_PSI_FULL,
	METRIC_COUNT,  /* uint64_t as it is */
	METRIC_US,     /* uint64_t microseconds, given as seconds */
	METRIC_NUMBER, /* double */
	METRIC_LOAD,   /* double of struct node_load or struct vm_load */
	METRIC_KVM,
	METRIC_HUGEPAGES, /* the entry'th size */
	METRIC_NUMA,	  /* the entry'th node and size */
	METRIC_HUGETLB,	  /* the entry'th size */
};

struct metric {
	const char *name;
	const char *help; /* one sentence without full stop */
	bool is_counter;  /* else a gauge */
	enum metric_from from;
	size_t offset; /* in struct report, vm_pod, node_load, vm_load, or in
	                * the entry */
	size_t entry;
	const char *label, *label_value; /* NULL: none that is fixed */
};

enum { METRIC_LABELS_MAX = 2, METRIC_LABEL_MAX = 32 };

/* The value of one metric; value is finite. */
struct metric_sample {
	double value;
	size_t label_count; /* beyond those of the node or VM */
	struct {
		const char *key;
		char value[METRIC_LABEL_MAX]; /* needs no escapes */
	} labels[METRIC_LABELS_MAX];
};

/* All of them; metric_node_at(i) is NULL from their number on. */
const struct metric *metric_node_at(size_t i);
const struct metric *metric_vm_at(size_t i);

/* A metric of metric_node_at(). load may be NULL: what comes of it is not known
 * then. False: the value is not known, and *out is not to be used. */
bool metric_node_sample(struct metric_sample *out, const struct metric *metric,
	const struct report *report, const struct node_load *load);

/* A metric of metric_vm_at(); load as above. */
bool metric_vm_sample(struct metric_sample *out, const struct metric *metric,
	const struct vm_pod *vm, const struct vm_load *load);
