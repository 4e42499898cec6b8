/* A VM's past in a few figures, made of its minutes. Pure.
 *
 * A minute counts by the time that is known of it, and half as much for each
 * day that it is back, so that yesterday counts and last week hardly does. All
 * figures are of the minutes' means: stdev_cores and p95_cores say how they
 * differ, max_cores and max_memory_bytes are the largest single figures. Pods
 * that run at the same time, while the VM moves, add up. */
#pragma once

#include "aggregator/series/rollup.h"
#include "proto/profile.h"

#include <stdint.h>

enum { VM_PROFILE_DAYS = 7 };

struct vm_profile;

/* Of the VM_PROFILE_DAYS until now. Never NULL. */
struct vm_profile *vm_profile_new(uint64_t now_ms);
void vm_profile_free(struct vm_profile *profile); /* NULL is fine */

/* Where to read from; the end is now. */
uint64_t vm_profile_from_ms(const struct vm_profile *profile);

/* Minutes of any of its pods, in any order. */
void vm_profile_add(struct vm_profile *profile,
	const struct rollup_row *minute);

/* What is not known is NAN. */
void vm_profile_fill(struct vm_past *out, const struct vm_profile *profile);
