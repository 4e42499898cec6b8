/* Remote read: asks a time series engine (Prometheus, VictoriaMetrics, Mimir,
 * Thanos) for the rows of a history query, over /api/v1/query_range.
 *
 * A question has REMOTE_READ_DEADLINE_US for everything: its turn, the engine's
 * answers, and reading them. At most REMOTE_READ_RUNNING questions run and
 * REMOTE_READ_WAITING wait, over all clients; a further one is refused at once.
 * A question of many fields and rows becomes several requests, one after the
 * other, so that each answer is small enough to be read between other work of
 * the event loop. */
#pragma once

#include "aggregator/query/history_query.h"
#include "kube/http_target.h"
#include "lib/error.h"

#include <stdbool.h>
#include <uv.h>

enum {
	REMOTE_READ_RUNNING = 4,
	REMOTE_READ_WAITING = 16,
	/* Numbers in one answer: the default fields of a node in as many rows
	 * as a query has. They take some 10 ms to read. */
	REMOTE_READ_POINTS_MAX = 6 * HISTORY_QUERY_ROWS_MAX,
};

#define REMOTE_READ_DEADLINE_US UINT64_C(2000000)

/* As given on the command line. */
struct remote_read_config {
	struct http_target_config http; /* without a URL: no --remote-read */
	struct option_list labels;	/* of the series to read */
};

/* Checks the flags without the files. -EINVAL: the sentence names the flag. */
must_check int remote_read_check(const struct remote_read_config *config,
	struct error *err);

struct remote_read;

/* config was checked and outlives it, as does written: the labels with which
 * remote write sends series, which count if config has none. Fails if a file of
 * config cannot be read. */
must_check int remote_read_new(struct remote_read **out, uv_loop_t *loop,
	const struct remote_read_config *config,
	const struct option_list *written, struct error *err);

/* Ends all questions with -ECANCELED, and every further one at once. NULL is
 * fine. */
void remote_read_stop(struct remote_read *remote);

/* After remote_read_stop(). NULL is fine. */
void remote_read_free(struct remote_read *remote);

/* values: rows times the query's fields, row after row, NAN where the engine
 * has no value; the callee frees them. NULL: err says why in a sentence.
 * -ENOENT: no series has such a name; -EBUSY: too many questions; -ETIMEDOUT,
 * -ECANCELED; others: the engine's failure. */
typedef void (*remote_read_done)(void *owner, double *values,
	const struct error *err);

struct remote_read_question {
	const char *node;	      /* NULL: a VM */
	const char *namespace, *name; /* of the VM */
	const struct history_query *query;
	size_t rows;	      /* the first ones of the query; at least 1 */
	uint64_t interval_us; /* between reports */
	/* NULL, or says that nobody waits any more: the question then ends with
	 * -ECANCELED. Asked several times a second. */
	bool (*is_abandoned)(void *owner);
	remote_read_done done;
	void *owner;
};

/* Copies the question. Calls done exactly once, maybe before this returns. */
void remote_read_ask(struct remote_read *remote,
	const struct remote_read_question *question);

struct remote_read_health {
	uint64_t questions; /* that have ended */
	/* Those without an answer. */
	uint64_t busy, timeouts, failures;
	double seconds; /* from question to end, of those that were not busy */
};

struct remote_read_health remote_read_health(const struct remote_read *remote);
