/* Identities of pods: the VM and the node of each virt-launcher pod, as the API
 * server states them. In memory, no I/O; live/launcher_informer.h fills the
 * table.
 *
 * An agent may report any pod uid. A pod is the VM's only on the node that the
 * API server states; on another node, and before the statement, it has no
 * name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { IDENTITY_TEXT_MAX = 253 }; /* bytes of each text below */

struct identities;
struct identity_ref;
struct json_value;

struct identity {
	const char *namespace;
	const char *name;    /* of the VM */
	const char *vmi_uid; /* "" if the pod has no such label */
	const char *node;    /* the pod's; "" if it has none yet */
};

struct identities *identities_new(void);
void identities_free(struct identities *identities); /* NULL is fine */

/* Reads a launcher pod: annotation kubevirt.io/domain, the pod's namespace,
 * label kubevirt.io/created-by. False: the pod does not name a VM. *out is
 * borrowed from the pod. */
bool identity_read(struct identity *out, const struct json_value *pod);

/* Copies the identity; replaces an earlier one of the uid. */
void identities_put(struct identities *identities, const char *pod_uid,
	const struct identity *identity);

/* Calls save for each identity with a node that is new or has changed since it
 * was saved, until save returns false. False: some are not saved. The history
 * of a VM is that of its pods' nodes, so a pod without a node has none. */
bool identities_save(struct identities *identities,
	bool (*save)(void *owner, const char *pod_uid,
		const struct identity *identity),
	void *owner);

/* A save has failed afterwards: identities_save() gives all again. */
void identities_unsave(struct identities *identities);

/* A pod that has a node and is not saved yet stays until it is saved, but is
 * not found any more. */
void identities_remove(struct identities *identities, const char *pod_uid);

/* The pod's identity on this node. NULL: not known, or not the pod's node.
 * Borrowed until the next put, save or remove; identities may be NULL. */
const struct identity *identities_find(const struct identities *identities,
	const char *pod_uid, const char *node);

/* Holds a pod, known or not, whose identity is then found without a search.
 * Never NULL. Each is released once, with the same uid; NULL is fine. */
struct identity_ref *identities_hold(struct identities *identities,
	const char *pod_uid);
void identities_release(struct identities *identities, const char *pod_uid,
	struct identity_ref *ref);

/* As identities_find() and identities_node(). */
const struct identity *identity_ref_get(const struct identity_ref *ref,
	const char *node);
const char *identity_ref_node(const struct identity_ref *ref);

/* The pod's node; NULL: not known. Borrowed as above. */
const char *identities_node(const struct identities *identities,
	const char *pod_uid);

/* All pods that the API server has are known, from now on. */
void identities_set_complete(struct identities *identities);
bool identities_are_complete(const struct identities *identities); /* or NULL */

/* A pod of this VM is known, with or without a node. Looks at all of them. */
bool identities_have_vm(const struct identities *identities,
	const char *namespace, const char *name);

size_t identities_count(const struct identities *identities);

/* The same with those that are held and not known, or wait to be saved. */
size_t identities_entries(const struct identities *identities);
