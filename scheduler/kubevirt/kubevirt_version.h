/* The KubeVirt CR: which KubeVirt runs, whether it is being upgraded, and from
 * its configuration the limits of migrations and the settings of launchers. */
#pragma once

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "scheduler/kubevirt/migration_limits.h"
#include "scheduler/launcher/launcher_settings.h"

#include <stdbool.h>

/* addedNodeSelector of migrations came with this version, without a gate. */
enum { KUBEVIRT_MAJOR_MIN = 1, KUBEVIRT_MINOR_MIN = 6 };

/* Longer versions are cut. */
enum { KUBEVIRT_VERSION_MAX = 64 };

struct kubevirt_version {
	char text[KUBEVIRT_VERSION_MAX]; /* observedKubeVirtVersion; "": none */
	char target[KUBEVIRT_VERSION_MAX];
	bool is_deployed;    /* status.phase */
	bool is_progressing; /* the condition Progressing */
	bool is_deleting;
	/* VMIs in launchers of an older version. KubeVirt migrates them batch
	 * after batch once the new version is deployed; 0: it does not. */
	unsigned outdated;
	struct migration_limits limits;
	struct launcher_settings launcher;
};

/* object: a KubeVirt CR. */
void kubevirt_version_read(struct kubevirt_version *out,
	const struct json_value *object);

/* Migrations may be ordered. False: appends one sentence why not. */
bool kubevirt_version_may_order(const struct kubevirt_version *version,
	struct buffer *why);
