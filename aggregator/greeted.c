#include "aggregator/greeted.h"

#include "lib/memory.h"

#include <stdlib.h>

struct place {
	uint32_t pipe;
	struct hello *hello; /* owned; NULL: free */
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
	const struct hello *hello)
{
	struct place *place = &greeted->places[pipe % GREETED_MAX];

	free(place->hello);
	place->pipe = pipe;
	place->hello = xmemdup(hello, sizeof(*hello));
}

const struct hello *greeted_find(const struct greeted *greeted, uint32_t pipe)
{
	const struct place *place = &greeted->places[pipe % GREETED_MAX];

	return place->pipe == pipe ? place->hello : NULL;
}
