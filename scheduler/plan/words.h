/* The sentences of plans. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/plan/search.h"
#include "scheduler/plan/state.h"

#include <stddef.h>
#include <stdint.h>

/* Names of VMs in a sentence; further ones are counted. */
enum { WORDS_NAMES_MAX = 10 };

/* "namespace/name", of the VM if the pod is one of a VM. */
void words_pod(struct buffer *out, const struct pod *pod);

/* "1 move", "2 moves". */
void words_moves(struct buffer *out, size_t moves);

/* " after 2 moves: ns/vm-1 to node-c, ns/vm-2 to node-b"; nothing without
 * moves. */
void words_steps(struct buffer *out, const struct state *state);

/* "Insufficient cpu, Insufficient memory", in the filters' words. */
void words_reasons(struct buffer *out, struct search *s, const struct pod *pod,
	uint64_t reasons);

/* " once ns/vm-3 has left": VMs that are leaving, without whose leaving the
 * node does not admit the pod; nothing if there are none. The others are back
 * on their nodes from now on. */
void words_once_left(struct buffer *out, struct search *s,
	const struct want *want);

/* The same for all VMs that are leaving the node. */
void words_once_empty(struct buffer *out, const struct search *s, size_t node);

/* Why the VM does not move: "ns/vm cannot be migrated: ..."; the VM must be one
 * for which search_may_leave() is false. */
void words_fixed(struct buffer *out, const struct search *s, size_t index);

/* The words behind the VM's name, which name no other VM. */
void words_why_fixed(struct buffer *out, const struct search *s, size_t index);

/* The search ended before the VM's turn: "ns/vm was not tried in time". */
void words_not_tried(struct buffer *out, const struct search *s, size_t vm);

/* Why no other node takes the VM now: "no node takes ns/vm: 3 Insufficient
 * memory". Demands of KubeVirt on a node come first: "no node takes ns/vm:
 * its CPU model Icelake-Server is on no other node with room (2 nodes without
 * it, 1 Insufficient memory)". The same as above if one takes it, or if the
 * search is told to stop. */
void words_no_target(struct buffer *out, struct search *s, size_t vm,
	enum want_kind kind);

/* The same as words behind the VM's name, which name no other VM: "finds no
 * node: 3 Insufficient memory". */
void words_why_no_target(struct buffer *out, struct search *s, size_t vm,
	enum want_kind kind);

/* Which node comes closest to the pod, and why it fails there. */
void words_closest(struct buffer *out, struct search *s, const struct pod *pod);
