#include "scheduler/cache/queue.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static void queued_free(struct queued_pod *queued)
{
	if (queued != NULL) {
		pod_free(queued->pod);
		free(queued->message);
		free(queued);
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
		queued_free(value);
	}
	map_fini(&queue->by_uid);
}

struct queued_pod *queue_find(const struct queue *queue, const char *uid)
{
	return map_get(&queue->by_uid, uid);
}

static bool goes_before(const struct queued_pod *a, const struct queued_pod *b)
{
	if (a->is_move != b->is_move) {
		return a->is_move;
	}
	if (a->pod->priority != b->pod->priority) {
		return a->pod->priority > b->pod->priority;
	}
	if (a->pod->is_target != b->pod->is_target) {
		return a->pod->is_target;
	}
	if (a->since_us != b->since_us) {
		return a->since_us < b->since_us;
	}
	return strcmp(a->pod->uid, b->pod->uid) < 0;
}

static struct queued_list *list_of(struct queue *queue,
	const struct queued_pod *queued)
{
	if (queued->state == QUEUED_READY) {
		return &queue->ready;
	}
	return queued->state == QUEUED_UNSCHEDULABLE ? &queue->unschedulable
						     : NULL;
}

static void remove_from_list(struct queue *queue, struct queued_pod *queued)
{
	struct queued_list *list = list_of(queue, queued);

	if (list != NULL) {
		TAILQ_REMOVE(list, queued, link);
	}
}

/* Searches from the end, where most pods belong. */
static void insert_into_list(struct queued_list *list,
	struct queued_pod *queued, bool is_ordered)
{
	struct queued_pod *before = TAILQ_LAST(list, queued_list);

	while (is_ordered && before != NULL && goes_before(queued, before)) {
		before = TAILQ_PREV(before, queued_list, link);
	}
	if (before != NULL) {
		TAILQ_INSERT_AFTER(list, before, queued, link);
	} else {
		TAILQ_INSERT_HEAD(list, queued, link);
	}
}

/* Only a pod that may be tried goes before others. */
static void count_move(struct queue *queue, struct queued_pod *queued)
{
	queue->moves -= queued->is_move;
	queued->is_move = queued->state == QUEUED_READY &&
		queued->pod->is_move && queue->moves < QUEUE_MOVES_MAX;
	queue->moves += queued->is_move;
}

void queue_set(struct queue *queue, struct queued_pod *queued,
	enum queued_state state)
{
	struct queued_list *list;

	remove_from_list(queue, queued);
	queued->state = state;
	count_move(queue, queued);
	list = list_of(queue, queued);
	if (list != NULL) {
		insert_into_list(list, queued, list == &queue->ready);
	}
}

static void wake(struct queue *queue, struct queued_pod *queued)
{
	queue_set(queue, queued, QUEUED_READY);
	queue->woken++;
}

void queue_put(struct queue *queue, struct pod *pod, int64_t now_us)
{
	struct queued_pod *queued = queue_find(queue, pod->uid);
	bool is_changed;

	if (queued == NULL) {
		queued = xcalloc(1, sizeof(*queued));
		queued->state = QUEUED_GATED;
		(void)map_put(&queue->by_uid, pod->uid, queued);
	}
	/* A change of the status, such as our own condition, does not count. */
	is_changed = queued->state == QUEUED_UNSCHEDULABLE &&
		queued->pod->generation != pod->generation;
	pod_free(queued->pod);
	queued->pod = pod;
	if (queued->state == QUEUED_GATED && !pod->is_gated) {
		queued->since_us = now_us;
		queue_set(queue, queued, QUEUED_READY);
		queue->added++;
	} else if (is_changed) {
		wake(queue, queued);
	} else if (queued->state == QUEUED_READY &&
		pod->is_move != queued->is_move) {
		queue_set(queue, queued, QUEUED_READY);
	}
}

void queue_remove(struct queue *queue, const char *uid)
{
	struct queued_pod *queued = map_remove(&queue->by_uid, uid);

	if (queued != NULL) {
		remove_from_list(queue, queued);
		queue->moves -= queued->is_move;
		queued_free(queued);
	}
}

static void flush(struct queue *queue, int64_t now_us)
{
	struct queued_pod *queued;

	while ((queued = TAILQ_FIRST(&queue->unschedulable)) != NULL &&
		queued->attempt_us + QUEUE_FLUSH_US <= now_us) {
		queue_set(queue, queued, QUEUED_READY);
	}
}

void queue_spent(struct queue *queue, const struct queued_pod *queued,
	int64_t spent_us, int64_t now_us)
{
	time_shares_add(&queue->shares, queued->pod->namespace_id, spent_us,
		now_us);
}

/* The first pods that may be tried now; those of namespaces within their
 * share, or all. */
static size_t take_first(const struct queue *queue, struct queued_pod **out,
	size_t max, int64_t now_us, bool takes_all)
{
	struct queued_pod *queued;
	size_t count = 0;

	for (queued = TAILQ_FIRST(&queue->ready); queued != NULL && count < max;
		queued = TAILQ_NEXT(queued, link)) {
		if (queued->not_before_us <= now_us &&
			(takes_all || queued->is_move ||
				!time_shares_is_over(&queue->shares,
					queued->pod->namespace_id, now_us))) {
			out[count++] = queued;
		}
	}
	return count;
}

size_t queue_next(struct queue *queue, struct queued_pod **out, size_t max,
	int64_t now_us)
{
	size_t count = 0;

	flush(queue, now_us);
	if (time_shares_any_is_over(&queue->shares, now_us)) {
		count = take_first(queue, out, max, now_us, false);
	}
	return count > 0 ? count : take_first(queue, out, max, now_us, true);
}

int64_t queue_wake_us(const struct queue *queue)
{
	const struct queued_pod *queued = TAILQ_FIRST(&queue->unschedulable);
	int64_t wake = queued == NULL ? INT64_MAX
				      : queued->attempt_us + QUEUE_FLUSH_US;

	TAILQ_FOREACH(queued, &queue->ready, link)
	{
		if (queued->not_before_us < wake) {
			wake = queued->not_before_us;
		}
		if (wake <= 0) {
			break; /* never failed: no earlier time exists */
		}
	}
	return wake;
}

void queue_failed(struct queue *queue, struct queued_pod *queued,
	bool is_unschedulable, int64_t now_us)
{
	int64_t backoff = QUEUE_BACKOFF_US;

	for (unsigned i = 0; i < queued->failures; i++) {
		backoff *= 2;
		if (backoff >= QUEUE_BACKOFF_MAX_US) {
			backoff = QUEUE_BACKOFF_MAX_US;
			break;
		}
	}
	queued->failures++;
	queued->attempt_us = now_us;
	queued->not_before_us = now_us + backoff;
	queue_set(queue, queued,
		is_unschedulable ? QUEUED_UNSCHEDULABLE : QUEUED_READY);
}

void queue_hurry(struct queue *queue, const char *uid)
{
	struct queued_pod *queued = queue_find(queue, uid);

	if (queued == NULL ||
		(queued->state != QUEUED_UNSCHEDULABLE &&
			queued->state != QUEUED_READY)) {
		return;
	}
	queued->not_before_us = 0;
	if (queued->state == QUEUED_UNSCHEDULABLE) {
		wake(queue, queued);
	}
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
	struct queued_pod *next = TAILQ_FIRST(&queue->unschedulable);
	struct queued_pod *queued;
	bool woke = false;

	while ((queued = next) != NULL) {
		next = TAILQ_NEXT(queued, link);
		if (is_related(queued->pod)) {
			wake(queue, queued);
			woke = true;
		}
	}
	return woke;
}
