#include "aggregator/ingest/stored_late.h"

#include "lib/map.h"
#include "lib/memory.h"
#include "proto/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = REPORT_NODE_MAX + 2 * REPORT_RUN_ID_BYTES };

struct span {
	uint64_t first, last;
};

/* One process of an agent. */
struct run {
	struct run *older, *newer;
	struct span *spans; /* ascending, with gaps between them */
	size_t count, capacity;
	char key[KEY_MAX];
};

struct late {
	struct map runs; /* by key */
	struct run *oldest, *newest;
};

struct late *late_new(void)
{
	return xcalloc(1, sizeof(struct late));
}

static void unlink_run(struct late *late, struct run *run)
{
	*(run->older == NULL ? &late->oldest : &run->older->newer) = run->newer;
	*(run->newer == NULL ? &late->newest : &run->newer->older) = run->older;
}

static void link_newest(struct late *late, struct run *run)
{
	run->older = late->newest;
	run->newer = NULL;
	*(late->newest == NULL ? &late->oldest : &late->newest->newer) = run;
	late->newest = run;
}

static void forget_oldest(struct late *late)
{
	struct run *run = late->oldest;

	unlink_run(late, run);
	(void)map_remove(&late->runs, run->key);
	free(run->spans);
	free(run);
}

void late_free(struct late *late)
{
	if (late == NULL) {
		return;
	}
	while (late->oldest != NULL) {
		forget_oldest(late);
	}
	map_fini(&late->runs);
	free(late);
}

/* By hand: each report looks for its key once a single one was late. */
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

static struct run *take_run(struct late *late, const char *key)
{
	struct run *run = map_get(&late->runs, key);

	if (run != NULL) {
		unlink_run(late, run);
	} else {
		if (late->runs.count == LATE_RUNS_MAX) {
			forget_oldest(late);
		}
		run = xcalloc(1, sizeof(*run));
		memcpy(run->key, key, sizeof(run->key));
		(void)map_put(&late->runs, key, run);
	}
	link_newest(late, run);
	return run;
}

/* The first span that ends at seq - 1 or later; seqs begin at 1. */
static size_t find_span(const struct run *run, uint64_t seq)
{
	size_t at = run->count;

	/* News is near the end. */
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
	if (run->count == LATE_SPANS_MAX) {
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

void late_note(struct late *late, const char *node, const uint8_t *run_id,
	uint64_t seq)
{
	char key[KEY_MAX];
	struct run *run;
	struct span *span;
	size_t at;

	write_key(key, node, run_id);
	run = take_run(late, key);
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

bool late_has(const struct late *late, const char *node, const uint8_t *run_id,
	uint64_t seq)
{
	char key[KEY_MAX];
	const struct run *run;

	if (late->oldest == NULL) {
		return false;
	}
	write_key(key, node, run_id);
	run = map_get(&late->runs, key);
	for (size_t i = 0; run != NULL && i < run->count; i++) {
		if (seq >= run->spans[i].first && seq <= run->spans[i].last) {
			return true;
		}
	}
	return false;
}
