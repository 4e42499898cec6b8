/* What a pod would rather have: preferred node affinity, PreferNoSchedule
 * taints, preferred pod affinity from both sides, ScheduleAnyway constraints.
 *
 * Each is measured over the feasible nodes of a decision and normalised as
 * kube-scheduler does, in whole points from 0 to 100; score.h mixes them with
 * the load, at kube-scheduler's weights. */
#pragma once

#include "scheduler/filter/affinity.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "scheduler/filter/spread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wish {
	WISH_AFFINITY,	   /* preferred node affinity */
	WISH_TAINT,	   /* PreferNoSchedule */
	WISH_POD_AFFINITY, /* preferred pod affinity and anti-affinity */
	WISH_SPREAD,	   /* ScheduleAnyway */
	WISHES,
};

/* A zeroed one has no wishes. */
struct preferred {
	const struct pod *pod;		 /* borrowed, as are the next two */
	const struct affinity *affinity; /* prepared */
	struct spread *spread;		 /* prepared; its soft part is ours */
	int64_t least[WISHES], most[WISHES]; /* raw, of the feasible nodes */
	bool has_wishes; /* the pod, or pods that run about it */
};

/* Begins with no node. */
void preferred_begin(struct preferred *preferred, const struct pod *pod,
	const struct affinity *affinity, struct spread *spread);

/* Notes a feasible node: all wishes but WISH_SPREAD. No need to where neither
 * has_wishes is set nor the node has taints. */
void preferred_note(struct preferred *preferred, const struct node *node);

/* WISH_SPREAD wants the feasible nodes twice: first all of them here, then
 * preferred_count_spread(), then all of them there. */
bool preferred_wants_spread(const struct preferred *preferred);
void preferred_note_domain(struct preferred *preferred,
	const struct node *node);
void preferred_count_spread(struct preferred *preferred,
	const struct cluster *cluster);
void preferred_note_spread(struct preferred *preferred,
	const struct node *node);

/* It makes a difference between the nodes. NULL: none does. */
bool preferred_plays(const struct preferred *preferred, enum wish wish);

/* kube-scheduler's weight of the plugin that sees to it. */
double preferred_weight(enum wish wish);

/* 0 to 100; of a wish that plays and a feasible node. */
double preferred_points(const struct preferred *preferred, enum wish wish,
	const struct node *node);
