/* Differences between the versions of kube-scheduler.
 *
 * kube-scheduler is as old as the API server, or one version older, so the
 * version of the API server chooses. That version does not show feature gates:
 * the defaults are assumed, and an override changes one row. Versions before
 * 1.36 decide as 1.36 does, but for the rows that name an older version. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The minor version that the tests know best. */
enum { BEHAVIOURS_NEWEST = 37 };

/* The rows of the table; docs/parity.md lists them. */
enum behaviour {
	BEHAVIOUR_DECLARED_FEATURES,
	BEHAVIOUR_BIND_MOUNT_OPTIONS,
	BEHAVIOUR_RESIZE_BY_SUMS,
	BEHAVIOUR_CSI_DRIVER_MISSING,
	BEHAVIOUR_NODE_NAME_FIRST,
	BEHAVIOUR_GATED_NOMINATIONS,
	BEHAVIOURS,
};

/* Zeroed: those of the newest version. */
struct behaviours {
	uint32_t off; /* a bit for each row that is off */
};

/* Rows that a person set. Zeroed: none. */
struct behaviour_overrides {
	uint32_t on, off;
};

static inline bool behaviours_have(struct behaviours behaviours,
	enum behaviour row)
{
	return (behaviours.off >> row & 1) == 0;
}

/* "resize-by-sums". */
const char *behaviour_name(enum behaviour row);

/* minor: 36 for Kubernetes 1.36. */
struct behaviours behaviours_of(int minor,
	const struct behaviour_overrides *overrides);

/* Reads "1.36", "v1.36.3" or "v1.37.0-rc.1+build". -EINVAL: not a version of
 * Kubernetes 1. */
must_check int behaviours_read_version(int *minor, const char *text,
	struct error *err);

/* Adds "resize-by-sums=off". -EINVAL: no such row, or neither on nor off. */
must_check int behaviours_override(struct behaviour_overrides *overrides,
	const char *text, struct error *err);

/* Appends the names of the rows that are on, with spaces. */
void behaviours_describe(struct buffer *out, struct behaviours behaviours);
