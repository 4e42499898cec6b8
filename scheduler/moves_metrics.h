/* The metrics of moves, of making room and of searches for plans. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/moves.h"

/* Appends the series. stats->has_moves is true. */
void moves_metrics_write(struct buffer *out, const struct moves_stats *stats);
