#include "lib/query_cache.h"

#include "lib/hash.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct waiter {
	struct waiter *next;
	query_done done;
	void *owner;
};

/* ENDING: the callers get the answer; the query is in no list. */
enum state { WAITING, RUNNING, ENDING, SETTLED, STATES };

struct query {
	TAILQ_ENTRY(query) link; /* in the list of its state */
	struct query *next;	 /* in its bucket */
	struct query_cache *cache;
	enum state state;
	struct waiter *waiters, **last_waiter;
	uint64_t hash, asked_us;
	uint64_t until_us; /* SETTLED: when the answer is forgotten */
	void *answer;	   /* ENDING and SETTLED */
	const char *why;   /* the same: why there is no answer, or "" */
	void *data;
	size_t len;
	_Alignas(max_align_t) unsigned char question[];
};

TAILQ_HEAD(queries, query);

struct query_cache {
	struct query_cache_options options;
	struct queries lists[STATES]; /* oldest first */
	struct query **buckets;
	size_t bucket_count; /* a power of two */
	size_t count, running;
	uint64_t swept_us; /* when old answers were forgotten */
	bool is_stopped;
};

/* There may be thousands of answers, and questions come many a second, so old
 * answers are not searched for at each of them. None is given, though. */
static const uint64_t sweep_us = 1000000;

struct query_cache *query_cache_new(const struct query_cache_options *options)
{
	struct query_cache *cache = xcalloc(1, sizeof(*cache));

	cache->options = *options;
	cache->bucket_count = 16;
	while (cache->bucket_count < options->queries_max) {
		cache->bucket_count *= 2;
	}
	cache->buckets = xcalloc(cache->bucket_count, sizeof(struct query *));
	for (int i = 0; i < STATES; i++) {
		TAILQ_INIT(&cache->lists[i]);
	}
	return cache;
}

static struct query **bucket_of(const struct query_cache *cache, uint64_t hash)
{
	return &cache->buckets[hash & (cache->bucket_count - 1)];
}

static void set_state(struct query *query, enum state state)
{
	struct query_cache *cache = query->cache;

	TAILQ_REMOVE(&cache->lists[query->state], query, link);
	TAILQ_INSERT_TAIL(&cache->lists[state], query, link);
	cache->running += state == RUNNING;
	cache->running -= query->state == RUNNING;
	query->state = state;
}

static void forget(struct query *query)
{
	struct query_cache *cache = query->cache;
	struct query **at = bucket_of(cache, query->hash);

	while (*at != query) {
		at = &(*at)->next;
	}
	*at = query->next;
	TAILQ_REMOVE(&cache->lists[query->state], query, link);
	cache->count--;
	if (query->answer != NULL) {
		cache->options.free_answer(query->answer);
	}
	explicit_bzero(query->question, query->len);
	free(query);
}

/* Calls the callers, who may ask more, and remembers the answer if there is a
 * time for it. */
static void end(struct query *query, const char *why, uint64_t until_us)
{
	const struct query_cache_options *options = &query->cache->options;
	struct waiter *waiter = take_ptr(query->waiters);
	enum state was = query->state;

	query->why = why;
	set_state(query, ENDING);
	if (was == RUNNING && options->ended != NULL) {
		options->ended(options->owner, query);
	}
	while (waiter != NULL) {
		struct waiter *next = waiter->next;

		waiter->done(waiter->owner, query->answer, why);
		free(waiter);
		waiter = next;
	}
	if (until_us == 0 || query->cache->is_stopped) {
		forget(query);
	} else {
		query->until_us = until_us;
		set_state(query, SETTLED);
	}
}

static void run_waiting(struct query_cache *cache)
{
	struct query *query = TAILQ_FIRST(&cache->lists[WAITING]);

	while (query != NULL && cache->running < cache->options.running_max) {
		set_state(query, RUNNING);
		cache->options.start(cache->options.owner, query);
		query = TAILQ_FIRST(&cache->lists[WAITING]);
	}
}

void query_settle(struct query *query, void *answer, uint64_t keep_us,
	uint64_t now_us)
{
	struct query_cache *cache = query->cache;

	query->answer = answer;
	end(query, "", keep_us == 0 ? 0 : now_us + keep_us);
	run_waiting(cache);
}

static bool has_timed_out(const struct query *query, uint64_t now_us)
{
	uint64_t timeout_us = query->cache->options.timeout_us;

	return timeout_us != 0 && now_us >= query->asked_us + timeout_us;
}

static bool is_expired(const struct query *query, uint64_t now_us)
{
	return query->state == SETTLED ? query->until_us <= now_us
				       : has_timed_out(query, now_us);
}

static void end_expired(struct query_cache *cache, enum state state,
	uint64_t now_us)
{
	struct query *query = TAILQ_FIRST(&cache->lists[state]);

	while (query != NULL && has_timed_out(query, now_us)) {
		end(query, "no answer in time", 0);
		query = TAILQ_FIRST(&cache->lists[state]);
	}
}

