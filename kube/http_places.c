#include "kube/http_places.h"

enum { BACKGROUND_EVERY = 4, BACKGROUND_SHARE = 2 };

void http_places_init(struct http_places *places)
{
	*places = (struct http_places){ 0 };
	TAILQ_INIT(&places->normal);
	TAILQ_INIT(&places->background);
}

static bool is_background(const struct http_transfer *t)
{
	return t->priority == HTTP_BACKGROUND;
}

static struct http_transfers *list_of(struct http_places *places,
	const struct http_transfer *t)
{
	return is_background(t) ? &places->background : &places->normal;
}

void http_places_wait(struct http_places *places, struct http_transfer *t,
	uint64_t now_ms)
{
	t->place = HTTP_WAITS;
	t->since_ms = now_ms;
	TAILQ_INSERT_TAIL(list_of(places, t), t, waiting);
}

/* The number of places. Only the first of the normal requests shows by its wait
 * that the server is slow: the background waits by design. */
static size_t count_places(const struct http_places *places, uint64_t now_ms)
{
	const struct http_transfer *first = TAILQ_FIRST(&places->normal);

	return first != NULL && now_ms - first->since_ms >= HTTP_PATIENCE_MS
		? HTTP_REQUESTS_MAX
		: HTTP_REQUESTS;
}

static bool has_place_for(const struct http_places *places,
	const struct http_transfer *t, uint64_t now_ms)
{
	size_t count = count_places(places, now_ms);

	return t != NULL && places->taken < count &&
		(!is_background(t) ||
			places->taken_background < count / BACKGROUND_SHARE);
}

struct http_transfer *http_places_next(struct http_places *places,
	uint64_t now_ms)
{
	struct http_transfer *normal = TAILQ_FIRST(&places->normal);
	struct http_transfer *background = TAILQ_FIRST(&places->background);
	bool has_turn = places->given % BACKGROUND_EVERY == 0;
	struct http_transfer *t = NULL;

	if (has_place_for(places, normal, now_ms)) {
		t = normal;
	}
	if ((t == NULL || has_turn) &&
		has_place_for(places, background, now_ms)) {
		t = background;
	}
	if (t != NULL) {
		TAILQ_REMOVE(list_of(places, t), t, waiting);
		t->place = HTTP_HAS_PLACE;
		places->given++;
		places->taken++;
		places->taken_background += is_background(t);
	}
	return t;
}

static struct http_transfer *expired(struct http_transfers *list,
	uint64_t now_ms)
{
	for (struct http_transfer *t = TAILQ_FIRST(list); t != NULL;
		t = TAILQ_NEXT(t, waiting)) {
		if (t->deadline_ms <= now_ms) {
			return t;
		}
	}
	return NULL;
}

struct http_transfer *http_places_expired(struct http_places *places,
	uint64_t now_ms)
{
	struct http_transfer *t = expired(&places->normal, now_ms);

	if (t == NULL) {
		t = expired(&places->background, now_ms);
	}
	if (t != NULL) {
		http_places_leave(places, t);
	}
	return t;
}

void http_places_leave(struct http_places *places, struct http_transfer *t)
{
	if (t->place == HTTP_WAITS) {
		TAILQ_REMOVE(list_of(places, t), t, waiting);
	} else if (t->place == HTTP_HAS_PLACE) {
		places->taken--;
		places->taken_background -= is_background(t);
	}
	t->place = HTTP_NO_PLACE;
}
