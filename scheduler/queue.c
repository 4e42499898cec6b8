#include "scheduler/queue.h"

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

static void wake(struct queue *queue, struct waiting *waiting)
{
	waiting->state = WAITING_READY;
	queue->woken++;
}

void queue_put(struct queue *queue, struct pod *pod, int64_t now_us)
{
	struct waiting *waiting = queue_find(queue, pod->uid);

	if (waiting == NULL) {
		waiting = xcalloc(1, sizeof(*waiting));
		waiting->state = WAITING_GATED;
		(void)map_put(&queue->by_uid, pod->uid, waiting);
	}
	if (waiting->state == WAITING_GATED && !pod->is_gated) {
		waiting->state = WAITING_READY;
		waiting->since_us = now_us;
		queue->added++;
	}
	/* Our own condition comes back as a change; it is none of the spec. */
	if (waiting->state == WAITING_UNSCHEDULABLE && waiting->pod != NULL &&
		waiting->pod->generation != pod->generation) {
		wake(queue, waiting);
	}
	pod_free(waiting->pod);
	waiting->pod = pod;
}

void queue_remove(struct queue *queue, const char *uid)
{
	waiting_free(map_remove(&queue->by_uid, uid));
}

/* When this one may be tried, from what is known now. */
static int64_t ready_us(const struct waiting *waiting)
{
	switch (waiting->state) {
	case WAITING_READY:
		return waiting->not_before_us;
	case WAITING_UNSCHEDULABLE:
		return waiting->attempt_us + QUEUE_FLUSH_US;
	case WAITING_BINDING:
	case WAITING_GATED:
		break;
	}
	return INT64_MAX;
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

/* Puts one into the ordered list of count; the last falls out where it is full.
 * Returns how many there are then. */
static size_t insert(struct waiting **list, size_t count, size_t max,
	struct waiting *one)
{
	size_t i = count;

	if (count < max) {
		count++;
	} else if (max == 0 || !goes_before(one, list[max - 1])) {
		return count;
	} else {
		i = max - 1;
	}
	for (; i > 0 && goes_before(one, list[i - 1]); i--) {
		list[i] = list[i - 1];
	}
	list[i] = one;
	return count;
}

size_t queue_next(const struct queue *queue, struct waiting **out, size_t max,
	int64_t now_us)
{
	size_t count = 0;
	size_t at = 0;
	void *value;

	while (map_next(&queue->by_uid, &at, NULL, &value)) {
		if (ready_us(value) <= now_us) {
			count = insert(out, count, max, value);
		}
	}
	return count;
}

int64_t queue_wake_us(const struct queue *queue)
{
	int64_t wake = INT64_MAX;
	size_t at = 0;
	void *value;

	while (map_next(&queue->by_uid, &at, NULL, &value)) {
		int64_t ready = ready_us(value);

		wake = ready < wake ? ready : wake;
	}
	return wake;
}

void queue_failed(struct waiting *waiting, bool is_final, int64_t now_us)
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
	waiting->state = is_final ? WAITING_UNSCHEDULABLE : WAITING_READY;
}

void queue_wake_all(struct queue *queue)
{
	size_t at = 0;
	void *value;

	while (map_next(&queue->by_uid, &at, NULL, &value)) {
		struct waiting *waiting = value;

		if (waiting->state == WAITING_UNSCHEDULABLE) {
			wake(queue, waiting);
		}
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
	bool woke = false;
	size_t at = 0;
	void *value;

	while (map_next(&queue->by_uid, &at, NULL, &value)) {
		struct waiting *waiting = value;

		if (waiting->state == WAITING_UNSCHEDULABLE &&
			is_related(waiting->pod)) {
			wake(queue, waiting);
			woke = true;
		}
	}
	return woke;
}
