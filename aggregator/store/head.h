/* The newest reports, one row each, and what was ever stored of each run.
 * Between the store's own files; on the writer's thread.
 *
 * A row's id is its slot (131 s of sample time), its node and a number of its
 * own: rows of one moment lie side by side, so that a commit touches few pages,
 * and those of one node in one slot are found by one seek.
 *
 * That a report is stored once is kept apart from where it lies: seqs holds for
 * each run the intervals of seq that were stored, whether the reports are rows
 * still, packed, or deleted since. */
#pragma once

#include "aggregator/store/thread.h"

enum { TAIL_SLOT_BITS = 17, TAIL_NODE_BITS = 20, TAIL_OWN_BITS = 18 };

/* The first id of a slot and node; slot + 1 or node + 1 gives the end. */
int64_t tail_id(uint64_t sample_ms, int64_t node);
int64_t tail_next_node(int64_t id);
int64_t tail_node(int64_t id);
uint64_t tail_slot_ms(int64_t id); /* when the slot begins */

struct outbox;
struct tail;

must_check int tail_new(struct tail **out, struct sqlite3 *db,
	struct error *err);
void tail_free(struct tail *tail); /* NULL is fine */

/* What is added from here on is put there as well; it outlives the tail. */
void tail_forward(struct tail *tail, struct outbox *outbox);

/* Finds a node's number or gives it one. */
must_check int tail_find_node(int64_t *id, struct tail *tail, const char *name,
	struct error *err);

struct tail_report {
	int64_t node;
	const uint8_t *run_id;
	uint64_t seq, sample_ms, stored_ms;
	const void *body;
	size_t len;
};

/* Adds a report; one that was stored before changes nothing. */
must_check int tail_add(struct tail *tail, const struct tail_report *report,
	struct error *err);

/* Runs whose reports are all older than this are forgotten with their seqs. */
must_check int tail_forget_runs(struct sqlite3 *db, uint64_t before_ms,
	struct error *err);
