#include "aggregator/live/warm_up.h"

#include "aggregator/live/live.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When the store has too much to do. */
enum { AGAIN_MS = 200 };

static const uint64_t hour_ms = 3600000;
static const uint64_t day_ms = 86400000;

struct seeded {
	char *name; /* owned */
	uint64_t sample_ms;
};

struct refill {
	struct live *live;
	struct store *store;
	struct timer *again;
	struct seeded *nodes;
	size_t count, capacity, at;
	enum store_tier tier; /* what is read of nodes[at] */
	struct live *past;    /* the reader's while a query runs */
};

static void run(void *owner);

struct refill *refill_new(uv_loop_t *loop, struct live *live)
{
	struct refill *refill = xcalloc(1, sizeof(*refill));

	refill->live = live;
	refill->again = timer_new(loop, run, refill);
	return refill;
}

void refill_add(struct refill *refill, const struct store_row *row,
	uint64_t now_ms)
{
	if (row->sample_ms + hour_ms < now_ms) {
		return;
	}
	refill->nodes = xgrow(refill->nodes, refill->count, &refill->capacity,
		sizeof(*refill->nodes));
	refill->nodes[refill->count] =
		(struct seeded){ xstrdup(row->node), row->sample_ms };
	refill->count++;
}

/* On the reader's thread. */
static bool on_row(void *owner, const struct store_row *row)
{
	struct refill *refill = owner;
	struct live_sample sample = { row->node, row->run_id, row->report,
		(int64_t)row->sample_ms * 1000 };

	return live_take(refill->past, &sample, row->sample_ms * 1000, NULL) ==
		0;
}

/* On the reader's thread: the table holds the node since on_row(). */
static bool on_minute(void *owner, const struct store_rollup *rollup)
{
	struct refill *refill = owner;
	const struct seeded *node = &refill->nodes[refill->at];

	live_add_minute(refill->past, node->name, node->sample_ms, rollup->row);
	return true;
}

static void end_node(struct refill *refill)
{
	live_free(take_ptr(refill->past));
	refill->tier = STORE_RAW;
	refill->at++;
	if (refill->at == refill->count) {
		log_debug("windows are filled from the store",
			log_int("nodes", (int64_t)refill->count), LOG_END);
	}
}

static void on_done(void *owner, const struct error *err)
{
	struct refill *refill = owner;

	if (err != NULL && err->code == -ECANCELED) {
		return;
	}
	if (err != NULL) {
		log_warning("a node's windows begin empty",
			log_str("node", refill->nodes[refill->at].name),
			log_err(err), LOG_END);
		end_node(refill);
	} else if (refill->tier == STORE_RAW) {
		refill->tier = STORE_1M;
	} else {
		live_put_behind(refill->live, refill->past,
			refill->nodes[refill->at].name);
		end_node(refill);
	}
	run(refill);
}

static void run(void *owner)
{
	struct refill *refill = owner;
	const struct seeded *node = &refill->nodes[refill->at];
	struct store_read read = { .tier = refill->tier,
		.parts = FIELDS_ALL,
		.row = on_row,
		.rollup = on_minute,
		.done = on_done,
		.owner = refill };

	if (refill->at == refill->count) {
		return;
	}
	(void)snprintf(read.node, sizeof(read.node), "%s", node->name);
	if (refill->tier == STORE_RAW) {
		refill->past =
			refill->past == NULL ? live_new(0, NULL) : refill->past;
		read.from_ms = node->sample_ms - hour_ms;
		read.to_ms = node->sample_ms + 1;
	} else {
		read.from_ms = node->sample_ms - day_ms;
		read.to_ms = node->sample_ms - hour_ms;
	}
	/* Closed: nothing comes of it any more. */
	if (store_query(refill->store, &read, NULL) == -EBUSY) {
		timer_start(refill->again, AGAIN_MS, 0);
	}
}

void refill_start(struct refill *refill, struct store *store)
{
	refill->store = store;
	run(refill);
}

void refill_close(struct refill *refill)
{
	if (refill == NULL) {
		return;
	}
	timer_close(refill->again);
	for (size_t i = 0; i < refill->count; i++) {
		free(refill->nodes[i].name);
	}
	free(refill->nodes);
	live_free(refill->past);
	free(refill);
}
