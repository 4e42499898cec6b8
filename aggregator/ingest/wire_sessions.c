#include "aggregator/ingest/wire_sessions.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct place {
	uint32_t pipe;
	struct hello *hello; /* owned; NULL: free */
	uint64_t until_us;
	uint64_t last_us; /* no extension after it */
};

struct greeted {
	struct place places[GREETED_MAX];
};

struct greeted *greeted_new(void)
{
	return xcalloc(1, sizeof(struct greeted));
}

void greeted_free(struct greeted *greeted)
{
	for (size_t i = 0; greeted != NULL && i < GREETED_MAX; i++) {
		free(greeted->places[i].hello);
	}
	free(greeted);
}

void greeted_put(struct greeted *greeted, uint32_t pipe,
	const struct hello *hello, uint64_t until_us)
{
	struct place *place = &greeted->places[pipe % GREETED_MAX];

	free(place->hello);
	place->pipe = pipe;
	place->hello = xmemdup(hello, sizeof(*hello));
	place->hello->token = NULL;
	place->until_us = until_us;
	place->last_us = until_us > UINT64_MAX - GREETED_GRACE_US
		? UINT64_MAX
		: until_us + GREETED_GRACE_US;
}

static bool is_same(const struct hello *a, const struct hello *b)
{
	return a->role == b->role && strcmp(a->node, b->node) == 0 &&
		memcmp(a->run_id, b->run_id, REPORT_RUN_ID_BYTES) == 0;
}

bool greeted_extend(struct greeted *greeted, uint32_t pipe,
	const struct hello *hello, uint64_t now_us, uint64_t until_us)
{
	struct place *place = &greeted->places[pipe % GREETED_MAX];

	if (place->pipe != pipe || place->hello == NULL ||
		!is_same(place->hello, hello) || now_us > place->last_us) {
		return false;
	}
	place->until_us = until_us < place->last_us ? until_us : place->last_us;
	return true;
}

const struct hello *greeted_find(const struct greeted *greeted, uint32_t pipe,
	uint64_t now_us)
{
	const struct place *place = &greeted->places[pipe % GREETED_MAX];

	return place->pipe == pipe && now_us < place->until_us ? place->hello
							       : NULL;
}
