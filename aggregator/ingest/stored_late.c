#include "aggregator/ingest/stored_late.h"

#include "lib/map.h"
#include "lib/memory.h"
#include "proto/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { KEY_MAX = REPORT_NODE_MAX + 2 * REPORT_RUN_ID_BYTES };

struct span {
	uint64_t first, last;
};

/* One process of an agent. */
struct run {
	TAILQ_ENTRY(run) link;
	struct span *spans; /* ascending, with gaps between them */
	size_t count, capacity;
	char key[KEY_MAX];
};

struct stored_late {
	struct map by_key;
	TAILQ_HEAD(run_list, run) runs; /* the oldest addition first */
};

struct stored_late *stored_late_new(void)
{
	struct stored_late *table = xcalloc(1, sizeof(*table));

	TAILQ_INIT(&table->runs);
	return table;
}

static void forget_oldest(struct stored_late *table)
{
	struct run *run = TAILQ_FIRST(&table->runs);

	TAILQ_REMOVE(&table->runs, run, link);
	(void)map_remove(&table->by_key, run->key);
	free(run->spans);
	free(run);
}

void stored_late_free(struct stored_late *table)
{
	if (table == NULL) {
		return;
	}
	while (!TAILQ_EMPTY(&table->runs)) {
		forget_oldest(table);
	}
	map_fini(&table->by_key);
	free(table);
}

/* Without snprintf for the run: once the table has an entry, the key of every
 * report is looked up. */
static void write_key(char key[KEY_MAX], const char *node,
	const uint8_t *run_id)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < REPORT_RUN_ID_BYTES; i++) {
		*key++ = digits[run_id[i] >> 4];
		*key++ = digits[run_id[i] & 15];
	}
	(void)snprintf(key, REPORT_NODE_MAX, "%s", node);
}

static struct run *find_or_add_run(struct stored_late *table, const char *key)
{
	struct run *run = map_get(&table->by_key, key);

	if (run != NULL) {
		TAILQ_REMOVE(&table->runs, run, link);
	} else {
		if (table->by_key.count == STORED_LATE_RUNS_MAX) {
			forget_oldest(table);
		}
		run = xcalloc(1, sizeof(*run));
		memcpy(run->key, key, sizeof(run->key));
		(void)map_put(&table->by_key, key, run);
	}
	TAILQ_INSERT_TAIL(&table->runs, run, link);
	return run;
}

/* The first span that ends at seq - 1 or later; seqs begin at 1. */
static size_t find_span(const struct run *run, uint64_t seq)
{
	size_t at = run->count;

	/* New seqs are near the end. */
	while (at > 0 && run->spans[at - 1].last >= seq - 1) {
		at--;
	}
	return at;
}

static void remove_span(struct run *run, size_t at)
{
	run->count--;
	memmove(&run->spans[at], &run->spans[at + 1],
		(run->count - at) * sizeof(run->spans[0]));
}

static void insert_span(struct run *run, size_t at, uint64_t seq)
{
	if (run->count == STORED_LATE_SPANS_MAX) {
		if (at == 0) {
			return;
		}
		remove_span(run, 0);
		at--;
	}
	run->spans = xgrow(run->spans, run->count, &run->capacity,
		sizeof(run->spans[0]));
	memmove(&run->spans[at + 1], &run->spans[at],
		(run->count - at) * sizeof(run->spans[0]));
	run->spans[at] = (struct span){ seq, seq };
	run->count++;
}

void stored_late_add(struct stored_late *table, const char *node,
	const uint8_t *run_id, uint64_t seq)
{
	char key[KEY_MAX];
	struct run *run;
	struct span *span;
	size_t at;

	write_key(key, node, run_id);
	run = find_or_add_run(table, key);
	at = find_span(run, seq);
	if (at == run->count || run->spans[at].first > seq + 1) {
		insert_span(run, at, seq);
		return;
	}
	span = &run->spans[at];
	span->first = seq < span->first ? seq : span->first;
	span->last = seq > span->last ? seq : span->last;
	if (at + 1 < run->count && run->spans[at + 1].first == seq + 1) {
		span->last = run->spans[at + 1].last;
		remove_span(run, at + 1);
	}
}

bool stored_late_has(const struct stored_late *table, const char *node,
	const uint8_t *run_id, uint64_t seq)
{
	char key[KEY_MAX];
	const struct run *run;

	if (TAILQ_EMPTY(&table->runs)) {
		return false;
	}
	write_key(key, node, run_id);
	run = map_get(&table->by_key, key);
	for (size_t i = 0; run != NULL && i < run->count; i++) {
		if (seq >= run->spans[i].first && seq <= run->spans[i].last) {
			return true;
		}
	}
	return false;
}
