/* Who said Hello on which connection.
 *
 * nng tells nobody when a connection goes, so the table is of a fixed size and
 * a newcomer takes the place of an older one: ids are handed out in sequence,
 * hence the one replaced is GREETED_MAX connections old. If it still lives it
 * is asked to say Hello again, which costs a round trip and nothing else. */
#pragma once

#include "proto/wire.h"

#include <stdint.h>

enum { GREETED_MAX = 32768 }; /* a power of two above LIVE_NODES_MAX */

struct greeted;

struct greeted *greeted_new(void);	    /* never NULL */
void greeted_free(struct greeted *greeted); /* NULL is fine */

void greeted_put(struct greeted *greeted, uint32_t pipe,
	const struct hello *hello);

/* NULL: no Hello came on this pipe, or it was forgotten. */
const struct hello *greeted_find(const struct greeted *greeted, uint32_t pipe);
