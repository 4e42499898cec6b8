/* Uploads the records of moves: see record_upload.h. */
#pragma once

#include "lib/error.h"
#include "proto/move.h"
#include "scheduler/loads/record_upload.h"

#include <uv.h>

/* As record_upload_new(). */
must_check int move_upload_new(struct record_upload **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err);

/* Queues a copy for every aggregator. */
void move_upload_add(struct record_upload *upload,
	const struct move_record *record);
