/* A simulated day as a picture: for each policy a row of pixels per node, a
 * column per step, from idle (white) to full (dark blue) to overloaded (red). A
 * green line with a dot at its end is a move. */
#pragma once

#include "lib/buffer.h"
#include "simulate/simulate.h"

#include <stddef.h>

void svg_begin(struct buffer *out, const struct scenario *scenario,
	size_t policies);

/* Panel `index`, from 0. */
void svg_policy(struct buffer *out, const struct scenario *scenario,
	const struct simulation *simulation, const char *name, size_t index);
void svg_end(struct buffer *out);
