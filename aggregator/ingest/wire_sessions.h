/* Who said Hello on which connection, and until when that counts.
 *
 * nng tells nobody when a connection goes, so the table is of a fixed size and
 * a newcomer takes the place of an older one: ids are handed out in sequence,
 * hence the one replaced is GREETED_MAX connections old. If it still lives it
 * is asked to say Hello again, which costs a round trip and nothing else. */
#pragma once

#include "proto/wire.h"

#include <stdbool.h>
#include <stdint.h>

enum { GREETED_MAX = 32768 }; /* a power of two above LIVE_NODES_MAX */

/* How long after its end a Hello can be extended: while the API server is away
 * a connection that was proved goes on, but not for ever. */
#define GREETED_GRACE_US UINT64_C(3600000000)

struct greeted;

struct greeted *greeted_new(void);	    /* never NULL */
void greeted_free(struct greeted *greeted); /* NULL is fine */

/* It counts until until_us; UINT64_MAX: as long as the connection. The token
 * is not kept. */
void greeted_put(struct greeted *greeted, uint32_t pipe,
	const struct hello *hello, uint64_t until_us);

/* Lets the last Hello on this pipe count until until_us. False: it was another
 * node, process or role, there was none, or it ended too long before now. */
bool greeted_extend(struct greeted *greeted, uint32_t pipe,
	const struct hello *hello, uint64_t now_us, uint64_t until_us);

/* NULL: no Hello came on this pipe, or it was forgotten, or it has ended. */
const struct hello *greeted_find(const struct greeted *greeted, uint32_t pipe,
	uint64_t now_us);
