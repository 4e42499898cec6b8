#include "aggregator/live/claims.h"

#include "lib/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

TAILQ_HEAD(claim_list, claim);

struct claimant {
	char key[17]; /* the peer in hexadecimal */
	uint64_t peer;
	size_t count;
	/* The claim that is silent for longest first. */
	struct claim_list fresh, settled;
};

static void write_key(char key[static 17], uint64_t peer)
{
	(void)snprintf(key, 17, "%016" PRIx64, peer);
}

static struct claimant *find(const struct claims *claims, uint64_t peer)
{
	char key[17];

	write_key(key, peer);
	return map_get(&claims->claimants, key);
}

static struct claimant *find_or_add(struct claims *claims, uint64_t peer)
{
	struct claimant *claimant = find(claims, peer);

	if (claimant == NULL) {
		claimant = xcalloc(1, sizeof(*claimant));
		write_key(claimant->key, peer);
		claimant->peer = peer;
		TAILQ_INIT(&claimant->fresh);
		TAILQ_INIT(&claimant->settled);
		(void)map_put(&claims->claimants, claimant->key, claimant);
	}
	return claimant;
}

static struct claim_list *list_of(const struct claim *claim)
{
	return claim->reports < CLAIMS_REPORTS ? &claim->by->fresh
					       : &claim->by->settled;
}

/* Leaves the claimant, which may have no claim then. */
static void unlink_claim(struct claim *claim)
{
	TAILQ_REMOVE(list_of(claim), claim, link);
	claim->by->count--;
}

static void free_if_empty(struct claims *claims, struct claimant *claimant)
{
	if (claimant->count == 0) {
		free(map_remove(&claims->claimants, claimant->key));
	}
}

void claims_note(struct claims *claims, struct claim *claim, uint64_t peer)
{
	struct claimant *before = claim->by;

	if (before != NULL) {
		unlink_claim(claim);
	}
	if (before == NULL || before->peer != peer) {
		claim->by = find_or_add(claims, peer);
	}
	claim->reports += claim->reports < CLAIMS_REPORTS;
	claim->by->count++;
	TAILQ_INSERT_TAIL(list_of(claim), claim, link);
	if (before != NULL) {
		free_if_empty(claims, before);
	}
}

void claims_drop(struct claims *claims, struct claim *claim)
{
	if (claim->by != NULL) {
		unlink_claim(claim);
		free_if_empty(claims, take_ptr(claim->by));
	}
}

static struct claimant *largest(const struct claims *claims)
{
	struct claimant *most = NULL;
	size_t at = 0;
	void *value;

	while (map_next(&claims->claimants, &at, NULL, &value)) {
		struct claimant *claimant = value;

		if (most == NULL || claimant->count > most->count) {
			most = claimant;
		}
	}
	return most;
}

struct claim *claims_weakest(const struct claims *claims, uint64_t peer)
{
	const struct claimant *most = largest(claims);
	const struct claimant *own = find(claims, peer);
	size_t after = (own == NULL ? 0 : own->count) + 1;

	if (most == NULL) {
		return NULL;
	}
	if (own != NULL && own->count == most->count) {
		most = own;
	}
	if (most != own && most->count <= after) {
		return NULL;
	}
	if (most == own || !TAILQ_EMPTY(&most->fresh)) {
		return TAILQ_FIRST(&most->fresh);
	}
	return TAILQ_FIRST(&most->settled);
}

void claims_fini(struct claims *claims)
{
	map_fini(&claims->claimants);
}
