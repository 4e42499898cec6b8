/* The records of schedulers in the store: decisions, and moves of VMs. */
#pragma once

#include "aggregator/store/store.h"
#include "proto/decision.h"
#include "proto/move.h"

enum { STORE_RECORDS_MAX = 1000 }; /* delivered by one query */

/* A batch of records of one kind, for store_write(). */
struct store_batch *store_decisions_new(void);
void store_decisions_add(struct store_batch *batch,
	const struct decision_record *record);

/* A move replaces an older revision of the same id; it is stored, too, if the
 * store has a newer one. */
struct store_batch *store_moves_new(void);
void store_moves_add(struct store_batch *batch, const struct move_record *move);

/* A query for decision records, newest first. */
struct store_decisions_read {
	char namespace[DECISION_NAME_MAX]; /* "": of all namespaces */
	char pod[DECISION_NAME_MAX];	   /* "": of all pods */
	char vm[DECISION_NAME_MAX];	   /* "": of all VMs */
	uint64_t from_ms, to_ms; /* time of the decision; to is exclusive */
	/* Only decisions before this place of an earlier list; before_row 0:
	 * from the newest on. */
	uint64_t before_ms, before_row;
	/* NULL, or gets the row of each decision before record(). */
	uint64_t *row;
	size_t limit; /* up to STORE_RECORDS_MAX */
	/* On the reader's thread; false ends the query. */
	bool (*record)(void *owner, const struct decision_record *record);
	/* On the loop's thread; err is NULL if all were delivered. */
	void (*done)(void *owner, const struct error *err);
	void *owner;
};

/* Errors are those of store_query(). */
must_check int store_query_decisions(struct store *store,
	const struct store_decisions_read *read, struct error *err);

/* A move and its row, which a new revision does not change. */
struct store_move {
	struct move_record record;
	uint64_t row; /* from 1 */
};

/* A query for moves: newest first, or by rising row. */
struct store_moves_read {
	char namespace[DECISION_NAME_MAX]; /* "": of all */
	char vm[DECISION_NAME_MAX];	   /* "": of all VMs */
	char id[MOVE_ID_MAX];		   /* "": any */
	char node[REPORT_NODE_MAX];	   /* source or target; "": any */
	bool has_state;			   /* else in any state */
	enum move_state state;
	uint64_t since_ms; /* that changed at this time or later */
	bool is_by_row;
	uint64_t after; /* by row: only rows above this one */
	/* Newest first: only moves before this place of an earlier list;
	 * before_ms UINT64_MAX: from the newest on. */
	uint64_t before_ms, before_row;
	size_t limit; /* up to STORE_RECORDS_MAX */
	/* On the reader's thread; false ends the query. */
	bool (*move)(void *owner, const struct store_move *move);
	/* On the loop's thread; err is NULL if all were delivered. */
	void (*done)(void *owner, const struct error *err);
	void *owner;
};

/* Errors are those of store_query(). */
must_check int store_query_moves(struct store *store,
	const struct store_moves_read *read, struct error *err);
