/* The pasts of VMs, asked of the aggregators: of those that are about to be
 * placed, and, when nobody waits, of those that run and that nobody here placed
 * (before the scheduler was started, or by others).
 *
 * A pod waits for its VM's past PASTS_WAIT_US at most, and not at all where no
 * aggregator is connected; it is then placed as a VM nobody has seen. Answers
 * are remembered for PASTS_KEPT_US, that nothing is known for
 * PASTS_UNKNOWN_US, PASTS_MAX of them, so that a pod that is tried again does
 * not ask again. Of those that run one is asked for every PASTS_RECALL_MS: a
 * past is a week of minutes to read, and a thousand VMs are not in a hurry. */
#pragma once

#include "lib/credentials.h"
#include "lib/error.h"
#include "lib/options.h"
#include "proto/profile.h"
#include "scheduler/cache/cache.h"
#include "scheduler/cache/queue.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum { PASTS_MAX = 4096, PASTS_RECALL_MS = 50 };
#define PASTS_WAIT_US INT64_C(300000)
#define PASTS_KEPT_US INT64_C(60000000)
#define PASTS_UNKNOWN_US INT64_C(5000000)

struct pasts;

struct pasts_options {
	const struct option_list *aggregators; /* their URLs */
	const struct dial_config *dial;	       /* both outlive the pasts */
	/* A pod that was held back in the queue may be placed. */
	void (*on_answer)(void *owner);
	void *owner;
	struct queue *queue; /* pods that wait for their pasts */
	struct cache *cache; /* pods that run; both outlive the pasts */
};

/* Errors as speaker_new(). */
must_check int pasts_new(struct pasts **out, uv_loop_t *loop,
	const struct pasts_options *options, struct error *err);

/* Whether the pod can be placed now: its VM's past, if there is one, is in
 * pod->past then. Else it is not to be tried before the queue says so. */
bool pasts_may_place(struct pasts *pasts, struct waiting *waiting,
	int64_t now_us);

/* There may be strangers in the cache. Cheap if there are none. */
void pasts_recall(struct pasts *pasts);

/* What scoring takes of it; zeroed where nothing is known. */
struct vm_profile pasts_profile(const struct vm_past *past);

void pasts_close(struct pasts *pasts); /* NULL is fine */
