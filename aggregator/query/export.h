/* A cluster's past as the file that `plimsoll-scheduler simulate --recorded`
 * reads; docs/simulate.md describes it. Pure.
 *
 * It holds what was recorded and no more: how large VMs are and what they
 * requested no report says, and what is not known is null or not there. */
#pragma once

#include "aggregator/series/rollup.h"
#include "lib/buffer.h"
#include "lib/error.h"

#include <stddef.h>
#include <stdint.h>

/* Steps of all VMs together: a day of minutes of 23,000 VMs. */
enum { EXPORT_FIGURES_MAX = 32 << 20, EXPORT_STEPS_MAX = 600000 };

struct export;

/* Step i covers [from_ms + i * step_ms, from_ms + (i + 1) * step_ms). */
struct export_span {
	uint64_t from_ms, step_ms; /* whole minutes */
	size_t steps;		   /* 1 to EXPORT_STEPS_MAX */
};

/* Never NULL. */
struct export *export_new(const struct export_span *span);
void export_free(struct export *export); /* NULL is fine */

/* Whose a pod is; before its minutes are added. */
void export_identify(struct export *export, const char *pod_uid,
	const char *namespace, const char *name);

/* A minute of a node, or with pod_uid not "" of a pod. What lies outside the
 * span is not taken. -E2BIG: more than EXPORT_FIGURES_MAX. */
must_check int export_add(struct export *export, const char *node,
	const char *pod_uid, const struct rollup_row *minute,
	struct error *err);

/* Appends the file, one line. */
void export_write(struct buffer *out, const struct export *export);
