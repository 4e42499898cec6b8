/* Where a VM or pod is now, or why it waits: by its own status, the condition
 * PodScheduled and the last event. */
#pragma once

#include "lib/error.h"

struct buffer;
struct api_client;

/* Each appends lines about one object of the cluster's namespace.
 * -ENOENT: there is none. */
must_check int pending_vm(struct buffer *out, struct api_client *client,
	const char *name, struct error *err);
must_check int pending_pod(struct buffer *out, struct api_client *client,
	const char *name, struct error *err);
