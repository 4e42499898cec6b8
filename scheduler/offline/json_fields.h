/* Members of a scenario's objects, each within its limits; the files are from
 * outside. *out is untouched on failure.
 *
 * -EBADMSG: not what belongs there; -ERANGE, -E2BIG: beyond the limit. */
#pragma once

#include "kube/json_value.h"
#include "lib/error.h"
#include "scheduler/offline/scenario.h"

#include <stddef.h>
#include <stdint.h>

/* Both ends are within. */
struct scenario_range {
	double min, max;
};

must_check int scenario_number(double *out, const struct value *object,
	const char *key, struct scenario_range range, struct error *err);

/* A whole number from 0 to max. */
must_check int scenario_whole(int64_t *out, const struct value *object,
	const char *key, double max, struct error *err);
must_check int scenario_step(size_t *out, const struct value *object,
	const char *key, size_t max, struct error *err);

/* A copy, which is the caller's: 1 to 253 bytes of UTF-8. */
must_check int scenario_name(char **out, const struct value *object,
	const char *key, struct error *err);

/* A list of at most max; borrowed. */
must_check int scenario_list(const struct value **out,
	const struct value *input, const char *key, size_t max,
	struct error *err);

/* step_s and steps. */
must_check int scenario_time(struct scenario *s, const struct value *input,
	struct error *err);

/* Whether so many VMs of all its steps are not too many. */
must_check int scenario_check_size(const struct scenario *s, size_t vms,
	struct error *err);
