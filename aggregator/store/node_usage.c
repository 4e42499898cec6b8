#include "aggregator/store/node_usage.h"

#include "aggregator/store/blob_bytes.h"
#include "aggregator/store/head.h"
#include "lib/memory.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* Groups of slot and node that one step reads, with three rows each. */
enum { STEP_GROUPS = 200 };

/* Up to ALL_GROUPS groups are all counted. If there are more, one slot of each
 * span of slots counts for the others. Chance picks it, because the sender
 * chooses the times. */
enum { ALL_GROUPS = 20000, SPAN_SLOTS_MAX = 16 };

/* Other columns of a row of the head. */
enum { ROW_BYTES = 30 };

struct node_usage {
	struct sqlite3 *db;
	struct sqlite3_stmt *next, *last;
	uint64_t *bytes; /* by the number of the node */
	size_t count, capacity;
	uint64_t head_bytes;
	bool has_blobs;
	int64_t cursor; /* groups before this are counted */
	uint64_t span_slots;
	uint64_t picked_ms; /* the slot that is counted of this span */
};

int node_usage_new(struct node_usage **out, struct sqlite3 *db,
	struct error *err)
{
	struct node_usage *usage = xcalloc(1, sizeof(*usage));
	const struct db_statement all[] = {
		{ &usage->next,
			"SELECT id, length(body) FROM head WHERE id >= ?"
			" ORDER BY id LIMIT 1" },
		{ &usage->last,
			"SELECT id, length(body) FROM head WHERE id < ?"
			" ORDER BY id DESC LIMIT 1" },
	};
	int r = db_prepare_all(db, all, count_of(all), err);

	usage->db = db;
	if (r < 0) {
		node_usage_free(usage);
		return r;
	}
	*out = usage;
	return 0;
}

void node_usage_free(struct node_usage *usage)
{
	if (usage != NULL) {
		(void)sqlite3_finalize(usage->next);
		(void)sqlite3_finalize(usage->last);
		free(usage->bytes);
		free(usage);
	}
}

void node_usage_restart(struct node_usage *usage)
{
	usage->count = 0;
	usage->head_bytes = 0;
	usage->has_blobs = false;
	usage->cursor = 0;
}

/* node is at most 2^HEAD_NODE_BITS. */
static void add(void *owner, int64_t node, uint64_t bytes)
{
	struct node_usage *usage = owner;

	if (node < 0 || node >> HEAD_NODE_BITS != 0) {
		return; /* a damaged row */
	}
	while (usage->count <= (size_t)node) {
		usage->bytes = xgrow(usage->bytes, usage->count,
			&usage->capacity, sizeof(*usage->bytes));
		usage->bytes[usage->count++] = 0;
	}
	usage->bytes[node] += bytes;
}

struct row {
	int64_t id;
	size_t bytes;
};

static int read_row(bool *is_there, struct row *row,
	struct sqlite3_stmt *statement, int64_t id, struct error *err)
{
	int r = 0;

	(void)sqlite3_bind_int64(statement, 1, id);
	*is_there = db_step(&r, statement, err);
	if (*is_there) {
		row->id = sqlite3_column_int64(statement, 0);
		row->bytes = (size_t)sqlite3_column_int64(statement, 1);
	}
	(void)sqlite3_reset(statement);
	return r;
}

static uint64_t random_below(uint64_t end)
{
	uint64_t random = 0;

	sqlite3_randomness(sizeof(random), &random);
	return random % end;
}

/* Counts the group that begins with this row: from a row that chance picks, as
 * the sender chooses the sizes, and from the last one. */
static int add_group(struct node_usage *usage, const struct row *first,
	struct error *err)
{
	int64_t node = head_node(first->id);
	struct row last = *first, some = *first;
	bool is_there;
	uint64_t rows;
	int r = read_row(&is_there, &last, usage->last,
		head_next_node(first->id), err);

	rows = (uint64_t)(last.id - first->id) + 1;
	if (r == 0 && rows > 1) {
		r = read_row(&is_there, &some, usage->next,
			first->id + (int64_t)random_below(rows), err);
	}
	if (r == 0) {
		uint64_t bytes = usage->span_slots * rows *
			(db_row_bytes(last.bytes + ROW_BYTES) +
				db_row_bytes(some.bytes + ROW_BYTES)) /
			2;

		add(usage, node, bytes);
		usage->head_bytes += bytes;
	}
	return r;
}

