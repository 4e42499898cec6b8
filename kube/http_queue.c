#include "kube/http_queue.h"

enum { BACKGROUND_EVERY = 4, BACKGROUND_SHARE = 2 };

void http_queue_init(struct http_queue *queue)
{
	*queue = (struct http_queue){ 0 };
	TAILQ_INIT(&queue->normal);
	TAILQ_INIT(&queue->background);
}

static bool is_background(const struct http_transfer *t)
{
	return t->call.priority == HTTP_BACKGROUND;
}

static struct http_transfers *list_of(struct http_queue *queue,
	const struct http_transfer *t)
{
	return is_background(t) ? &queue->background : &queue->normal;
}

void http_queue_wait(struct http_queue *queue, struct http_transfer *t,
	uint64_t now_ms)
{
	t->queue_state = HTTP_WAITS;
	t->since_ms = now_ms;
	TAILQ_INSERT_TAIL(list_of(queue, t), t, waiting);
}

/* How many may be in flight. Only the first of the normal requests shows by its
 * wait that the server is slow: the background waits by design. */
static size_t limit_at(const struct http_queue *queue, uint64_t now_ms)
{
	const struct http_transfer *first = TAILQ_FIRST(&queue->normal);

	return first != NULL && now_ms - first->since_ms >= HTTP_PATIENCE_MS
		? HTTP_REQUESTS_MAX
		: HTTP_REQUESTS;
}

static bool may_begin(const struct http_queue *queue,
	const struct http_transfer *t, uint64_t now_ms)
{
	size_t count = limit_at(queue, now_ms);

	return t != NULL && queue->in_flight < count &&
		(!is_background(t) ||
			queue->background_in_flight < count / BACKGROUND_SHARE);
}

struct http_transfer *http_queue_next(struct http_queue *queue, uint64_t now_ms)
{
	struct http_transfer *normal = TAILQ_FIRST(&queue->normal);
	struct http_transfer *background = TAILQ_FIRST(&queue->background);
	bool has_turn = queue->begun % BACKGROUND_EVERY == 0;
	struct http_transfer *t = NULL;

	if (may_begin(queue, normal, now_ms)) {
		t = normal;
	}
	if ((t == NULL || has_turn) && may_begin(queue, background, now_ms)) {
		t = background;
	}
	if (t != NULL) {
		TAILQ_REMOVE(list_of(queue, t), t, waiting);
		t->queue_state = HTTP_IN_FLIGHT;
		queue->begun++;
		queue->in_flight++;
		queue->background_in_flight += is_background(t);
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

struct http_transfer *http_queue_expired(struct http_queue *queue,
	uint64_t now_ms)
{
	struct http_transfer *t = expired(&queue->normal, now_ms);

	if (t == NULL) {
		t = expired(&queue->background, now_ms);
	}
	if (t != NULL) {
		http_queue_leave(queue, t);
	}
	return t;
}

void http_queue_leave(struct http_queue *queue, struct http_transfer *t)
{
	if (t->queue_state == HTTP_WAITS) {
		TAILQ_REMOVE(list_of(queue, t), t, waiting);
	} else if (t->queue_state == HTTP_IN_FLIGHT) {
		queue->in_flight--;
		queue->background_in_flight -= is_background(t);
	}
	t->queue_state = HTTP_UNQUEUED;
}
