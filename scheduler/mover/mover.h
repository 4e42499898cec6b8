/* The mover: looks for moves of running VMs that pay, recommends them, and
 * orders them in automatic mode.
 *
 * Runs on every replica, works on the leader. Owns the watches of KubeVirt and
 * what is remembered of moves. docs/operations.md says how to use it. */
#pragma once

#include "lib/buffer.h"
#include "proto/move.h"
#include "scheduler/mover/gate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct cache;
struct events;
struct kube_client;
struct move_actions;
struct move_history;
struct mover;
struct node_load;
struct pod;
struct reach;
struct record_upload;
struct reservations;

/* A round begins this often. A move needs two rounds in a row, and a hot node
 * is to be named within two minutes. */
#define MOVER_ROUND_US INT64_C(30000000)

/* All pointers outlive the mover. */
struct mover_options {
	uv_loop_t *loop;
	struct kube_client *client;
	struct cache *cache;
	struct reservations *reservations;
	struct record_upload *upload;
	struct move_history *history;
	struct events *events;
	const char *scheduler_name;
	/* Rounds begin unless it is MOVER_OFF. */
	enum mover_mode mode;
	/* For moves that make room: --make-room. If both are off, nobody
	 * needs a mover. */
	enum mover_mode room_mode;
	double price;
	unsigned max_per_hour; /* 0: the default */
	uint64_t others_us;    /* see struct kubevirt_options */
	const struct windows *windows;
	const char *windows_text; /* the flag; "": always */
	bool (*is_synced)(void *owner);
	bool (*leads)(void *owner);
	void *owner;
};

/* Never NULL. */
struct mover *mover_new(const struct mover_options *options);

/* Borrowed: another module orders and records the moves that make room, and
 * reads what is known of moves and migrations. */
struct move_actions *mover_actions(struct mover *mover);

/* Says which VMs stand where they may not, until the mover is closed; NULL, as
 * before the call: none does. */
void mover_use_reach(struct mover *mover, const struct reach *reach);

/* The load of a node arrived; see node_watches_note(). mover may be NULL. */
void mover_note_load(struct mover *mover, const struct node_load *load,
	int64_t sample_us);

/* A record of an earlier leader, from struct aggregators_options. A record that
 * is more than 5 minutes ahead of the clock is ignored. */
void mover_remember(struct mover *mover, const struct move_record *record);

/* The scheduler found no node for a pod, for this reason. */
void mover_unschedulable(struct mover *mover, const struct pod *pod,
	const char *message);

/* For /metrics. */
struct mover_stats {
	uint64_t counts[MOVE_STATES]; /* records that came into this state */
	size_t recommendations;	      /* that hold now */
	size_t in_flight;
	bool is_paused; /* after failures in several namespaces */
	size_t paused_namespaces;
	bool orders;	/* the effective mode of --rebalance is automatic */
	double round_s; /* work of the last round; NAN: there was none */
	double longest_slice_s;
};

void mover_stats(struct mover *mover, struct mover_stats *out);

/* Appends the JSON of GET /v1/rebalance. */
void mover_describe(struct mover *mover, struct buffer *out);

/* Appends its "why": one sentence why nothing is moved now, and nothing while
 * moves are ordered. The sentence names nodes and no VM, and has no text of a
 * VM's owner. */
void mover_explain(const struct mover *mover, struct buffer *why);

void mover_close(struct mover *mover); /* NULL is fine */
