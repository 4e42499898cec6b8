/* MigrationPolicy objects (migrations.kubevirt.io/v1alpha1), and the one that
 * holds for a VM.
 *
 * A policy matches if the VMI has all labels of its
 * virtualMachineInstanceSelector and the namespace all of its
 * namespaceSelector. The policy with most labels wins, then that with most
 * labels of the VMI, then the first by name: matchPolicy() in KubeVirt's
 * pkg/virt-controller/watch/migration/migrationpolicy.go. Pure. */
#pragma once

#include "kube/labels.h"
#include "lib/error.h"
#include "lib/map.h"
#include "scheduler/kubevirt/migration_limits.h"

/* Further policies, and policies with more labels, are refused. */
enum { MIGRATION_POLICIES_MAX = 256, MIGRATION_POLICY_LABELS_MAX = 64 };

/* Zeroed but for the interner: none. */
struct migration_policies {
	struct interner *interner; /* borrowed */
	struct map by_name;
};

void migration_policies_fini(struct migration_policies *policies);

/* Adds or replaces a policy. -EBADMSG, -E2BIG: the policy is ignored. */
must_check int migration_policies_put(struct migration_policies *policies,
	const struct json_value *object, struct error *err);
void migration_policies_remove(struct migration_policies *policies,
	const char *name);

/* Replaces in limits what the policy that matches says. namespace_labels: NULL
 * if the namespace is not known. Both hold ids of the same interner. */
void migration_policies_apply(const struct migration_policies *policies,
	struct migration_limits *limits, const struct labels *vmi_labels,
	const struct labels *namespace_labels);
