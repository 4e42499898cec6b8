/* The connections to the aggregators: live load, VMs' profiles, decision
 * records, the records of moves, and questions of users. Each of them has its
 * own connection to every aggregator, so that a long poll blocks nothing
 * else. */
#pragma once

#include "scheduler/loads/aggregator_client.h"
#include "scheduler/loads/decision_upload.h"
#include "scheduler/loads/kin_learner.h"
#include "scheduler/loads/loads.h"
#include "scheduler/loads/move_history.h"
#include "scheduler/loads/move_upload.h"
#include "scheduler/loads/profile_client.h"
#include "scheduler/loads/question_client.h"

struct aggregators {
	struct tls_watch *tls; /* NULL: tcp */
	struct loads *loads;
	struct kin_learner *kin; /* from the VMs' loads */
	struct profile_client *profile_client;
	struct record_upload *decision_upload;
	struct question_client *questions;
	/* NULL without has_moves. */
	struct record_upload *move_upload;
	struct move_history *move_history;
};

/* Connects in the background. Errors as aggregator_client_new() and
 * tls_watch_new(); *out is then closed. */
must_check int aggregators_open(struct aggregators *out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);

/* A zeroed one is fine. */
void aggregators_close(struct aggregators *aggregators);
