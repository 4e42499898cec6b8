/* A pod: its identity, requests and scheduling constraints.
 *
 * A pod on a node counts there with all that can be read of it, however much it
 * has. A pod to schedule is refused (`unsupported`) and never scheduled by
 * guess if a part cannot be read, is not supported or is too long: see
 * objects/unsupported.h. */
#pragma once

#include "kube/json_value.h"
#include "kube/labels.h"
#include "lib/error.h"
#include "lib/interner.h"
#include "scheduler/forecast/announcement.h"
#include "scheduler/forecast/usage.h"
#include "scheduler/objects/behaviours.h"
#include "scheduler/objects/features.h"
#include "scheduler/objects/host_ports.h"
#include "scheduler/objects/launcher.h"
#include "scheduler/objects/node_selector.h"
#include "scheduler/objects/nonzero_requests.h"
#include "scheduler/objects/pod_affinity.h"
#include "scheduler/objects/pod_belief.h"
#include "scheduler/objects/pod_volumes.h"
#include "scheduler/objects/resources.h"
#include "scheduler/objects/spread_constraints.h"
#include "scheduler/objects/taint.h"

#include <stdbool.h>
#include <stdint.h>

/* The names of the migrations that plimsoll orders begin with this. */
#define POD_MOVE_PREFIX "plimsoll-"

enum pod_phase {
	POD_PENDING,
	POD_RUNNING,
	POD_SUCCEEDED,
	POD_FAILED,
	POD_UNKNOWN,
};

/* The part of a pod that is read. */
enum pod_depth {
	POD_SCHEDULED,	 /* what decisions about other pods need */
	POD_UNSCHEDULED, /* its constraints, too */
};

struct pod {
	struct interner *interner; /* borrowed */

	/* Owned, never NULL; "" where the pod has no such field. */
	char *namespace, *name, *uid, *resource_version;
	char *scheduler_name, *node_name;
	char *nominated_node; /* status.nominatedNodeName */
	char *vmi_uid;	      /* label kubevirt.io/created-by */
	char *vm_name;	      /* annotation kubevirt.io/domain */

	int64_t generation;
	int32_t priority;
	enum pod_phase phase;
	bool is_launcher; /* label kubevirt.io=virt-launcher */
	bool is_vm;	  /* a launcher that counts as a VM */
	bool is_deleting; /* a deletionTimestamp is set */
	/* Annotation kubevirt.io/ephemeral-provisioning: see
	 * cache/reservations.h. */
	bool is_provisional;
	bool is_gated; /* spec.schedulingGates: must not be bound */
	/* The target of a migration (label kubevirt.io/migrationJobUID) until
	 * the VM runs in it. The label stays on the pod. */
	bool is_target;
	/* The target of a migration with a name of POD_MOVE_PREFIX. Anyone who
	 * creates pods can claim that: the informers clear it unless a move of
	 * this VM is ordered. */
	bool is_move;

	/* Unix time at which PodScheduled became true; else startTime; else the
	 * creation, if the pod has a node; else TIME_LONG_AGO. */
	int64_t bound_wall_us;
	/* Unix time at which the container `compute` of a VM started; else
	 * TIME_LONG_AGO. */
	int64_t started_wall_us;

	/* A copy shares its parts with the pod it was copied from, its
	 * original, which lives until the last copy is freed. The parts never
	 * change, so that another thread may read a copy. The event loop alone
	 * makes and frees copies. */
	struct pod *original; /* NULL: not a copy */
	/* The pods of the same VM after a migration, and after a start: see
	 * launcher/next_pod.h. Borrowed; NULL: the same as this one. */
	const struct pod *migrated, *restarted;
	unsigned copies;

	uint32_t namespace_id; /* held */
	struct labels labels;
	struct pod_affinity affinity;
	struct host_ports ports;
	struct pod_volumes volumes;

	struct resources requests;
	struct nonzero_requests nonzero;
	struct launcher_compute compute; /* of a VM: requests of `compute` */
	bool requests_kvm;		 /* requests devices.kubevirt.io/kvm */
	bool requests_hugepages;
	/* The launcher's own words: see forecast/forecast.h. */
	double stated_vcpus;
	bool states_dedicated;
	struct pod_belief belief; /* with which the next ones change */
	double vcpus;		  /* of a VM; else 0 */
	bool is_dedicated;	  /* the vCPUs have CPUs of their own */
	double expected_cores;	  /* without any usage of its own */
	struct usage usage;	  /* of this VM; zeroed: unknown */
	/* Owned; the annotation plimsoll.io/expected-cores of a VM, or the
	 * sentence why it is ignored. NULL: none. */
	struct announcement *announced;
	char *announcement_error;
	/* The end of the observation of this very pod, on the clock of the
	 * nodes' loads; 0: the pod was not observed. */
	int64_t observed_us;

	/* Owned; the reason to refuse the pod, or NULL. With POD_SCHEDULED:
	 * what could not be read. */
	char *unsupported;

	/* Only with POD_UNSCHEDULED. */
	uint8_t features; /* that its node must declare: objects/features.h */
	struct tolerations tolerations;
	struct labels node_selector;
	bool has_required; /* required node affinity, even without terms */
	struct node_selector required, preferred;
	struct spread_constraints spread;
};

/* -EBADMSG: the pod has no name. Parts that cannot be read are left out, see
 * `unsupported`. */
must_check int pod_new(struct pod **out, struct interner *interner,
	const struct json_value *object, enum pod_depth depth,
	struct error *err);

/* The same as kube-scheduler of some version reads the pod; pod_new() reads it
 * as the newest does. */
must_check int pod_new_by(struct pod **out, struct interner *interner,
	const struct json_value *object, enum pod_depth depth,
	struct behaviours behaviours, struct error *err);
void pod_free(struct pod *pod); /* NULL is fine */

/* The pod as it would be with another uid on another node. Never NULL. */
struct pod *pod_copy(struct pod *pod, const char *uid, const char *node);

/* The same pod for another thread, with the same uid and node. Never NULL. */
struct pod *pod_share(struct pod *pod);

/* Succeeded or Failed: the pod holds no resources. */
bool pod_is_terminated(const struct pod *pod);
