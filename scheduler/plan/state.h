/* The cluster while a search moves VMs in it: each change can be undone in
 * reverse order, and then everything is exactly as before.
 *
 * The cluster's index of pods with affinity stays as it was: plan/relations.h
 * knows where they are. The VMs' models are set aside. Loads and measured
 * memory follow the moves. Nodes keep the indices of the input; orders that
 * matter are by name, so the order of the input does not. */
#pragma once

#include "scheduler/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_NONE SIZE_MAX

/* A VM of the input. */
struct state_vm {
	const struct plan_vm *vm; /* borrowed */
	double cores;		  /* expected; 0 with dedicated CPUs */
	double dedicated;	  /* CPUs of its own */
	double memory;		  /* bytes that a move copies */
	double measured;	  /* of them; 0: nobody knows what it uses */
	size_t node;		  /* where it is now; STATE_NONE: nowhere */
	size_t class;		  /* see plan/classes.h */
	bool stays;		  /* the search may not move it at all */
	bool has_moved;
	bool is_busy; /* it is about to move */
};

struct state_node {
	struct node *node;     /* borrowed */
	struct node_vms vms;   /* set aside */
	const char *exclusion; /* borrowed; NULL: takes part */
	bool has_load, is_gone;
	double used, shared; /* cores; only with a load */
	size_t *vm_list;     /* owned; its VMs at first: least memory first */
	size_t vm_count;
	unsigned touched; /* changes that count now */
	size_t place;	  /* in by_load */
};

struct state_change {
	const struct pod *pod; /* borrowed */
	size_t node;
	bool is_removal;
	int64_t bound_us;
	size_t position; /* before a removal */
	double memory_before, used_before, shared_before;
	uint64_t version_before;
};

struct state {
	const struct plan_input *input; /* borrowed */
	struct cluster *cluster;
	struct node **all_nodes; /* the cluster's, of which some may be gone */
	size_t node_count, vm_count;
	struct state_node *nodes; /* owned, as are the next ones */
	struct state_vm *vms;
	size_t *by_name; /* nodes */
	size_t *by_load; /* nodes; sorted by state_begin() and later */
	struct state_change *changes;
	size_t change_count, change_capacity;
	struct plan_step *steps; /* made now; `pod` is set at the end */
	size_t *step_vms;
	size_t step_count, moves;
	struct plan_left
		*left; /* owned, as their words, until they are taken */
	size_t left_count, left_capacity;
	/* Names the content: equal after an undo, else different. */
	uint64_t version, last_version;
	/* Labels of VMs matter to other pods. */
	bool has_relations;
};

/* Takes VMs off their nodes that are leaving, or the gone nodes with all their
 * pods: then no VM leaves, because a migration may not end. The input outlives
 * it. */
void state_begin(struct state *s, const struct plan_input *input,
	const struct plan_goal *goal);
/* Restores the cluster. */
void state_end(struct state *s);
/* The caller's flag is set. */
bool state_is_stopped(const struct state *s);

/* Makes a step; at most PLAN_MOVES_MAX moves and all VMs as starts. */
void state_step(struct state *s, size_t index, size_t target,
	enum plan_step_kind kind);
void state_undo_step(struct state *s);

/* The goal asks for this VM in vain. Takes its words. */
void state_leave_out(struct state *s, const struct plan_left *left);

/* Takes a VM off its node for a look, without a step. state_put_back() comes
 * before any other change is undone. */
void state_take_off(struct state *s, size_t vm);
void state_put_back(struct state *s, size_t vm);
/* A VM that is leaving is on its node again, until the state ends. */
void state_bring_back(struct state *s, size_t index);
