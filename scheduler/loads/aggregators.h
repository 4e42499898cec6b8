/* The connections to the aggregators: live load, VMs' profiles, and decision
 * records. Each of the three has its own connection to every aggregator, so
 * that a long poll blocks nothing else. */
#pragma once

#include "scheduler/loads/aggregator_client.h"
#include "scheduler/loads/decision_upload.h"
#include "scheduler/loads/loads.h"
#include "scheduler/loads/profile_client.h"

struct aggregators {
	struct loads *loads;
	struct profile_client *profile_client;
	struct decision_upload *decision_upload;
};

/* Connects in the background. Errors as aggregator_client_new(); *out is then
 * closed. */
must_check int aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);

/* A zeroed one is fine. */
void aggregators_close(struct aggregators *aggregators);
