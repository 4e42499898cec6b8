/* The metrics of the webhook and of the check that something sets the
 * scheduler's name. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/admission/admission_check.h"
#include "scheduler/admission/webhook.h"

/* Appends the series. webhook NULL: there is none. */
void admission_metrics_write(struct buffer *out,
	const struct admission_check *check, const struct webhook *webhook);
