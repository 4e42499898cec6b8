/* Uploads decision records: see record_upload.h. */
#pragma once

#include "lib/error.h"
#include "proto/decision.h"
#include "scheduler/loads/record_upload.h"

#include <uv.h>

/* A scheduler that is killed loses the records of this time. */
enum { DECISION_UPLOAD_GATHER_MS = 250 };

/* As record_upload_new(). */
must_check int decision_upload_new(struct record_upload **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);

/* Queues a copy for every aggregator. */
void decision_upload_add(struct record_upload *upload,
	const struct decision_record *record);
