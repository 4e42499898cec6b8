/* The pasts of the VMs that are about to be placed, asked of the aggregators.
 *
 * A pod waits for its VM's past PASTS_WAIT_US at most, and not at all where no
 * aggregator is connected; it is then placed as a VM nobody has seen. Answers
 * are remembered for PASTS_KEPT_US, that nothing is known for
 * PASTS_UNKNOWN_US, PASTS_MAX of them, so that a pod that is tried again does
 * not ask again. */
#pragma once

#include "lib/dial.h"
#include "lib/error.h"
#include "lib/options.h"
#include "proto/profile.h"
#include "scheduler/queue.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum { PASTS_MAX = 4096 };
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
	struct queue *queue;
};

/* Errors as speaker_new(). */
must_check int pasts_new(struct pasts **out, uv_loop_t *loop,
	const struct pasts_options *options, struct error *err);

/* Whether the pod can be placed now: its VM's past, if there is one, is in
 * pod->past then. Else it is not to be tried before the queue says so. */
bool pasts_may_place(struct pasts *pasts, struct waiting *waiting,
	int64_t now_us);

/* What scoring takes of it; zeroed where nothing is known. */
struct vm_profile pasts_profile(const struct vm_past *past);

void pasts_close(struct pasts *pasts); /* NULL is fine */
