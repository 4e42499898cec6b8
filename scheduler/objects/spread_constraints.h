/* spec.topologySpreadConstraints of a pod. */
#pragma once

#include "kube/json_value.h"
#include "kube/label_selector.h"
#include "kube/labels.h"
#include "lib/error.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spread_constraint {
	uint32_t topology_key; /* held */
	bool is_hostname;      /* the key is kubernetes.io/hostname */
	bool is_hard;	       /* DoNotSchedule; else ScheduleAnyway */
	/* Count only nodes that the pod's selectors, or tolerations, admit. */
	bool honors_affinity, honors_taints;
	int32_t max_skew, min_domains;
	struct label_selector selector; /* with matchLabelKeys */
};

struct spread_constraints {
	struct spread_constraint *list; /* owned; in the pod's order */
	size_t count;
	size_t hard_count;
};

/* pod_labels: of the same pod, for matchLabelKeys. A NULL list is empty.
 * -EBADMSG: not a list. */
must_check int spread_constraints_read(struct spread_constraints *out,
	struct interner *interner, const struct json_value *list,
	const struct labels *pod_labels, struct error *err);
void spread_constraints_fini(struct spread_constraints *constraints,
	struct interner *interner);
