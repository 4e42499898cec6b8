#include "aggregator/live/pod_refs.h"

#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* The index of the pod; refs->count: not found. */
static size_t find(const struct pod_refs *refs, const struct report *report,
	const char *pod_uid, size_t *at)
{
	for (size_t i = *at; i < refs->count && i < *at + 2; i++) {
		if (strcmp(report->vms[i].pod_uid, pod_uid) == 0) {
			*at = i + 1;
			return i;
		}
	}
	return refs->count;
}

struct identity_ref *pod_refs_find(const struct pod_refs *refs,
	const struct report *report, const char *pod_uid, size_t *at)
{
	size_t i = find(refs, report, pod_uid, at);

	return i == refs->count ? NULL : refs->list[i];
}

void pod_refs_move(struct pod_refs *refs, struct identities *identities,
	const struct report *before, const struct report *after)
{
	struct pod_refs moved = { .count = after->vm_count };
	size_t at = 0;

	if (identities == NULL) {
		return;
	}
	moved.list = xcalloc(moved.count, sizeof(struct identity_ref *));
	for (size_t i = 0; i < moved.count; i++) {
		const char *uid = after->vms[i].pod_uid;
		size_t was = find(refs, before, uid, &at);

		moved.list[i] = was == refs->count
			? identities_hold(identities, uid)
			: take_ptr(refs->list[was]);
	}
	pod_refs_fini(refs, identities, before);
	*refs = moved;
}

void pod_refs_fini(struct pod_refs *refs, struct identities *identities,
	const struct report *report)
{
	for (size_t i = 0; i < refs->count; i++) {
		identities_release(identities, report->vms[i].pod_uid,
			refs->list[i]);
	}
	free(refs->list);
	*refs = (struct pod_refs){ 0 };
}
