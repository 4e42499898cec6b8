/* Builds a VM's profile from its minutes. Pure.
 *
 * A minute counts by the part of it that is known. Its weight halves for each
 * day of its age, so that yesterday counts and last week hardly does. The mean,
 * stdev_cores and p95_cores are statistics of the minutes' means; max_cores and
 * max_memory_bytes are the largest single figures. Pods that run at the same
 * time, while the VM migrates, add up. */
#pragma once

#include "aggregator/series/rollup.h"
#include "proto/profile.h"

enum { PROFILE_BUILDER_DAYS = 7 };

struct profile_builder;

/* For the PROFILE_BUILDER_DAYS until now. Never NULL. */
struct profile_builder *profile_builder_new(uint64_t now_ms);
void profile_builder_free(struct profile_builder *builder); /* NULL is fine */

/* The start of the range to read; its end is now. */
uint64_t profile_builder_from_ms(const struct profile_builder *builder);

/* The start of the first minute that is known; the end of the last one, if none
 * is. */
uint64_t profile_builder_first_ms(const struct profile_builder *builder);

/* Adds a minute of one of the VM's pods, in any order. */
void profile_builder_add(struct profile_builder *builder,
	const struct rollup_row *minute);

/* Unknown figures are NAN. */
void profile_builder_fill(struct vm_profile *out,
	const struct profile_builder *builder);
