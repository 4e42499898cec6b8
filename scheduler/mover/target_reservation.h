/* The room on the target of an ordered move, until its target pod has a node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct migration;
struct reservations;

/* A VM and the node it will move to. All borrowed; pods hold the first two
 * without const. */
struct target_reservation {
	char *namespace, *vmi_uid;
	const char *node;
};

/* To be called every few seconds for an open move that is not copied yet. The
 * VM counts on its target: KubeVirt may queue a migration for longer than a
 * reservation lasts, and a new leader has no reservations. migration: the
 * move's; NULL: not known. True: the target pod has a node. */
bool target_reservation_keep(struct reservations *reservations,
	const struct target_reservation *room,
	const struct migration *migration, int64_t now_us);
