/* Whose a pod is, and on which nodes it was: how a VM's past is found. The
 * tables `identity` and `place`; between the store's own files. */
#pragma once

#include "aggregator/store/thread.h"

struct places;

must_check int places_new(struct places **out, struct sqlite3 *db,
	struct error *err);
void places_free(struct places *places); /* NULL is fine */

struct place_seen {
	const char *pod_uid;
	int64_t node;		    /* its number in the database */
	uint64_t first_ms, last_ms; /* widens what is known */
};

/* These write, inside the caller's transaction. */
must_check int places_note(struct places *places, const struct place_seen *seen,
	struct error *err);

/* Replaces what was said of the pod. node is the number of the one that it
 * names, or 0. */
must_check int places_identify(struct places *places,
	const struct store_identity *identity, int64_t node, uint64_t now_ms,
	struct error *err);

/* Forgets pods that were seen last before this; nothing is left of them. */
must_check int places_forget(struct sqlite3 *db, uint64_t before_ms,
	struct error *err);
