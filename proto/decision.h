/* The record of one scheduling decision: the chosen node, or why none fits, and
 * the figures behind it. Schedulers make records, aggregators store them. */
#pragma once

#include "proto/report.h"

#include <stddef.h>
#include <stdint.h>

enum {
	DECISION_BEST_MAX = 10,
	DECISION_TERMS_MAX = 24,
	DECISION_REASONS_MAX = 64,
	DECISION_NAME_MAX = 254, /* a pod's name with its NUL */
	DECISION_WORD_MAX = 32,	 /* a policy's or term's name with its NUL */
	DECISION_REASON_MAX = 400,
	DECISION_SENTENCE_MAX = 1024,
};

struct decision_term {
	char name[DECISION_WORD_MAX];
	double points;
};

/* X(field) of struct decision_candidate: shares of 1, NAN if unknown. */
#define DECISION_SHARES(X)                                                     \
	X(trust)	   /* in the node's figures */                         \
	X(cpu_used)	   /* as measured */                                   \
	X(cpu_expected)	   /* with this pod */                                 \
	X(cpu_by_requests) /* with this pod */                                 \
	X(memory_by_requests)                                                  \
	X(contention)

struct decision_candidate {
	char node[REPORT_NODE_MAX];
	double score;
	uint64_t load_age_us; /* REPORT_UNKNOWN: there were no figures */
	struct decision_term terms[DECISION_TERMS_MAX];
	size_t term_count;
#define X(field) double field;
	DECISION_SHARES(X)
#undef X
};

struct decision_rejection {
	char reason[DECISION_REASON_MAX];
	uint32_t nodes; /* how many it excludes */
};

struct decision_record {
	char namespace[DECISION_NAME_MAX];
	char pod[DECISION_NAME_MAX];
	char uid[REPORT_UID_MAX];
	uint64_t wall_us;
	char policy[DECISION_WORD_MAX];
	char chosen[REPORT_NODE_MAX]; /* "": no node */
	uint32_t nodes, feasible;
	double margin; /* points ahead of the next best; NAN: there is none */
	/* From the VM's profile: the length of the history that counted and
	 * its mean; NAN: there was no profile. */
	double past_seconds, past_cores;
	char sentence[DECISION_SENTENCE_MAX];
	struct decision_candidate best[DECISION_BEST_MAX]; /* in order */
	size_t best_count;
	struct decision_rejection rejections[DECISION_REASONS_MAX];
	size_t rejection_count;
};
