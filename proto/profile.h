/* The profile of a VM: its history in a few figures, which aggregators compute
 * and schedulers request. An unknown figure is NAN. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

enum {
	PROFILE_HOURS = 24,
	PROFILE_NAME_MAX = 254, /* of a namespace or VM, with the NUL */
};

/* X(field) of struct vm_profile. */
#define PROFILE_FIELDS(X)                                                      \
	X(covered_s)  /* how much history there is */                          \
	X(seconds)    /* that count: older history counts less */              \
	X(mean_cores) /* over these seconds */                                 \
	X(stdev_cores)                                                         \
	X(p95_cores)                                                           \
	X(max_cores)                                                           \
	X(mean_memory_bytes)                                                   \
	X(p95_memory_bytes)                                                    \
	X(max_memory_bytes)

struct vm_profile {
#define X(field) double field;
	PROFILE_FIELDS(X)
#undef X
	double mean_cores_by_hour[PROFILE_HOURS]; /* of the day, UTC */
};

struct profile_request {
	char namespace[PROFILE_NAME_MAX];
	char name[PROFILE_NAME_MAX]; /* of the VM */
};

void vm_profile_init(struct vm_profile *profile); /* all unknown */

/* As in proto/wire.h. */
void wire_pack_profile_request(struct buffer *out,
	const struct profile_request *request);
void wire_pack_profile(struct buffer *out, const struct vm_profile *profile);
