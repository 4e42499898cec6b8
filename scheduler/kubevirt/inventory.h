/* The VMIs and the migrations that are not over, as the watches deliver them.
 *
 * KubeVirt keeps five finished migrations of each VMI. The inventory forgets
 * one a minute after its end: its VMI tells the reason of a failure up to some
 * 400 ms later. VMIs are delivered before migrations. No I/O. */
#pragma once

#include "lib/map.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/kubevirt/migration.h"
#include "scheduler/kubevirt/node_counters.h"
#include "scheduler/kubevirt/target_pods.h"
#include "scheduler/kubevirt/vmi.h"

#define INVENTORY_SETTLE_US UINT64_C(60000000)

/* Nodes are left alone for a migration or an evacuation of somebody else for so
 * long: --other-migrations-timeout is that by default. */
#define INVENTORY_OTHERS_US UINT64_C(600000000)

struct inventory_handler {
	/* See struct kubevirt_options. */
	void (*on_migration)(void *owner, const struct migration *migration,
		const struct vmi *vmi);
	void (*on_migration_gone)(void *owner,
		const struct migration *migration);
	void (*on_vmi)(void *owner, const char *namespace, const char *uid);
	void *owner;
};

struct inventory {
	struct interner *interner;     /* borrowed */
	const struct cluster *cluster; /* borrowed; its nodes' labels */
	struct inventory_handler handler;
	struct map vmis;       /* uid -> struct vmi, owned */
	struct map vmi_names;  /* "namespace/name" -> struct vmi */
	struct map busy;       /* uid -> struct vmi: migrates, or must leave */
	struct map migrations; /* uid -> struct tracked, owned */
	struct map unfinished; /* "namespace/vmi" -> struct tracked */
	struct target_pods pods;
	struct node_counters counters;
	bool is_counted;	   /* the counters are up to date */
	uint64_t counted_until_us; /* and are so until then */
	uint64_t now_us;	   /* of the last change or look */
	uint64_t others_us;	   /* INVENTORY_OTHERS_US; may be changed */
};

void inventory_init(struct inventory *inventory, const struct cluster *cluster,
	const struct inventory_handler *handler);
void inventory_fini(struct inventory *inventory);

/* A VMI in this state. -EBADMSG, -E2BIG: invalid; the VMI is then unknown. */
must_check int inventory_put_vmi(struct inventory *inventory,
	const struct json_value *object, uint64_t now_us, struct error *err);
void inventory_remove_vmi(struct inventory *inventory, const char *uid);

/* -EBADMSG: invalid; the migration is then unknown. */
must_check int inventory_put_migration(struct inventory *inventory,
	const struct json_value *object, uint64_t now_us, struct error *err);
void inventory_remove_migration(struct inventory *inventory, const char *uid);

/* A pod that is the target of a migration exists. A pod is removed when it is
 * gone, and when its VM runs in it. */
void inventory_put_pod(struct inventory *inventory, const char *uid,
	const struct target_pod *pod);
void inventory_remove_pod(struct inventory *inventory, const char *uid);

/* Forgets finished migrations, and notes the time; to be called regularly. */
void inventory_expire(struct inventory *inventory, uint64_t now_us);

/* NULL: not known. */
const struct vmi *inventory_vmi(const struct inventory *inventory,
	const char *uid);
/* The unfinished migration of a VMI; NULL: none. */
const struct migration *inventory_migration_of(
	const struct inventory *inventory, const char *namespace,
	const char *vmi_name);
/* Our migration for a move; NULL: none is known. */
const struct migration *inventory_migration_for(
	const struct inventory *inventory, const char *move_id);
const struct migration *inventory_next_migration(
	const struct inventory *inventory, size_t *at);

/* These also count VMIs that migrate without a known migration object, up to
 * NODE_COUNTERS_MAX. Unfinished are those that KubeVirt counts, and all of
 * ours; foreign are those of somebody else for which moves stand back. */
size_t inventory_unfinished(struct inventory *inventory);
size_t inventory_foreign(struct inventory *inventory);
struct kubevirt_node inventory_node(struct inventory *inventory,
	const char *name);

/* migration: an unfinished one that is not ours. */
enum others_state inventory_others_state(const struct inventory *inventory,
	const struct migration *migration);
