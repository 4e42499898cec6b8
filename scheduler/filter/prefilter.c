#include "scheduler/filter/prefilter.h"

#include <stddef.h>

static const char conflict[] = "pod affinity terms conflict";

void prefilter_run(struct prefilter *prefilter, const struct pod *pod,
	const struct cluster *cluster)
{
	struct prefilter *p = prefilter;

	p->pod = pod;
	p->cluster = cluster;
	p->refusal = pod->unsupported;
	p->is_pinned = node_selector_is_pinned(&pod->required);
	if (p->refusal == NULL && p->is_pinned &&
		!node_selector_pins_any(&pod->required)) {
		p->refusal = conflict;
	}
	volumes_prepare(&p->volumes, pod, cluster);
	if (p->refusal == NULL) {
		p->refusal = p->volumes.refusal;
	}
	spread_prepare(&p->spread, pod, cluster);
	affinity_prepare(&p->affinity, pod, cluster);
	p->is_plain = p->volumes.is_skipped && p->affinity.is_skipped &&
		p->spread.hard_count == 0;
}

void prefilter_fini(struct prefilter *prefilter)
{
	affinity_fini(&prefilter->affinity);
	spread_fini(&prefilter->spread);
	volumes_fini(&prefilter->volumes);
	*prefilter = (struct prefilter){ 0 };
}
