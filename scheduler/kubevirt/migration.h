/* A VirtualMachineInstanceMigration: one migration of one VMI. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/kubevirt/vmi.h"

#include <stdbool.h>
#include <stdint.h>

/* Ours carry this label, with the move's id as its value, and their name is the
 * prefix with the id. A migration that has one of both alone is not ours. */
#define KUBEVIRT_MOVE_LABEL "plimsoll.io/move-id"
#define KUBEVIRT_MOVE_PREFIX "plimsoll-"

enum migration_phase {
	MIGRATION_PENDING,    /* KubeVirt may not have made a target pod yet */
	MIGRATION_SCHEDULING, /* the target pod has no node, or starts */
	MIGRATION_RUNNING,    /* from the handoff on; also unknown phases */
	MIGRATION_SUCCEEDED,
	MIGRATION_FAILED,
};

/* The part that a migration of somebody else has in moves. */
enum others_state {
	OTHERS_GO_FIRST,   /* its nodes are left alone */
	OTHERS_OVER_QUOTA, /* a ResourceQuota keeps it from its target pod */
	OTHERS_LATE,	   /* its time is over */
};

struct migration {
	char *namespace, *name, *uid, *vmi_name;
	char *move_id;	       /* "": not ours */
	char *source, *target; /* nodes; "": not known yet */
	char *hostname;	       /* that it asks for; "": any node */
	bool is_ours;	       /* has our label and our name */
	bool is_evacuation;    /* KubeVirt made it to empty a node */
	bool is_update;	       /* KubeVirt made it to renew the launcher */
	bool is_deleting;
	/* A ResourceQuota of its namespace admits no target pod. KubeVirt tries
	 * again when the quota changes. */
	bool is_over_quota;
	enum migration_phase phase;
	int64_t created_wall_us;
};

/* source and target are set only if the object has them, at its end. -EBADMSG:
 * without name, uid or VMI. */
must_check int migration_read(struct migration **out,
	const struct json_value *object, struct error *err);
void migration_free(struct migration *migration); /* NULL is fine */

static inline bool migration_is_finished(const struct migration *migration)
{
	return migration->phase >= MIGRATION_SUCCEEDED;
}

/* Something counts the VM on the migration's target: the target pod, or the
 * reservation of our order. */
static inline bool migration_is_on_its_way(const struct migration *migration)
{
	return *migration->target != '\0' &&
		(migration->is_ours || migration->phase != MIGRATION_PENDING);
}

/* The texts are copied; they may be the migration's own. */
void migration_set_nodes(struct migration *migration, const char *source,
	const char *target);
