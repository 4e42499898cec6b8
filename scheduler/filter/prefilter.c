#include "scheduler/filter/prefilter.h"

#include "scheduler/filter/constraint_cost.h"

#include <stddef.h>
#include <string.h>

static const char conflict[] = "pod affinity terms conflict";
static const char nowhere[] =
	"node(s) didn't satisfy plugin(s) [NodeAffinity "
	"NodeName] simultaneously";

static uint8_t features_of(const struct prefilter *p)
{
	const struct behaviours behaviours = p->cluster->behaviours;
	uint8_t features = p->pod->features;

	if (!behaviours_have(behaviours, BEHAVIOUR_BIND_MOUNT_OPTIONS)) {
		features &= (uint8_t)~FEATURE_BIND_MOUNT_OPTIONS;
	}
	return behaviours_have(behaviours, BEHAVIOUR_DECLARED_FEATURES)
		? features
		: 0;
}

static void prepare_names(struct prefilter *p)
{
	const struct pod *pod = p->pod;
	uint32_t name = 0;

	p->is_pinned = node_selector_is_pinned(&pod->required);
	p->is_named = *pod->node_name != '\0' &&
		behaviours_have(p->cluster->behaviours,
			BEHAVIOUR_NODE_NAME_FIRST);
	if (p->refusal != NULL || !p->is_pinned) {
		return;
	}
	if (p->is_named) {
		name = interner_find(pod->interner, pod->node_name);
	}
	if (!node_selector_pins_any(&pod->required)) {
		p->refusal = conflict;
	} else if (p->is_named && !node_selector_pins(&pod->required, name)) {
		p->refusal = nowhere;
	}
}

bool prefilter_pins_other(const struct prefilter *prefilter,
	const struct node *node)
{
	const struct pod *pod = prefilter->pod;

	return (prefilter->is_pinned &&
		       !node_selector_pins(&pod->required, node->name_id)) ||
		(prefilter->is_named &&
			strcmp(pod->node_name, node->name) != 0);
}

const char *prefilter_pinning_plugins(const struct prefilter *prefilter)
{
	if (!prefilter->is_named) {
		return "[NodeAffinity]";
	}
	return prefilter->is_pinned ? "[NodeAffinity NodeName]" : "[NodeName]";
}

/* The counts over nodes and pods. A pod that costs too much gets none. */
static void count(struct prefilter *p)
{
	p->is_costly = constraint_cost_exceeds(p->pod, p->cluster);
	if (p->is_costly) {
		spread_clear(&p->spread, p->pod);
		affinity_begin(&p->affinity, p->pod, p->cluster);
		affinity_settle(&p->affinity);
		return;
	}
	spread_prepare(&p->spread, p->pod, p->cluster);
	affinity_prepare(&p->affinity, p->pod, p->cluster);
}

static void begin(struct prefilter *p, const struct pod *pod,
	const struct cluster *cluster)
{
	p->pod = pod;
	p->cluster = cluster;
	p->refusal = pod->unsupported;
	p->features = features_of(p);
	prepare_names(p);
}

/* Takes over the refusal of the volumes. */
static void end_volumes(struct prefilter *p)
{
	if (p->refusal == NULL) {
		p->refusal = p->volumes.refusal;
	}
}

void prefilter_run_alone(struct prefilter *prefilter, const struct pod *pod,
	const struct cluster *cluster)
{
	struct prefilter *p = prefilter;

	begin(p, pod, cluster);
	volumes_prepare_places(&p->volumes, pod, cluster);
	end_volumes(p);
}

void prefilter_run(struct prefilter *prefilter, const struct pod *pod,
	const struct cluster *cluster)
{
	struct prefilter *p = prefilter;

	begin(p, pod, cluster);
	volumes_prepare(&p->volumes, pod, cluster);
	end_volumes(p);
	count(p);
	if (p->refusal == NULL && p->is_costly) {
		p->refusal = constraint_cost_refusal;
	}
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
