/* The connections to the aggregators: live load, VMs' pasts, and where records
 * of decisions go. Each has one of its own to every aggregator, so that a long
 * poll holds up nothing else. */
#pragma once

#include "scheduler/loads/loads.h"
#include "scheduler/loads/profile_client.h"
#include "scheduler/loads/decision_upload.h"

struct aggregators {
	struct loads *loads;
	struct pasts *pasts;
	struct records *records;
};

struct aggregators_options {
	const struct option_list *urls;
	const struct dial_config *dial; /* both outlive the connections */
	struct queue *queue;		/* pods that wait for pasts are here */
	struct cache *cache;		/* and pods that run are here */
	loads_node on_node;
	void (*on_past)(void *owner); /* a pod need not wait any longer */
	void *owner;
};

/* Connects in the background. Errors as speaker_new(); *out is then closed. */
must_check int aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);

/* A zeroed one is fine. */
void aggregators_close(struct aggregators *aggregators);