static void forget_expired(struct query_cache *cache, uint64_t now_us)
{
	struct query *query = TAILQ_FIRST(&cache->lists[SETTLED]);

	cache->swept_us = now_us;
	while (query != NULL) {
		struct query *next = TAILQ_NEXT(query, link);

		if (query->until_us <= now_us) {
			forget(query);
		}
		query = next;
	}
}

static void end_all_expired(struct query_cache *cache, uint64_t now_us)
{
	end_expired(cache, RUNNING, now_us);
	end_expired(cache, WAITING, now_us);
	run_waiting(cache);
}

void query_cache_expire(struct query_cache *cache, uint64_t now_us)
{
	forget_expired(cache, now_us);
	end_all_expired(cache, now_us);
}

static struct query *find(const struct query_cache *cache, const void *question,
	size_t len, uint64_t hash)
{
	struct query *query = *bucket_of(cache, hash);

	while (query != NULL &&
		(query->hash != hash || query->len != len ||
			memcmp(query->question, question, len) != 0)) {
		query = query->next;
	}
	return query;
}

struct query *query_cache_find(const struct query_cache *cache,
	const void *question, size_t len, uint64_t now_us)
{
	struct query *query = find(cache, question, len,
		hash_bytes(HASH_SEED, question, len));

	return query == NULL || is_expired(query, now_us) ? NULL : query;
}

/* NULL: the cache is full of queries without an answer. */
static struct query *add(struct query_cache *cache, const void *question,
	size_t len, uint64_t hash, uint64_t now_us)
{
	struct query *oldest = TAILQ_FIRST(&cache->lists[SETTLED]);
	struct query *query;

	if (cache->count >= cache->options.queries_max) {
		if (oldest == NULL) {
			return NULL;
		}
		forget(oldest);
	}
	query = xcalloc(1, sizeof(*query) + len);
	query->cache = cache;
	query->last_waiter = &query->waiters;
	query->hash = hash;
	query->asked_us = now_us;
	query->len = len;
	memcpy(query->question, question, len);
	query->next = *bucket_of(cache, hash);
	*bucket_of(cache, hash) = query;
	query->state = WAITING;
	TAILQ_INSERT_TAIL(&cache->lists[WAITING], query, link);
	cache->count++;
	return query;
}

static void add_waiter(struct query *query, query_done done, void *owner)
{
	struct waiter *waiter = xcalloc(1, sizeof(*waiter));

	waiter->done = done;
	waiter->owner = owner;
	*query->last_waiter = waiter;
	query->last_waiter = &waiter->next;
}

static void ignore(void *owner, const void *answer, const char *why)
{
	(void)owner;
	(void)answer;
	(void)why;
}

void query_cache_ask(struct query_cache *cache, const void *question,
	size_t len, query_done done, void *owner, uint64_t now_us)
{
	uint64_t hash = hash_bytes(HASH_SEED, question, len);
	query_done call = done == NULL ? ignore : done;
	struct query *query;

	if (cache->is_stopped) {
		call(owner, NULL, "shutting down");
		return;
	}
	if (now_us - cache->swept_us >= sweep_us) {
		forget_expired(cache, now_us);
	}
	end_all_expired(cache, now_us);
	query = find(cache, question, len, hash);
	if (query != NULL && query->state == SETTLED &&
		is_expired(query, now_us)) {
		forget(query);
		query = NULL;
	}
	if (query != NULL && query->state >= ENDING) {
		call(owner, query->answer, query->why);
		return;
	}
	if (query == NULL) {
		query = add(cache, question, len, hash, now_us);
	}
	if (query == NULL) {
		call(owner, NULL, "too many questions are open already");
		return;
	}
	add_waiter(query, call, owner);
	run_waiting(cache);
}

void query_cache_stop(struct query_cache *cache)
{
	cache->is_stopped = true;
	for (int i = 0; i < STATES; i++) {
		struct query *query = TAILQ_FIRST(&cache->lists[i]);

		while (i != ENDING && query != NULL) {
			struct query *next = TAILQ_NEXT(query, link);

			end(query, "shutting down", 0);
			query = next;
		}
	}
}

void query_cache_free(struct query_cache *cache)
{
	if (cache != NULL) {
		query_cache_stop(cache);
		free(cache->buckets);
		free(cache);
	}
}

const void *query_question(const struct query *query)
{
	return query->question;
}

const void *query_answer(const struct query *query)
{
	return query->answer;
}

uint64_t query_asked_us(const struct query *query)
{
	return query->asked_us;
}

void query_set_data(struct query *query, void *data)
{
	query->data = data;
}

void *query_data(const struct query *query)
{
	return query->data;
}
