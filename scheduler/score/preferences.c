#include "scheduler/score/preferences.h"

enum { POINTS = 100 };

void preferences_begin(struct preferences *preferences, const struct pod *pod,
	const struct affinity *affinity, const struct spread *spread)
{
	*preferences = (struct preferences){
		.pod = pod,
		.affinity = affinity,
		.spread = spread,
	};
	preferences->has_preferences =
		pod->preferred.count > 0 || affinity_has_scores(affinity);
	for (int i = 0; i < PREFERENCES; i++) {
		preferences->min[i] = INT64_MAX;
		preferences->max[i] = INT64_MIN;
	}
}

static int64_t node_affinity(const struct pod *pod, const struct node *node)
{
	const struct requirement_subject subject = node_subject(node);

	return node_selector_weight(&pod->preferred, &subject);
}

static int64_t raw_score(const struct preferences *p,
	enum preference preference, const struct node *node)
{
	switch (preference) {
	case PREFERENCE_AFFINITY:
		return node_affinity(p->pod, node);
	case PREFERENCE_TAINT:
		return taints_count_intolerable(&node->taints,
			&p->pod->tolerations);
	case PREFERENCE_POD_AFFINITY:
		return affinity_score(p->affinity, node);
	case PREFERENCE_SPREAD:
	case PREFERENCES:
		break;
	}
	return spread_soft_score(p->spread, node);
}

static void extend_range(struct preferences *p, enum preference preference,
	int64_t value)
{
	if (value < p->min[preference]) {
		p->min[preference] = value;
	}
	if (value > p->max[preference]) {
		p->max[preference] = value;
	}
}

void preferences_add_node(struct preferences *preferences,
	const struct node *node)
{
	struct preferences *p = preferences;

	if (p->pod->preferred.count > 0) {
		extend_range(p, PREFERENCE_AFFINITY,
			node_affinity(p->pod, node));
	}
	if (node->taints.count > 0) {
		extend_range(p, PREFERENCE_TAINT,
			raw_score(p, PREFERENCE_TAINT, node));
	}
	if (affinity_has_scores(p->affinity)) {
		extend_range(p, PREFERENCE_POD_AFFINITY,
			raw_score(p, PREFERENCE_POD_AFFINITY, node));
	}
}

/* Nodes without a domain do not count. */
void preferences_add_spread(struct preferences *preferences,
	const struct node *node)
{
	int64_t score = spread_soft_score(preferences->spread, node);

	if (score >= 0) {
		extend_range(preferences, PREFERENCE_SPREAD, score);
	}
}

bool preferences_applies(const struct preferences *preferences,
	enum preference preference)
{
	if (preferences == NULL) {
		return false;
	}
	if (preference == PREFERENCE_POD_AFFINITY) {
		return preferences->max[preference] >
			preferences->min[preference];
	}
	return preferences->max[preference] > 0;
}

double preferences_weight(enum preference preference)
{
	static const double weights[] = {
		[PREFERENCE_AFFINITY] = 2,
		[PREFERENCE_TAINT] = 3,
		[PREFERENCE_POD_AFFINITY] = 2,
		[PREFERENCE_SPREAD] = 2,
	};

	return weights[preference];
}

/* In whole points, as kube-scheduler. */
static int64_t points(const struct preferences *p, enum preference preference,
	int64_t value)
{
	int64_t max = p->max[preference];
	int64_t min = p->min[preference];

	if (preference == PREFERENCE_TAINT) {
		return POINTS - POINTS * value / max;
	}
	if (preference == PREFERENCE_POD_AFFINITY) {
		return (int64_t)(POINTS *
			((double)(value - min) / (double)(max - min)));
	}
	if (preference == PREFERENCE_SPREAD) {
		return value < 0 ? 0 : POINTS * (max + min - value) / max;
	}
	return POINTS * value / max;
}

double preferences_points(const struct preferences *preferences,
	enum preference preference, const struct node *node)
{
	return (double)points(preferences, preference,
		raw_score(preferences, preference, node));
}
