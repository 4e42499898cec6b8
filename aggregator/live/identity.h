/* Whose pod a uid is: the VM behind a launcher pod, by what KubeVirt writes on
 * the pod. In memory, no I/O; aggregator/launchers.h feeds it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { IDENTITY_TEXT_MAX = 253 }; /* bytes of each text below */

struct identities;
struct value;

struct identity {
	const char *namespace;
	const char *name;    /* of the VM */
	const char *vmi_uid; /* "" where the pod does not say */
	const char *node;    /* the pod's; "" where it has none yet */
};

struct identities *identities_new(void);
void identities_free(struct identities *identities); /* NULL is fine */

/* What a launcher pod says of its VM: annotation kubevirt.io/domain, the pod's
 * namespace, label kubevirt.io/created-by. False: it does not say. *out is
 * borrowed from the pod. */
bool identity_read(struct identity *out, const struct value *pod);

/* Copies it; replaces what was known of the uid. */
void identities_put(struct identities *identities, const char *pod_uid,
	const struct identity *identity);
/* Calls tell for pods that were not told of since they were put, or since what
 * is known of them is another, until it says false. False: some are left. */
bool identities_tell(struct identities *identities,
	bool (*tell)(void *owner, const char *pod_uid,
		const struct identity *identity),
	void *owner);

void identities_remove(struct identities *identities, const char *pod_uid);

/* NULL: not known. Borrowed until the next put or remove; identities may be
 * NULL. */
const struct identity *identities_find(const struct identities *identities,
	const char *pod_uid);

size_t identities_count(const struct identities *identities);
