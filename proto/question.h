/* Questions that people ask an aggregator and the leading scheduler answers:
 * where a VM would be placed, which moves a plan has, and what the scheduler
 * expects of the nodes, or knows of a VM. The aggregator itself asks how many
 * nodes VMs can reach.
 *
 * The leader sends a question_request to every aggregator and gets a question
 * in reply. It sends the answer in parts, because an answer may be larger than
 * a message. */
#pragma once

#include "lib/buffer.h"
#include "proto/decision.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	QUESTION_BODY_MAX = 256 << 10,
	ANSWER_BODY_MAX = 2 << 20,
	ANSWER_PART_MAX = 512 << 10,
	/* A scheduler holds at most so many questions of an aggregator. */
	QUESTIONS_HELD_MAX = 4,
	/* Longer texts are cut; with the NUL. */
	REBALANCE_MODE_MAX = 16,
	REBALANCE_WHY_MAX = 512,
	QUESTION_KINDS_UNSAID = 2,
	REACH_PAGE = 1000, /* VMs */
};

/* The asker gets no answer later than this. */
#define QUESTION_DEADLINE_US UINT64_C(15000000)

enum question_kind {
	QUESTION_PLACEMENT,
	QUESTION_PLAN,
	QUESTION_OUTLOOK, /* on the cluster, or on a VM of the namespace */
	/* How many nodes each VM can reach (scheduler/mover/reach.h), of all
	 * namespaces. The body is {"from": N}, the number of VMs that earlier
	 * pages had, or {}. The answer is a page of REACH_PAGE VMs:
	 * {"reach": {"NAMESPACE/VM": nodes, ...}, "next": N}, the last one
	 * without next. */
	QUESTION_REACH,
	QUESTION_KINDS,
};

/* The state of --rebalance for all who may read the cluster's status, so it
 * names no VM. Texts are of printable ASCII. */
struct rebalance_state {
	char mode[REBALANCE_MODE_MAX]; /* "Off", "Recommend", "Automatic" */
	/* One sentence why nothing is moved now; "": moves are ordered. */
	char why[REBALANCE_WHY_MAX];
};

struct question_request {
	uint64_t term; /* a number of the leader's term; not 0 */
	/* The questions that the scheduler holds and has not answered. */
	uint64_t held[QUESTIONS_HELD_MAX];
	size_t held_count;
	struct rebalance_state rebalance; /* the mode is "": it was not told */
	/* The scheduler answers the kinds below this number; 0: it is too old
	 * to say so, and answers QUESTION_KINDS_UNSAID. It must get no other
	 * one: it could not read the question. */
	uint32_t kinds;
};

static inline bool question_kinds_have(uint32_t kinds, enum question_kind kind)
{
	return (uint32_t)kind < (kinds == 0 ? QUESTION_KINDS_UNSAID : kinds);
}

/* The question may be about no namespace. */
static inline bool question_spans_namespaces(enum question_kind kind)
{
	return kind == QUESTION_OUTLOOK || kind == QUESTION_REACH;
}

struct question {
	uint64_t id; /* 0: there is none, and the rest is unused */
	enum question_kind kind;
	/* "" for an outlook on the cluster, and for a reach. */
	char namespace[DECISION_NAME_MAX];
	/* The asker may know the VMs of all namespaces, not only of this. */
	bool is_visible;
	char *body; /* JSON; owned after unpacking, borrowed for packing */
	size_t len;
};

/* One part of an answer. */
struct answer_part {
	uint64_t id, term;
	uint32_t status; /* of HTTP, 200 to 599 */
	uint32_t offset; /* of this part in the whole body */
	bool has_more;	 /* another part follows */
	char *body;	 /* owned after unpacking, borrowed for packing */
	size_t len;
};

struct answer_ack {
	bool is_wanted; /* else nobody waits for the answer any more */
};

/* ---- on the wire, as in proto/wire.h ---- */

void wire_pack_question_request(struct buffer *out,
	const struct question_request *request);
void wire_pack_question(struct buffer *out, const struct question *question);
void wire_pack_answer(struct buffer *out, const struct answer_part *answer);
void wire_pack_answer_ack(struct buffer *out, const struct answer_ack *ack);
