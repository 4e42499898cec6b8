#include "lib/places.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct places_peer {
	LIST_ENTRY(places_peer) link;
	char *name;
	size_t held;
	unsigned places;
};

void places_init(struct places *places, size_t max)
{
	*places = (struct places){ .max = max };
	TAILQ_INIT(&places->list);
	LIST_INIT(&places->peers);
}

void places_fini(struct places *places)
{
	if (!TAILQ_EMPTY(&places->list)) {
		abort();
	}
}

static struct places_peer *find_peer(const struct places *places,
	const char *name)
{
	struct places_peer *peer = NULL;

	LIST_FOREACH (peer, &places->peers, link) {
		if (strcmp(peer->name, name) == 0) {
			return peer;
		}
	}
	return NULL;
}

bool places_fit(const struct places *places, size_t size)
{
	return places->held == 0 ||
		(places->held <= places->max &&
			size <= places->max - places->held);
}

/* ---- who gives way ---- */

enum rank { RANK_STAYS, RANK_STALLED, RANK_OWN, RANK_FAIR };

struct newcomer {
	const struct places_peer *peer; /* NULL: holds nothing */
	size_t size;
	uint64_t now_us;
};

static enum rank rank_of(const struct place *place,
	const struct newcomer *newcomer)
{
	size_t own = newcomer->peer == NULL ? 0 : newcomer->peer->held;
	bool is_own = place->peer == newcomer->peer;

	if (place->kind == PLACE_FIXED) {
		return RANK_STAYS;
	}
	if (!is_own &&
		place->peer->held - place->size >= own + newcomer->size) {
		return RANK_FAIR;
	}
	if (place->kind == PLACE_IDLE ||
		(place->kind == PLACE_MOVING &&
			newcomer->now_us - place->moved_us >=
				PLACES_STALLED_US)) {
		return is_own ? RANK_OWN : RANK_STALLED;
	}
	return RANK_STAYS;
}

/* True: a gives way before b, which has the same rank. */
static bool is_before(const struct place *a, const struct place *b,
	enum rank rank)
{
	if (rank == RANK_FAIR && a->peer->held != b->peer->held) {
		return a->peer->held > b->peer->held;
	}
	return a->moved_us < b->moved_us;
}

struct place *places_victim(const struct places *places, const char *peer,
	size_t size, uint64_t now_us)
{
	const struct newcomer newcomer = { find_peer(places, peer), size,
		now_us };
	struct place *victim = NULL;
	enum rank best = RANK_STAYS;
	struct place *place = NULL;

	TAILQ_FOREACH(place, &places->list, link)
	{
		enum rank rank = rank_of(place, &newcomer);

		if (rank > best ||
			(rank == best && victim != NULL &&
				is_before(place, victim, rank))) {
			best = rank;
			victim = place;
		}
	}
	return victim;
}

/* ---- holding ---- */

void places_add(struct places *places, struct place *place, const char *peer,
	size_t size, uint64_t now_us)
{
	place->peer = find_peer(places, peer);
	if (place->peer == NULL) {
		place->peer = xcalloc(1, sizeof(*place->peer));
		place->peer->name = xstrdup(peer);
		LIST_INSERT_HEAD(&places->peers, place->peer, link);
	}
	place->peer->places++;
	place->peer->held += size;
	place->size = size;
	place->moved_us = now_us;
	places->held += size;
	TAILQ_INSERT_TAIL(&places->list, place, link);
}

void places_move(struct place *place, enum place_kind kind, uint64_t now_us)
{
	place->kind = kind;
	place->moved_us = now_us;
}

void places_remove(struct places *places, struct place *place)
{
	struct places_peer *peer = place->peer;

	place->kind = PLACE_MOVING;
	if (peer == NULL) {
		return;
	}
	TAILQ_REMOVE(&places->list, place, link);
	places->held -= place->size;
	peer->held -= place->size;
	peer->places--;
	if (peer->places == 0) {
		LIST_REMOVE(peer, link);
		free(peer->name);
		free(peer);
	}
	place->peer = NULL;
	place->size = 0;
}

bool places_is_most(const struct place *place, const struct places *places)
{
	struct places_peer *peer = NULL;

	LIST_FOREACH (peer, &places->peers, link) {
		if (peer->held > place->peer->held) {
			return false;
		}
	}
	return true;
}
