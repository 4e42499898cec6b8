/* Preferences: preferred node affinity, PreferNoSchedule taints, preferred pod
 * affinity of the incoming and existing pods, ScheduleAnyway constraints.
 *
 * Each is normalised over the feasible nodes as in kube-scheduler, in whole
 * points from 0 to 100. score/score.h adds them to the load at kube-scheduler's
 * weights. */
#pragma once

#include "scheduler/cluster/node.h"
#include "scheduler/filter/affinity.h"
#include "scheduler/filter/spread.h"
#include "scheduler/objects/pod.h"

#include <stdbool.h>
#include <stdint.h>

enum preference {
	PREFERENCE_AFFINITY,	 /* preferred node affinity */
	PREFERENCE_TAINT,	 /* PreferNoSchedule */
	PREFERENCE_POD_AFFINITY, /* preferred pod affinity and anti-affinity */
	PREFERENCE_SPREAD,	 /* ScheduleAnyway */
	PREFERENCES,
};

struct preferences {
	const struct pod *pod;		 /* borrowed, as are the next two */
	const struct affinity *affinity; /* prepared */
	const struct spread *spread;	 /* prepared */
	/* Range of the raw scores of the feasible nodes. */
	int64_t min[PREFERENCES], max[PREFERENCES];
	bool has_preferences; /* preferred node or pod affinity applies */
};

/* Starts without nodes. */
void preferences_begin(struct preferences *preferences, const struct pod *pod,
	const struct affinity *affinity, const struct spread *spread);

/* Adds a feasible node to all ranges but PREFERENCE_SPREAD. Needed only with
 * has_preferences, or for a node with taints. */
void preferences_add_node(struct preferences *preferences,
	const struct node *node);

/* Adds a feasible node to the range of PREFERENCE_SPREAD, after
 * spread_soft_count(). */
void preferences_add_spread(struct preferences *preferences,
	const struct node *node);

/* The preference can change the order of the nodes. NULL: false. */
bool preferences_applies(const struct preferences *preferences,
	enum preference preference);

/* The weight of kube-scheduler's plugin. */
double preferences_weight(enum preference preference);

/* 0 to 100, for a preference that applies and a feasible node. */
double preferences_points(const struct preferences *preferences,
	enum preference preference, const struct node *node);
