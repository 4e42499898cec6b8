/* Queries whose answers are shared and remembered.
 *
 * Equal questions share one query: callers that ask while the query runs get
 * its answer, and callers that ask later get the remembered answer. At most
 * running_max queries run at a time; the others wait in the order in which they
 * were asked. When queries_max is reached, the oldest remembered answer is
 * dropped.
 *
 * A question is a block of bytes, and equal bytes are the same question. The
 * cache copies questions and overwrites them when it forgets them, because a
 * question may hold a token. Times are monotonic microseconds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct query;
struct query_cache;

/* answer is borrowed during the call. NULL: there is no answer, and why says
 * so in a sentence. */
typedef void (*query_done)(void *owner, const void *answer, const char *why);

struct query_cache_options {
	size_t queries_max; /* waiting, running and remembered ones together */
	size_t running_max;
	uint64_t timeout_us; /* of a query; 0: the owner settles each one */
	/* Begins a query. query_settle() follows, maybe before this returns. */
	void (*start)(void *owner, struct query *query);
	/* The query settled, timed out, or the cache stopped: query_data() is
	 * the owner's to free. NULL: there is nothing to do. */
	void (*ended)(void *owner, struct query *query);
	void (*free_answer)(void *answer);
	void *owner;
};

/* Never NULL. */
struct query_cache *query_cache_new(const struct query_cache_options *options);

/* Asks. Calls done exactly once, maybe before this returns; done may be NULL.
 * Without an answer if the cache is full of unsettled queries or stopped. */
void query_cache_ask(struct query_cache *cache, const void *question,
	size_t len, query_done done, void *owner, uint64_t now_us);

/* The query about this question; NULL if there is none (any more). */
struct query *query_cache_find(const struct query_cache *cache,
	const void *question, size_t len, uint64_t now_us);

/* Ends queries that timed out and forgets old answers. query_cache_ask() ends
 * them too, gives no old answer, and forgets all old ones each second. */
void query_cache_expire(struct query_cache *cache, uint64_t now_us);

/* Ends all queries without an answer, and every further one at once. */
void query_cache_stop(struct query_cache *cache);

/* Stops the cache if need be. NULL is fine. */
void query_cache_free(struct query_cache *cache);

/* Ends a query that runs. The answer becomes the cache's, is given to all
 * callers and remembered for keep_us; 0: not at all. */
void query_settle(struct query *query, void *answer, uint64_t keep_us,
	uint64_t now_us);

/* The question's bytes, aligned for any type. */
const void *query_question(const struct query *query);

/* NULL while the query waits or runs. */
const void *query_answer(const struct query *query);

uint64_t query_asked_us(const struct query *query); /* the first time */

/* A pointer of the owner's; NULL at first. */
void query_set_data(struct query *query, void *data);
void *query_data(const struct query *query);
