/* The goal of a plan as people write it: "pod", "empty:NODE",
 * "move:NAMESPACE/VM", "gone:NODE[,NODE...]". Pure. */
#pragma once

#include "lib/error.h"
#include "scheduler/offline/recorded_vms.h"
#include "scheduler/plan/plan.h"

#include <stddef.h>

struct goal_words {
	enum plan_goal_kind kind;
	const char *names; /* borrowed; what follows the colon */
};

/* -EINVAL: the text is no goal. */
must_check int goal_words_parse(struct goal_words *out, const char *text,
	struct error *err);

/* Finds what the words name in a recorded state. The caller frees *nodes, to
 * which *out refers. -ENOENT: no such node or VM; -EINVAL: a node is named
 * twice. */
must_check int goal_words_find(struct plan_goal *out, size_t **nodes,
	const struct goal_words *words, const struct recorded_vms *vms,
	struct error *err);
