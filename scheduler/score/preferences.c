#include "scheduler/score/preferences.h"

enum { POINTS = 100 };

void preferred_begin(struct preferred *preferred, const struct pod *pod,
	const struct affinity *affinity, struct spread *spread)
{
	*preferred = (struct preferred){
		.pod = pod,
		.affinity = affinity,
		.spread = spread,
	};
	preferred->has_wishes =
		pod->preferred.count > 0 || affinity_has_points(affinity);
	for (int i = 0; i < WISHES; i++) {
		preferred->least[i] = INT64_MAX;
		preferred->most[i] = INT64_MIN;
	}
}

static int64_t node_affinity(const struct pod *pod, const struct node *node)
{
	const struct selected selected = {
		.names = node->names,
		.labels = &node->labels,
		.name = node->name_id,
	};

	return terms_weight(&pod->preferred, &selected);
}

static int64_t raw(const struct preferred *p, enum wish wish,
	const struct node *node)
{
	switch (wish) {
	case WISH_AFFINITY:
		return node_affinity(p->pod, node);
	case WISH_TAINT:
		return taints_disliked(&node->taints, &p->pod->tolerations);
	case WISH_POD_AFFINITY:
		return affinity_points(p->affinity, node);
	case WISH_SPREAD:
	case WISHES:
		break;
	}
	return spread_crowd(p->spread, node);
}

static void note(struct preferred *p, enum wish wish, int64_t value)
{
	if (value < p->least[wish]) {
		p->least[wish] = value;
	}
	if (value > p->most[wish]) {
		p->most[wish] = value;
	}
}

void preferred_note(struct preferred *preferred, const struct node *node)
{
	struct preferred *p = preferred;

	if (p->pod->preferred.count > 0) {
		note(p, WISH_AFFINITY, node_affinity(p->pod, node));
	}
	if (node->taints.count > 0) {
		note(p, WISH_TAINT, raw(p, WISH_TAINT, node));
	}
	if (affinity_has_points(p->affinity)) {
		note(p, WISH_POD_AFFINITY, raw(p, WISH_POD_AFFINITY, node));
	}
}

bool preferred_wants_spread(const struct preferred *preferred)
{
	return preferred->spread->soft_count > 0;
}

void preferred_note_domain(struct preferred *preferred, const struct node *node)
{
	spread_soft_note(preferred->spread, node);
}

void preferred_count_spread(struct preferred *preferred,
	const struct cluster *cluster)
{
	spread_soft_count(preferred->spread, cluster);
}

/* A node that is in no domain has no say in how crowded the others are. */
void preferred_note_spread(struct preferred *preferred, const struct node *node)
{
	int64_t crowd = spread_crowd(preferred->spread, node);

	if (crowd >= 0) {
		note(preferred, WISH_SPREAD, crowd);
	}
}

bool preferred_plays(const struct preferred *preferred, enum wish wish)
{
	if (preferred == NULL) {
		return false;
	}
	if (wish == WISH_POD_AFFINITY) {
		return preferred->most[wish] > preferred->least[wish];
	}
	return preferred->most[wish] > 0;
}

double preferred_weight(enum wish wish)
{
	static const double weights[] = {
		[WISH_AFFINITY] = 2,
		[WISH_TAINT] = 3,
		[WISH_POD_AFFINITY] = 2,
		[WISH_SPREAD] = 2,
	};

	return weights[wish];
}

/* In whole points, as kube-scheduler has them. */
static int64_t points(const struct preferred *p, enum wish wish, int64_t value)
{
	int64_t most = p->most[wish];
	int64_t least = p->least[wish];

	if (wish == WISH_TAINT) {
		return POINTS - POINTS * value / most;
	}
	if (wish == WISH_POD_AFFINITY) {
		return (int64_t)(POINTS *
			((double)(value - least) / (double)(most - least)));
	}
	if (wish == WISH_SPREAD) {
		return value < 0 ? 0 : POINTS * (most + least - value) / most;
	}
	return POINTS * value / most;
}

double preferred_points(const struct preferred *preferred, enum wish wish,
	const struct node *node)
{
	return (double)points(preferred, wish, raw(preferred, wish, node));
}
