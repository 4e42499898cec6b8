/* The moves that were ordered and have not ended: from the order to KubeVirt to
 * the end, whichever it is. A move that somebody else ended, or that KubeVirt
 * refused, is withdrawn: its target has not failed.
 *
 * The recorder's open records say which moves these are, so that a
 * new leader continues those of the last one. Whatever ends a move, its
 * reservation ends. */
#pragma once

#include "lib/map.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/mover/node_watches.h"
#include "scheduler/mover/recorder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache;
struct pod;
struct reservations;

/* KubeVirt writes a failure's reason up to 0.4 s after the phase. */
#define OPEN_MOVES_REASON_US INT64_C(2000000)

/* A move is cancelled if it is neither copied nor over this long after
 * KubeVirt took the order. Its timeouts at KubeVirt are 60 s and 120 s. A copy
 * may last this long and as long as KubeVirt allows. */
#define OPEN_MOVES_HANG_US INT64_C(600000000)

/* A cancellation is repeated this long after its answer. */
#define OPEN_MOVES_CANCEL_US INT64_C(30000000)

/* A migration object that the last leader was about to create appears within
 * this time: ORDERS_UNKNOWN_US and a minute for the watch. */
#define OPEN_MOVES_APPEAR_US INT64_C(150000000)

/* Zeroed but for the first five: ready. */
struct open_moves {
	struct recorder *recorder; /* these outlive it */
	struct cache *cache;
	struct reservations *reservations;
	struct kubevirt *kubevirt;
	struct node_watches *watches; /* may be NULL */
	struct map by_id;	      /* of struct open_move */
};

void open_moves_fini(struct open_moves *moves);

/* Orders the move of a kept record. hostname: the value of the target's label
 * kubernetes.io/hostname. False: the VM holds a reservation already, and
 * nothing was ordered. */
bool open_moves_order(struct open_moves *moves, struct move_record *record,
	const char *pod_uid, const char *hostname, struct moment now);

/* KubeVirt's answer to an order: see struct kubevirt_options. */
void open_moves_answered(struct open_moves *moves, const char *move_id,
	const char *name, const char *error, struct moment now);

/* One of our migrations, or its VMI, changed. Migrations that are not those of
 * an open record are ignored. */
void open_moves_changed(struct open_moves *moves,
	const struct migration *migration, const struct vmi *vmi,
	struct moment now);
void open_moves_gone(struct open_moves *moves,
	const struct migration *migration, struct moment now);

/* The scheduler found no node for a pod; no effect unless the pod is the target
 * of a move. */
void open_moves_unschedulable(struct open_moves *moves, const struct pod *pod,
	const char *message);

/* To be called about every second, once the migrations and VMIs are known:
 * ends what hangs, and continues the moves of an earlier leader. */
void open_moves_tick(struct open_moves *moves, struct moment now);
