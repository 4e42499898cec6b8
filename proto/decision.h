/* The record of one scheduling decision: the chosen node, or why none fits, and
 * the figures behind it. Schedulers make records, aggregators store them. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_DECISIONS_MAX = 64, /* per batch */
	DECISION_BEST_MAX = 10,
	DECISION_TERMS_MAX = 24,
	DECISION_REASONS_MAX = 64,
	DECISION_NAME_MAX = 254, /* a pod's name with its NUL */
	DECISION_WORD_MAX = 32,	 /* a policy's or term's name with its NUL */
	DECISION_REASON_MAX = 400,
	DECISION_SENTENCE_MAX = 1024,
	DECISION_NAMES_MAX = 20,      /* rejected nodes for each reason */
	DECISION_NAMES_BYTES = 16384, /* of all rejected nodes, with NULs */
};

struct decision_term {
	char name[DECISION_WORD_MAX];
	double points;
};

/* X(field) of struct decision_candidate: shares of 1, NAN if unknown. */
#define DECISION_SHARES(X)                                                     \
	X(trust)	   /* in the node's figures */                         \
	X(cpu_used)	   /* as measured */                                   \
	X(cpu_expected)	   /* with this pod and the next three */              \
	X(cpu_by_pod)	   /* of these, by this pod */                         \
	X(cpu_by_starting) /* by VMs that were placed and not measured yet */  \
	X(cpu_by_growth)   /* by VMs that will use more than now */            \
	X(cpu_announced)   /* of these, by announcements; see docs/http.md */  \
	X(cpu_deviation)   /* the standard deviation of cpu_expected */        \
	X(cpu_by_requests) /* with this pod */                                 \
	X(memory_by_requests)                                                  \
	X(memory_expected) /* with this pod; what its points stand for */      \
	X(memory_pressure)                                                     \
	X(io_pressure)                                                         \
	X(contention)

/* X(field) of struct decision_candidate; NAN if unknown. The expected shortage
 * of CPU time within the next hour with this pod, and the part of it that this
 * pod adds, in core-seconds; the pod's siblings on the node, which move
 * together as the record says. */
#define DECISION_FIGURES(X) X(cpu_shortage) X(cpu_shortage_added) X(siblings)

struct decision_candidate {
	char node[REPORT_NODE_MAX];
	double score;
	/* From cpu_expected to all cores, in standard deviations; below 0 if
	 * more is expected. NAN: not known. */
	double cpu_room;
	uint64_t load_age_us; /* REPORT_UNKNOWN: there were no figures */
	struct decision_term terms[DECISION_TERMS_MAX];
	size_t term_count;
#define X(field) double field;
	DECISION_SHARES(X)
	DECISION_FIGURES(X)
#undef X
};

struct decision_rejection {
	char reason[DECISION_REASON_MAX];
	uint32_t nodes; /* how many it excludes */
	/* Some of these: decision_names() has them. */
	uint32_t first_name, name_count;
};

struct decision_record {
	char namespace[DECISION_NAME_MAX];
	char pod[DECISION_NAME_MAX];
	char uid[REPORT_UID_MAX];
	char vm[DECISION_NAME_MAX]; /* in the same namespace; "": unknown */
	uint64_t wall_us;
	char policy[DECISION_WORD_MAX];
	char chosen[REPORT_NODE_MAX]; /* "": no node */
	uint32_t nodes, feasible;
	double margin; /* points ahead of the next best; NAN: there is none */
	/* The term that counts most against the next best, and its part of the
	 * margin; "" and NAN: none does. */
	char decided_by[DECISION_WORD_MAX];
	double decided_points;
	/* From the VM's profile: the length of the history that counted and
	 * its mean; NAN: there was no profile. */
	double past_seconds, past_cores;
	/* How far the VM's siblings move together, 0 to 1; 0: not known. How
	 * many there are on all nodes. NAN: the pod is not a VM. */
	double siblings_correlation, siblings;
	/* How old the scheduler's cache of the API server's objects was, at
	 * most; NAN: not known. */
	double cache_age_seconds;
	char sentence[DECISION_SENTENCE_MAX];
	struct decision_candidate best[DECISION_BEST_MAX]; /* in order */
	size_t best_count;
	struct decision_rejection rejections[DECISION_REASONS_MAX];
	size_t rejection_count;
	/* Names of rejected nodes, each with its NUL. */
	char names[DECISION_NAMES_BYTES];
	size_t names_len;
};

/* Adds the name of a node to the last rejection. False: there is no room. */
bool decision_add_name(struct decision_record *record, const char *node);

/* The rejection's names, name_count texts each with its NUL. Borrowed. */
const char *decision_names(const struct decision_record *record,
	const struct decision_rejection *rejection);

/* A decision or a move, as wire_pack_decision() or wire_pack_move() packed
 * it. */
struct packed_record {
	const uint8_t *bytes;
	size_t len;
};

struct decision_batch {
	struct decision_record *records; /* owned */
	size_t count;
};

/* As in proto/wire.h. A single decision is packed as the store keeps it. */
void wire_pack_decisions(struct buffer *out,
	const struct packed_record *decisions, size_t count);
void wire_pack_decision(struct buffer *out,
	const struct decision_record *record);
must_check int wire_unpack_decision(struct decision_record *out,
	const uint8_t *bytes, size_t len, struct error *err);
