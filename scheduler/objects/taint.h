/* Taints and tolerations, with upstream's exact matching. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAINTS_MAX = 1024 };

enum taint_effect {
	TAINT_ANY, /* of a toleration: every effect */
	TAINT_NO_SCHEDULE,
	TAINT_PREFER_NO_SCHEDULE,
	TAINT_NO_EXECUTE,
	TAINT_OTHER, /* one we do not know: ignored, tolerates nothing */
};

struct taint {
	uint32_t key, value; /* held */
	enum taint_effect effect;
};

struct taints {
	struct taint *list; /* owned */
	size_t count;
};

enum toleration_operator {
	TOLERATION_EQUAL,
	TOLERATION_EXISTS,
	TOLERATION_OTHER, /* Gt and Lt are behind an alpha gate: no match */
};

struct toleration {
	uint32_t key; /* held; 0: all keys */
	uint32_t value;
	enum toleration_operator operator;
	enum taint_effect effect;
};

struct tolerations {
	struct toleration *list; /* owned */
	size_t count;
	/* Of the taint node.kubernetes.io/unschedulable:NoSchedule, which
	 * spec.unschedulable stands for. */
	bool has_unschedulable;
};

/* NULL is the empty list. -EBADMSG: not a list; -E2BIG: over TAINTS_MAX. */
must_check int taints_read(struct taints *out, struct names *names,
	const struct value *list, struct error *err);
must_check int tolerations_read(struct tolerations *out, struct names *names,
	const struct value *list, struct error *err);
void taints_fini(struct taints *taints, struct names *names);
void tolerations_fini(struct tolerations *tolerations, struct names *names);

/* Every NoSchedule and NoExecute taint is tolerated. */
bool taints_tolerated(const struct taints *taints,
	const struct tolerations *tolerations);

/* How many PreferNoSchedule taints are not. */
uint32_t taints_disliked(const struct taints *taints,
	const struct tolerations *tolerations);
