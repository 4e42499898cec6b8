/* spec.topologySpreadConstraints of a pod. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/label_selector.h"
#include "scheduler/objects/labels.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPREAD_RULES_MAX = 256 };

struct spread_rule {
	uint32_t topology_key; /* held */
	bool is_hostname;      /* the key is kubernetes.io/hostname */
	bool is_hard;	       /* DoNotSchedule; else ScheduleAnyway */
	/* Only nodes the pod's own selectors and tolerations admit count. */
	bool honors_affinity, honors_taints;
	int32_t max_skew, min_domains;
	struct label_selector selector; /* with matchLabelKeys */
};

struct spread_rules {
	struct spread_rule *list; /* owned; in the pod's order */
	size_t count;
	size_t hard_count;
};

/* pod_labels: of the same pod, for matchLabelKeys. NULL is the empty list.
 * -EBADMSG: no list; -E2BIG: over SPREAD_RULES_MAX. */
must_check int spread_rules_read(struct spread_rules *out, struct names *names,
	const struct value *list, const struct labels *pod_labels,
	struct error *err);
void spread_rules_fini(struct spread_rules *rules, struct names *names);
