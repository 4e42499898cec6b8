#include "aggregator/live/pod_claims.h"

#include "lib/map.h"
#include "lib/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Silent claims that one call removes: more than it adds. */
enum { SWEEP = 2 };

/* A node with at least one claim. */
struct holder {
	char *name; /* owned */
	size_t count;
};

struct claim {
	TAILQ_ENTRY(claim) link;
	struct holder *holder;
	uint64_t last_us;
	char pod_uid[];
};

TAILQ_HEAD(claim_list, claim);

struct pod_claims {
	struct map by_uid;	  /* -> struct claim */
	struct map by_node;	  /* -> struct holder */
	struct claim_list claims; /* the least recent first */
	/* The one that followed the claim that was renewed last, before that
	 * moved to the end: a node reports its pods in the order of its last
	 * report, so this is the next pod's, and no search is needed. With
	 * 30,000 pods, each search waits for memory several times. */
	struct claim *likely; /* or NULL */
};

struct pod_claims *pod_claims_new(void)
{
	struct pod_claims *claims = xcalloc(1, sizeof(*claims));

	TAILQ_INIT(&claims->claims);
	return claims;
}

static void release(struct pod_claims *claims, struct holder *holder)
{
	holder->count--;
	if (holder->count == 0) {
		(void)map_remove(&claims->by_node, holder->name);
		free(holder->name);
		free(holder);
	}
}

static void remove_claim(struct pod_claims *claims, struct claim *claim)
{
	if (claims->likely == claim) {
		claims->likely = NULL;
	}
	TAILQ_REMOVE(&claims->claims, claim, link);
	(void)map_remove(&claims->by_uid, claim->pod_uid);
	release(claims, claim->holder);
	free(claim);
}

void pod_claims_free(struct pod_claims *claims)
{
	if (claims == NULL) {
		return;
	}
	while (!TAILQ_EMPTY(&claims->claims)) {
		remove_claim(claims, TAILQ_FIRST(&claims->claims));
	}
	map_fini(&claims->by_uid);
	map_fini(&claims->by_node);
	free(claims);
}

static bool is_silent(const struct claim *claim, uint64_t at_us)
{
	return at_us > claim->last_us &&
		at_us - claim->last_us >= POD_CLAIMS_SILENT_US;
}

static void sweep(struct pod_claims *claims, uint64_t at_us)
{
	for (int i = 0; i < SWEEP; i++) {
		struct claim *oldest = TAILQ_FIRST(&claims->claims);

		if (oldest == NULL || !is_silent(oldest, at_us)) {
			return;
		}
		remove_claim(claims, oldest);
	}
}

static struct holder *find_holder(struct pod_claims *claims, const char *node)
{
	struct holder *holder = map_get(&claims->by_node, node);

	if (holder == NULL) {
		holder = xcalloc(1, sizeof(*holder));
		holder->name = xstrdup(node);
		(void)map_put(&claims->by_node, node, holder);
	}
	return holder;
}

static bool has_room(const struct pod_claims *claims, const char *node)
{
	const struct holder *holder = map_get(&claims->by_node, node);

	return claims->by_uid.count < POD_CLAIMS_MAX &&
		(holder == NULL || holder->count < POD_CLAIMS_NODE_MAX);
}

static void add_claim(struct pod_claims *claims, const char *pod_uid,
	const char *node, uint64_t at_us)
{
	size_t len = strlen(pod_uid) + 1;
	struct claim *claim = xcalloc(1, sizeof(*claim) + len);

	memcpy(claim->pod_uid, pod_uid, len);
	claim->holder = find_holder(claims, node);
	claim->holder->count++;
	claim->last_us = at_us;
	TAILQ_INSERT_TAIL(&claims->claims, claim, link);
	(void)map_put(&claims->by_uid, pod_uid, claim);
}

static struct claim *find_claim(const struct pod_claims *claims,
	const char *pod_uid)
{
	struct claim *likely = claims->likely;

	return likely != NULL && strcmp(likely->pod_uid, pod_uid) == 0
		? likely
		: map_get(&claims->by_uid, pod_uid);
}

static void renew(struct pod_claims *claims, struct claim *claim,
	uint64_t at_us)
{
	claim->last_us = at_us > claim->last_us ? at_us : claim->last_us;
	claims->likely = TAILQ_NEXT(claim, link);
	TAILQ_REMOVE(&claims->claims, claim, link);
	TAILQ_INSERT_TAIL(&claims->claims, claim, link);
}

const char *pod_claims_claim(struct pod_claims *claims, const char *pod_uid,
	const char *node, uint64_t at_us)
{
	struct claim *claim;

	sweep(claims, at_us);
	claim = find_claim(claims, pod_uid);
	if (claim != NULL && strcmp(claim->holder->name, node) == 0) {
		renew(claims, claim, at_us);
		return NULL;
	}
	if (claim != NULL && !is_silent(claim, at_us)) {
		return claim->holder->name;
	}
	if (claim != NULL) {
		remove_claim(claims, claim);
	}
	if (has_room(claims, node)) {
		add_claim(claims, pod_uid, node, at_us);
	}
	return NULL;
}
