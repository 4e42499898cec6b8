/* Taints and tolerations, with upstream's exact matching. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum taint_effect {
	TAINT_ANY, /* of a toleration: every effect */
	TAINT_NO_SCHEDULE,
	TAINT_PREFER_NO_SCHEDULE,
	TAINT_NO_EXECUTE,
	TAINT_OTHER, /* unknown: ignored, tolerates nothing */
};

struct taint {
	uint32_t key, value; /* held */
	enum taint_effect effect;
	/* It tells of a condition or a drain of the node, and ends with it: its
	 * key begins with node.kubernetes.io/ or
	 * node.cloudprovider.kubernetes.io/, or is kubevirt.io/drain. People
	 * set the others. */
	bool is_passing;
};

struct taints {
	struct taint *list; /* owned */
	size_t count;
};

enum toleration_operator {
	TOLERATION_EQUAL,
	TOLERATION_EXISTS,
	TOLERATION_OTHER, /* Gt and Lt need an alpha feature: no match */
};

struct toleration {
	struct taint taint; /* key 0: all keys */
	enum toleration_operator operator;
};

struct tolerations {
	struct toleration *list; /* owned */
	size_t count;
	/* Tolerates node.kubernetes.io/unschedulable:NoSchedule, the taint
	 * that spec.unschedulable implies. */
	bool has_unschedulable;
};

/* NULL is the empty list. -EBADMSG: not a list. */
must_check int taints_read(struct taints *out, struct interner *interner,
	const struct json_value *list, struct error *err);
must_check int tolerations_read(struct tolerations *out,
	struct interner *interner, const struct json_value *list,
	struct error *err);
void taints_fini(struct taints *taints, struct interner *interner);
void tolerations_fini(struct tolerations *tolerations,
	struct interner *interner);

/* Every NoSchedule and NoExecute taint is tolerated. */
bool taints_tolerated(const struct taints *taints,
	const struct tolerations *tolerations);

/* The same without passing taints. */
bool taints_of_people_tolerated(const struct taints *taints,
	const struct tolerations *tolerations);

/* The number of PreferNoSchedule taints that are not tolerated. */
uint32_t taints_count_intolerable(const struct taints *taints,
	const struct tolerations *tolerations);
