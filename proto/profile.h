/* A VM's own past in a few figures: made by aggregators, asked for by
 * schedulers. NAN is what is not known. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

enum {
	PROFILE_HOURS = 24,
	PROFILE_NAME_MAX = 254, /* of a namespace or VM, with the NUL */
};

/* X(field) of struct vm_past. */
#define PROFILE_FIELDS(X)                                                      \
	X(covered_s)  /* how much of the past is known */                      \
	X(seconds)    /* of it that count: less the longer ago */              \
	X(mean_cores) /* of them */                                            \
	X(stdev_cores)                                                         \
	X(p95_cores)                                                           \
	X(max_cores)                                                           \
	X(mean_memory_bytes)                                                   \
	X(p95_memory_bytes)                                                    \
	X(max_memory_bytes)

struct vm_past {
#define X(field) double field;
	PROFILE_FIELDS(X)
#undef X
	double mean_cores_by_hour[PROFILE_HOURS]; /* of the day, UTC */
};

struct profile_request {
	char namespace[PROFILE_NAME_MAX];
	char name[PROFILE_NAME_MAX]; /* of the VM */
};

void vm_past_init(struct vm_past *past); /* nothing is known */

/* As in proto/wire.h. */
void wire_pack_profile_request(struct buffer *out,
	const struct profile_request *request);
void wire_pack_profile(struct buffer *out, const struct vm_past *past);
