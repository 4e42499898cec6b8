/* A VirtualMachineInstance: where it runs, whether it can be migrated, how its
 * last migration went, and the parts on which its next pod depends. */
#pragma once

#include "kube/json_value.h"
#include "kube/labels.h"
#include "lib/error.h"
#include "scheduler/launcher/launcher_vm.h"
#include "scheduler/objects/consent.h"

#include <stdbool.h>
#include <stdint.h>

enum { VMI_LABELS_MAX = 1024 };

/* A known VMI. Strings are owned by the watch, never NULL. */
struct vmi {
	char *namespace, *name, *uid;
	char *node;	    /* status.nodeName; "": not running */
	char *evacuating;   /* status.evacuationNodeName; "": none */
	bool is_running;    /* phase Running, not being deleted */
	bool is_migratable; /* condition LiveMigratable */
	char *why_not;	    /* its message, where it is not True */
	/* status.migrationMethod: a migration would copy its disks as well. */
	bool copies_disks;
	double guest_bytes; /* memory of the guest; 0: unknown */
	/* The most that its pods count: see cache/vm_claims.h. */
	double cpus; /* launcher_needs_cpus() */
	bool is_dedicated;
	char *active_pods; /* status.activePods: UIDs, one a line */
	enum consent consent;
	/* status.migrationState: unfinished, or how the last one ended. The
	 * state of an earlier migration stays until the next begins. */
	bool is_migrating;
	char *migration_uid, *failure_reason;
	char *migration_source, *migration_target; /* nodes; "": unknown */
	bool has_failed, is_completed;
	int64_t started_wall_us, ended_wall_us; /* 0: not yet */
	/* Set by the inventory: since when it migrates or must leave its node
	 * in this way, on the monotonic clock. */
	uint64_t busy_us;
	struct labels labels;
	struct launcher_vm launcher; /* of its next pod */
};

/* -EBADMSG, -E2BIG: without name or uid, or with invalid labels. The caller
 * calls vmi_free() with the same interner. */
must_check int vmi_read(struct vmi **out, struct interner *interner,
	const struct json_value *object, struct error *err);
void vmi_free(struct vmi *vmi, struct interner *interner); /* NULL is fine */

/* KubeVirt empties the node: the VMI is marked and still there. */
bool vmi_is_evacuating(const struct vmi *vmi);

/* Both allow their pods the same. */
bool vmi_has_same_pods(const struct vmi *a, const struct vmi *b);

/* Both tell the same of the last migration. */
bool vmi_has_same_migration(const struct vmi *a, const struct vmi *b);
