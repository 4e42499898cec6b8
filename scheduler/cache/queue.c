#include "scheduler/cache/queue.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static void waiting_free(struct waiting *waiting)
{
	if (waiting != NULL) {
		pod_free(waiting->pod);
		free(waiting->message);
		free(waiting);
	}
}

void queue_init(struct queue *queue)
{
	*queue = (struct queue){ 0 };
	TAILQ_INIT(&queue->ready);
	TAILQ_INIT(&queue->unschedulable);
}

void queue_fini(struct queue *queue)
{
	size_t at = 0;
	void *value;

	while (map_next(&queue->by_uid, &at, NULL, &value)) {
		waiting_free(value);
	}
	map_fini(&queue->by_uid);
}

struct waiting *queue_find(const struct queue *queue, const char *uid)
{
	return map_get(&queue->by_uid, uid);
}

static bool goes_before(const struct waiting *a, const struct waiting *b)
{
	if (a->pod->priority != b->pod->priority) {
		return a->pod->priority > b->pod->priority;
	}
	if (a->since_us != b->since_us) {
		return a->since_us < b->since_us;
	}
	return strcmp(a->pod->uid, b->pod->uid) < 0;
}

static struct waiting_list *list_of(struct queue *queue,
	const struct waiting *waiting)
{
	switch (waiting->state) {
	case WAITING_READY:
		return &queue->ready;
	case WAITING_UNSCHEDULABLE:
		return &queue->unschedulable;
	case WAITING_BINDING:
	case WAITING_GATED:
		break;
	}
	return NULL;
}

static void take_off(struct queue *queue, struct waiting *waiting)
{
	struct waiting_list *list = list_of(queue, waiting);

	if (list != NULL) {
		TAILQ_REMOVE(list, waiting, link);
	}
}

/* From the end, where most of them belong. */
static void put_on(struct waiting_list *list, struct waiting *waiting,
	bool is_ordered)
{
	struct waiting *before = TAILQ_LAST(list, waiting_list);

	while (is_ordered && before != NULL && goes_before(waiting, before)) {
		before = TAILQ_PREV(before, waiting_list, link);
	}
	if (before != NULL) {
		TAILQ_INSERT_AFTER(list, before, waiting, link);
	} else {
		TAILQ_INSERT_HEAD(list, waiting, link);
	}
}

void queue_set(struct queue *queue, struct waiting *waiting,
	enum waiting_state state)
{
	struct waiting_list *list;

	take_off(queue, waiting);
	waiting->state = state;
	list = list_of(queue, waiting);
	if (list != NULL) {
		put_on(list, waiting, list == &queue->ready);
	}
}

static void wake(struct queue *queue, struct waiting *waiting)
{
	queue_set(queue, waiting, WAITING_READY);
	queue->woken++;
}

void queue_put(struct queue *queue, struct pod *pod, int64_t now_us)
{
	struct waiting *waiting = queue_find(queue, pod->uid);
	bool is_changed;

	if (waiting == NULL) {
		waiting = xcalloc(1, sizeof(*waiting));
		waiting->state = WAITING_GATED;
		(void)map_put(&queue->by_uid, pod->uid, waiting);
	}
	/* Our own condition comes back as a change; it is none of the spec. */
	is_changed = waiting->state == WAITING_UNSCHEDULABLE &&
		waiting->pod->generation != pod->generation;
	pod_free(waiting->pod);
	waiting->pod = pod;
	if (waiting->state == WAITING_GATED && !pod->is_gated) {
		waiting->since_us = now_us;
		queue_set(queue, waiting, WAITING_READY);
		queue->added++;
	} else if (is_changed) {
		wake(queue, waiting);
	}
}

void queue_remove(struct queue *queue, const char *uid)
{
	struct waiting *waiting = map_remove(&queue->by_uid, uid);

	if (waiting != NULL) {
		take_off(queue, waiting);
		waiting_free(waiting);
	}
}

/* Who waited for a change for long is tried again without one. */
static void flush(struct queue *queue, int64_t now_us)
{
	struct waiting *waiting;

	while ((waiting = TAILQ_FIRST(&queue->unschedulable)) != NULL &&
		waiting->attempt_us + QUEUE_FLUSH_US <= now_us) {
		queue_set(queue, waiting, WAITING_READY);
	}
}

size_t queue_next(struct queue *queue, struct waiting **out, size_t max,
	int64_t now_us)
{
	struct waiting *waiting;
	size_t count = 0;

	flush(queue, now_us);
	for (waiting = TAILQ_FIRST(&queue->ready);
		waiting != NULL && count < max;
		waiting = TAILQ_NEXT(waiting, link)) {
		if (waiting->not_before_us <= now_us) {
			out[count++] = waiting;
		}
	}
	return count;
}

int64_t queue_wake_us(const struct queue *queue)
{
	const struct waiting *waiting = TAILQ_FIRST(&queue->unschedulable);
	int64_t wake = waiting == NULL ? INT64_MAX
				       : waiting->attempt_us + QUEUE_FLUSH_US;

	TAILQ_FOREACH(waiting, &queue->ready, link)
	{
		if (waiting->not_before_us < wake) {
			wake = waiting->not_before_us;
		}
		if (wake <= 0) {
			break; /* never failed: there is no sooner */
		}
	}
	return wake;
}

void queue_failed(struct queue *queue, struct waiting *waiting, bool is_final,
	int64_t now_us)
{
	int64_t backoff = QUEUE_BACKOFF_US;

	for (unsigned i = 0; i < waiting->failures; i++) {
		backoff *= 2;
		if (backoff >= QUEUE_BACKOFF_MAX_US) {
			backoff = QUEUE_BACKOFF_MAX_US;
			break;
		}
	}
	waiting->failures++;
	waiting->attempt_us = now_us;
	waiting->not_before_us = now_us + backoff;
	queue_set(queue, waiting,
		is_final ? WAITING_UNSCHEDULABLE : WAITING_READY);
}

void queue_wake_all(struct queue *queue)
{
	while (!TAILQ_EMPTY(&queue->unschedulable)) {
		wake(queue, TAILQ_FIRST(&queue->unschedulable));
	}
}

static bool is_related(const struct pod *pod)
{
	return pod->affinity.required.count > 0 ||
		pod->affinity.required_anti.count > 0 ||
		pod->spread.hard_count > 0;
}

bool queue_wake_related(struct queue *queue)
{
	struct waiting *next = TAILQ_FIRST(&queue->unschedulable);
	struct waiting *waiting;
	bool woke = false;

	while ((waiting = next) != NULL) {
		next = TAILQ_NEXT(waiting, link);
		if (is_related(waiting->pod)) {
			wake(queue, waiting);
			woke = true;
		}
	}
	return woke;
}