/* Chooses the length of spans by the slots and nodes there are. */
static int begin_head(struct node_usage *usage, struct error *err)
{
	int64_t first = 0, last = 0, nodes = 0;
	uint64_t groups;
	int r = db_read_number(&first, usage->db, "SELECT min(id) FROM head",
		err);

	if (r == 0) {
		r = db_read_number(&last, usage->db, "SELECT max(id) FROM head",
			err);
	}
	if (r == 0) {
		r = db_read_number(&nodes, usage->db,
			"SELECT count(*) FROM node", err);
	}
	groups = ((head_slot_ms(last) - head_slot_ms(first)) / HEAD_SLOT_MS +
			 1) *
		(uint64_t)nodes;
	usage->span_slots = 1 + groups / ALL_GROUPS;
	if (usage->span_slots > SPAN_SLOTS_MAX) {
		usage->span_slots = SPAN_SLOTS_MAX;
	}
	usage->picked_ms = 0;
	return r;
}

/* Whether the group is in the slot of its span that is counted; if not, the
 * cursor moves on to that slot, or to the next span. */
static bool is_picked(struct node_usage *usage, int64_t id)
{
	uint64_t span_ms = usage->span_slots * HEAD_SLOT_MS;
	uint64_t slot_ms = head_slot_ms(id);
	uint64_t begin_ms = slot_ms / span_ms * span_ms;

	if (usage->picked_ms < begin_ms) {
		usage->picked_ms = begin_ms +
			random_below(usage->span_slots) * HEAD_SLOT_MS;
	}
	if (slot_ms < usage->picked_ms) {
		usage->cursor = head_id(usage->picked_ms, 0);
	} else if (slot_ms > usage->picked_ms) {
		usage->cursor = head_id(begin_ms + span_ms, 0);
	}
	return slot_ms == usage->picked_ms;
}

int node_usage_step(struct node_usage *usage, bool *is_done, struct error *err)
{
	int r = 0;

	*is_done = false;
	if (!usage->has_blobs) {
		usage->has_blobs = true;
		r = begin_head(usage, err);
		return r == 0 ? blob_bytes_read(usage->db, add, usage, err) : r;
	}
	for (int i = 0; r == 0 && !*is_done && i < STEP_GROUPS; i++) {
		struct row first = { 0 };
		bool is_there;

		r = read_row(&is_there, &first, usage->next, usage->cursor,
			err);
		*is_done = r == 0 && !is_there;
		if (r == 0 && is_there && is_picked(usage, first.id)) {
			r = add_group(usage, &first, err);
			usage->cursor = head_next_node(first.id);
		}
	}
	return r;
}

uint64_t node_usage_head_bytes(const struct node_usage *usage)
{
	return usage->head_bytes;
}

static int by_bytes_down(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x < *y) - (*x > *y);
}

/* The bytes of the typical node; *nodes counts those that have any. */
static uint64_t typical_bytes(const struct node_usage *usage, size_t *nodes)
{
	scoped_free uint64_t *sorted =
		xcalloc(usage->count + 1, sizeof(*sorted));
	size_t rank;

	*nodes = 0;
	for (size_t i = 0; i < usage->count; i++) {
		if (usage->bytes[i] > 0) {
			sorted[(*nodes)++] = usage->bytes[i];
		}
	}
	qsort(sorted, *nodes, sizeof(*sorted), by_bytes_down);
	rank = *nodes / 2;
	return sorted[rank < NODE_USAGE_RANK ? rank : NODE_USAGE_RANK];
}

bool node_usage_find_excess(struct node_usage_excess *out,
	const struct node_usage *usage, uint64_t max_bytes)
{
	struct node_usage_excess most = { .share =
						  max_bytes / NODE_USAGE_PART };
	size_t nodes;
	uint64_t typical = typical_bytes(usage, &nodes);

	if (most.share < typical * NODE_USAGE_TIMES) {
		most.share = typical * NODE_USAGE_TIMES;
	}
	for (size_t i = 0; i < usage->count; i++) {
		if (usage->bytes[i] > most.bytes) {
			most.node = (int64_t)i;
			most.bytes = usage->bytes[i];
		}
	}
	*out = most;
	return nodes > 1 && most.bytes > most.share;
}

void node_usage_subtract(struct node_usage *usage, int64_t node, uint64_t bytes)
{
	uint64_t *of = &usage->bytes[node];

	*of -= bytes < *of ? bytes : *of;
}

void node_usage_subtract_head(struct node_usage *usage, uint64_t bytes)
{
	uint64_t *of = &usage->head_bytes;

	*of -= bytes < *of ? bytes : *of;
}
