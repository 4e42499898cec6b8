/* Fills PlimsollStatus from the state of the aggregator. */
#pragma once

#include "aggregator/apiserver/status_object.h"
#include "aggregator/http/context.h"

/* Borrows from the sources until the loop runs. listener may be NULL. */
void status_source_fill(struct status_object *out, const struct api *api,
	const struct httpd_listener *listener, bool is_open);
