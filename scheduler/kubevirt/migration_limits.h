/* The limits of migrations: those of the KubeVirt CR
 * (spec.configuration.migrations), some of them replaced by a
 * MigrationPolicy. */
#pragma once

#include "kube/json_value.h"

#include <stdbool.h>

/* The limits that hold for a VM: the KubeVirt CR's, or those of the
 * MigrationPolicy that matches the VM best. */
struct migration_limits {
	unsigned per_cluster, out_of_node; /* no policy changes these two */
	double bytes_per_second;	   /* 0: not limited */
	unsigned timeout_per_gib_s;	   /* completionTimeoutPerGiB */
	bool allows_post_copy, allows_auto_converge;
};

/* KubeVirt's: pkg/virt-config/virt-config.go. */
extern const struct migration_limits migration_limits_default;

/* Bits: limits that an object sets. */
enum {
	MIGRATION_LIMIT_PER_CLUSTER = 1,
	MIGRATION_LIMIT_OUT_OF_NODE = 2,
	MIGRATION_LIMIT_BANDWIDTH = 4,
	MIGRATION_LIMIT_TIMEOUT = 8,
	MIGRATION_LIMIT_POST_COPY = 16,
	MIGRATION_LIMIT_AUTO_CONVERGE = 32,
};

/* Replaces the limits that the object has, and returns their bits. Others stay,
 * and so do those whose value no API server would serve. object:
 * spec.configuration.migrations of the CR, or spec of a MigrationPolicy; NULL
 * is fine. */
unsigned migration_limits_read(struct migration_limits *limits,
	const struct json_value *object);

/* Copies these limits from one to the other. */
void migration_limits_copy(struct migration_limits *to,
	const struct migration_limits *from, unsigned bits);
