/* A cluster's history as the file that `plimsoll-simulate --recorded`
 * reads; docs/simulate.md describes it. Pure.
 *
 * The file holds recorded figures only. Reports do not have the sizes and
 * requests of VMs, and an unknown figure is null or left out. */
#pragma once

#include "aggregator/series/rollup.h"
#include "lib/buffer.h"
#include "lib/error.h"

/* The steps of all VMs together: a day of minutes for 23,000 VMs. */
enum { EXPORT_FIGURES_MAX = 32 << 20, EXPORT_STEPS_MAX = 600000 };

/* The least that a VM counts: its names, pods and places in tables take the
 * memory of so many steps. */
enum { EXPORT_VM_FIGURES = 64 };

struct export;

/* Step i covers [from_ms + i * step_ms, from_ms + (i + 1) * step_ms). */
struct export_span {
	uint64_t from_ms, step_ms; /* whole minutes */
	size_t steps;		   /* 1 to EXPORT_STEPS_MAX */
};

struct export_identity {
	const char *namespace, *name, *node;
};

/* Never NULL. */
struct export *export_new(const struct export_span *span);
void export_free(struct export *export); /* NULL is fine */

/* The VM and the node of a pod; before the pod's minutes are added. */
void export_identify(struct export *export, const char *pod_uid,
	const struct export_identity *identity);

/* Adds a minute of a pod, or of the node if pod_uid is "". Ignores minutes
 * outside the span, and those of another node than the pod's. A pod without an
 * identity is a VM of its own on each node. -E2BIG: more than
 * EXPORT_FIGURES_MAX. */
must_check int export_add(struct export *export, const char *node,
	const char *pod_uid, const struct rollup_row *minute,
	struct error *err);

/* Appends the file, one line. */
void export_write(struct buffer *out, const struct export *export);
