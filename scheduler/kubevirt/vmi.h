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

/* status.migrationState: of a migration that is unfinished, or how the last one
 * ended. The state of an earlier migration stays until the next begins. */
struct vmi_migration {
	char *uid, *failure_reason;
	char *source, *target;			/* nodes; "": unknown */
	int64_t started_wall_us, ended_wall_us; /* 0: not yet */
	bool has_failed, is_completed;
};

/* A known VMI. Strings are owned by the watch, never NULL. Clusters have
 * hundreds of thousands: `make bench-vmis` says what one takes. */
struct vmi {
	char *namespace, *name, *uid;
	char *node;	   /* status.nodeName; "": not running */
	char *evacuating;  /* status.evacuationNodeName; "": none */
	char *why_not;	   /* the message of LiveMigratable, if not True */
	char *active_pods; /* status.activePods: UIDs, one a line */
	struct vmi_migration *migration; /* owned; NULL: it never migrated */
	double guest_bytes;		 /* memory of the guest; 0: unknown */
	/* The most that its pods count: see cache/vm_claims.h. */
	double cpus; /* launcher_needs_cpus() */
	/* Set by the inventory: since when it migrates or must leave its node
	 * in this way, on the monotonic clock. */
	uint64_t busy_us;
	struct labels labels;
	struct launcher_vm launcher; /* of its next pod */
	enum consent consent;
	bool is_running;    /* phase Running, not being deleted */
	bool is_migratable; /* condition LiveMigratable */
	/* status.migrationMethod: a migration would copy its disks as well. */
	bool copies_disks;
	bool is_dedicated; /* its CPUs */
	bool is_migrating;
};

/* -EBADMSG, -E2BIG: without name or uid, or with invalid labels. The caller
 * calls vmi_free() with the same interner. */
must_check int vmi_read(struct vmi **out, struct interner *interner,
	const struct json_value *object, struct error *err);
void vmi_free(struct vmi *vmi, struct interner *interner); /* NULL is fine */

/* Never NULL: empty if the VMI is NULL or never migrated. */
const struct vmi_migration *vmi_last_migration(const struct vmi *vmi);

/* The same, but empty as well if the last migration has another UID. */
const struct vmi_migration *vmi_migration_state(const struct vmi *vmi,
	const char *uid);

/* KubeVirt empties the node: the VMI is marked and still there. */
bool vmi_is_evacuating(const struct vmi *vmi);

/* Both allow their pods the same. */
bool vmi_has_same_pods(const struct vmi *a, const struct vmi *b);

/* Both tell the same of the last migration. */
bool vmi_has_same_migration(const struct vmi *a, const struct vmi *b);
