/* A node's pods in the table of identities, by their index in its newest
 * report. A cluster has 150,000 pods, and a search for one of them costs more
 * than the rest of its entry in a snapshot; so pods are searched for when they
 * appear, and held until they disappear. */
#pragma once

#include "aggregator/live/identity.h"
#include "proto/report.h"

struct pod_refs { /* zeroed is empty */
	struct identity_ref **list;
	size_t count;
};

/* Holds the pods of `after`, and releases those of `before` that are not in it.
 * refs are those of `before`. */
void pod_refs_move(struct pod_refs *refs, struct identities *identities,
	const struct report *before, const struct report *after);

/* Releases all; report is the one that refs are of. */
void pod_refs_fini(struct pod_refs *refs, struct identities *identities,
	const struct report *report);

/* The ref of a pod of a later report. NULL: the pod was not found within two
 * steps from *at, where the search for the report's pod before ended. Pods
 * mostly keep their order, so this finds all but new ones. */
struct identity_ref *pod_refs_find(const struct pod_refs *refs,
	const struct report *report, const char *pod_uid, size_t *at);
