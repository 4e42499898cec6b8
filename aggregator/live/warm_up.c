#include "aggregator/live/warm_up.h"

#include "aggregator/live/live.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* While the store is busy. */
enum { RETRY_MS = 200 };

static const uint64_t hour_ms = 3600000;
static const uint64_t day_ms = 86400000;

struct pending_node {
	char *name; /* owned */
	uint64_t sample_ms;
};

struct warm_up {
	struct live *live;
	struct store *store;
	struct timer *retry;
	struct pending_node *nodes;
	size_t count, capacity, at;
	enum store_tier tier; /* what is read of nodes[at] */
	struct live *history; /* the reader's while a query runs */
};

static void run(void *owner);

struct warm_up *warm_up_new(uv_loop_t *loop, struct live *live)
{
	struct warm_up *warm_up = xcalloc(1, sizeof(*warm_up));

	warm_up->live = live;
	warm_up->retry = timer_new(loop, run, warm_up);
	return warm_up;
}

void warm_up_add(struct warm_up *warm_up, const struct store_row *row,
	uint64_t now_ms)
{
	if (row->sample_ms + hour_ms < now_ms) {
		return;
	}
	warm_up->nodes = xgrow(warm_up->nodes, warm_up->count,
		&warm_up->capacity, sizeof(*warm_up->nodes));
	warm_up->nodes[warm_up->count++] =
		(struct pending_node){ xstrdup(row->node), row->sample_ms };
}

/* On the reader's thread. */
static bool on_row(void *owner, const struct store_row *row)
{
	struct warm_up *warm_up = owner;
	struct live_sample sample = { row->node, row->run_id, row->report,
		(int64_t)row->sample_ms * 1000, 0 };

	return live_add(warm_up->history, &sample, row->sample_ms * 1000,
		       NULL) == 0;
}

/* On the reader's thread: the table holds the node since on_row(). */
static bool on_minute(void *owner, const struct store_rollup *rollup)
{
	struct warm_up *warm_up = owner;
	const struct pending_node *node = &warm_up->nodes[warm_up->at];

	live_add_minute(warm_up->history, node->name, node->sample_ms,
		rollup->row);
	return true;
}

static void end_node(struct warm_up *warm_up)
{
	live_free(take_ptr(warm_up->history));
	warm_up->tier = STORE_RAW;
	warm_up->at++;
	if (warm_up->at == warm_up->count) {
		log_debug("windows filled from the store",
			log_int("nodes", (int64_t)warm_up->count), LOG_END);
	}
}

static void on_done(void *owner, const struct error *err)
{
	struct warm_up *warm_up = owner;

	if (err != NULL && err->code == -ECANCELED) {
		return;
	}
	if (err != NULL) {
		log_warning("cannot read a node's history",
			log_str("node", warm_up->nodes[warm_up->at].name),
			log_err(err), LOG_END);
		end_node(warm_up);
	} else if (warm_up->tier == STORE_RAW) {
		warm_up->tier = STORE_1M;
	} else {
		live_merge_history(warm_up->live, warm_up->history,
			warm_up->nodes[warm_up->at].name);
		end_node(warm_up);
	}
	run(warm_up);
}

static void run(void *owner)
{
	struct warm_up *warm_up = owner;
	const struct pending_node *node = &warm_up->nodes[warm_up->at];
	struct store_read read = { .tier = warm_up->tier,
		.parts = SCHEMA_ALL,
		.row = on_row,
		.rollup = on_minute,
		.done = on_done,
		.owner = warm_up };

	if (warm_up->at == warm_up->count) {
		return;
	}
	(void)snprintf(read.node, sizeof(read.node), "%s", node->name);
	if (warm_up->tier == STORE_RAW) {
		warm_up->history = warm_up->history == NULL ? live_new(0, NULL)
							    : warm_up->history;
		read.from_ms = node->sample_ms - hour_ms;
		read.to_ms = node->sample_ms + 1;
	} else {
		read.from_ms = node->sample_ms - day_ms;
		read.to_ms = node->sample_ms - hour_ms;
	}
	/* Any other error: the store is closed. */
	if (store_query(warm_up->store, &read, NULL) == -EBUSY) {
		timer_start(warm_up->retry, RETRY_MS, 0);
	}
}

void warm_up_start(struct warm_up *warm_up, struct store *store)
{
	warm_up->store = store;
	run(warm_up);
}

void warm_up_close(struct warm_up *warm_up)
{
	if (warm_up == NULL) {
		return;
	}
	timer_close(warm_up->retry);
	for (size_t i = 0; i < warm_up->count; i++) {
		free(warm_up->nodes[i].name);
	}
	free(warm_up->nodes);
	live_free(warm_up->history);
	free(warm_up);
}
