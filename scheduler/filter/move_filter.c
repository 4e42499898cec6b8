#include "scheduler/filter/move_filter.h"

#include "lib/memory.h"
#include "scheduler/filter/nominated_pods.h"

#include <stdlib.h>

static void hold_keys(struct move_filter *filter, struct interner *interner)
{
	if (filter->interner != NULL) {
		return;
	}
	filter->interner = interner;
	filter->hostname_key =
		interner_hold(interner, "kubernetes.io/hostname");
	filter->job_key =
		interner_hold(interner, "kubevirt.io/migrationJobUID");
}

static void free_slots(struct move_filter *filter)
{
	free(filter->slots);
	filter->slots = NULL;
	filter->hostname = NULL;
}

static void free_hostname(struct move_filter *filter)
{
	struct labels *selector = &filter->pod.node_selector;

	if (labels_get(selector, filter->hostname_key) == 0 ||
		labels_get(&filter->pod.labels, filter->job_key) == 0) {
		return;
	}
	filter->slots = xmemdup(selector->slots,
		(size_t)(UINT64_C(1) << (32 - selector->shift)) *
			sizeof(*selector->slots));
	selector->slots = filter->slots;
	filter->hostname = labels_slot(selector, filter->hostname_key);
}

static const struct pod *next_of(const struct pod *pod,
	enum move_filter_kind kind)
{
	return kind == MOVE_FILTER_MOVE	    ? pod->migrated
		: kind == MOVE_FILTER_START ? pod->restarted
					    : NULL;
}

static void prepare(struct move_filter *filter, const struct cluster *cluster,
	const struct pod *pod, enum move_filter_kind kind)
{
	static char nowhere[1];
	const struct pod *next = next_of(pod, kind);

	hold_keys(filter, pod->interner);
	free_slots(filter);
	filter->cluster = cluster;
	filter->kind = kind;
	filter->pod = next != NULL ? *next : *pod;
	filter->failed = NULL;
	if (kind != MOVE_FILTER_POD) {
		filter->pod.node_name = nowhere;
	}
	if (kind != MOVE_FILTER_POD && next == NULL) {
		free_hostname(filter);
	}
	if (kind == MOVE_FILTER_MOVE && cluster->failures.by_vm.count > 0) {
		filter->failed = vm_failures_of(&cluster->failures,
			pod->namespace, pod->vm_name);
	}
}

void move_filter_prepare(struct move_filter *filter,
	const struct cluster *cluster, const struct pod *pod,
	enum move_filter_kind kind)
{
	prepare(filter, cluster, pod, kind);
	prefilter_run(&filter->prefilter, &filter->pod, cluster);
}

void move_filter_prepare_plain(struct move_filter *filter,
	const struct cluster *plain, const struct pod *pod,
	enum move_filter_kind kind)
{
	struct pod_affinity affinity;

	prepare(filter, plain, pod, kind);
	affinity = filter->pod.affinity;
	/* Its terms would be matched against all pods. */
	filter->pod.affinity = (struct pod_affinity){ 0 };
	prefilter_run(&filter->prefilter, &filter->pod, plain);
	filter->pod.affinity = affinity;
}

void move_filter_begin_counts(struct move_filter *filter)
{
	affinity_begin(&filter->prefilter.affinity, &filter->pod,
		filter->cluster);
}

void move_filter_count(struct move_filter *filter,
	const struct pod_on_node *existing)
{
	affinity_count_pod(&filter->prefilter.affinity, filter->cluster,
		existing, 1);
}

void move_filter_settle(struct move_filter *filter)
{
	struct prefilter *p = &filter->prefilter;

	affinity_settle(&p->affinity);
	p->is_plain = p->volumes.is_skipped && p->affinity.is_skipped &&
		p->spread.hard_count == 0;
}

bool move_filter_is_avoided(const struct move_filter *filter,
	const struct node *node, int64_t now_us)
{
	if (filter->kind != MOVE_FILTER_MOVE) {
		return false;
	}
	return (node->rejections.count > 0 &&
		       rejections_cost(&node->rejections, now_us) >
			       MOVE_FILTER_REJECTIONS) ||
		(filter->failed != NULL &&
			vm_failures_node_until(filter->failed, node->name) >
				now_us);
}

uint64_t move_filter_node(struct move_filter *filter, struct node *node,
	const struct filter_options *options, int64_t now_us)
{
	if (filter->hostname != NULL) {
		filter->hostname->value =
			labels_get(&node->labels, filter->hostname->key);
	}
	if (filter->cluster->nominated_count > 0) {
		return nominated_pods_filter(&filter->prefilter, node, options,
			now_us);
	}
	return filter_node(&filter->prefilter, node, options, now_us);
}

void move_filter_fini(struct move_filter *filter)
{
	prefilter_fini(&filter->prefilter);
	free_slots(filter);
	if (filter->interner != NULL) {
		interner_drop(filter->interner, filter->hostname_key);
		interner_drop(filter->interner, filter->job_key);
	}
	*filter = (struct move_filter){ 0 };
}
