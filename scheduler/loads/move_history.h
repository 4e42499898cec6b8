/* The records of moves that earlier leaders made, asked of every aggregator.
 *
 * A leader asks when its term begins. The aggregators may hold different
 * records, because one may have been down: the caller keeps the highest
 * revision of each id. The answer comes in pages. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct aggregators_options;
struct move_history;

/* Uses urls, credentials and on_move. Errors as aggregator_client_new(). */
must_check int move_history_new(struct move_history **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);

/* Starts to ask every aggregator for the records since then, in microseconds
 * since 1970, and then for those since again_us: a record that changes while
 * the pages come may be missed. Answers to an earlier call no longer count. */
void move_history_ask(struct move_history *history, uint64_t since_us,
	uint64_t again_us);

/* After this time an aggregator that does not answer is not waited for. */
#define MOVE_HISTORY_WAIT_US INT64_C(10000000)

/* An aggregator is connected that has sent all its records since
 * move_history_ask(), and so have the others, unless MOVE_HISTORY_WAIT_US have
 * passed: an aggregator may have lost its records. */
bool move_history_is_known(const struct move_history *history);

/* Returns the number of aggregators that have sent all their records since
 * move_history_ask(). */
size_t move_history_answered(const struct move_history *history);

void move_history_close(struct move_history *history); /* NULL is fine */
