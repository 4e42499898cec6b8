/* Deletes what is older than the retention time, in steps small enough not to
 * hold up a commit. On the writer's thread, between its commits. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

struct retention;
struct sqlite3;

/* db outlives it. */
must_check int retention_new(struct retention **out, struct sqlite3 *db,
	uint64_t kept_us, struct error *err);
void retention_free(struct retention *retention); /* NULL is fine */

/* When the next step is due, on the monotonic clock. */
uint64_t retention_due_us(const struct retention *retention);

/* Does a step if one is due; else nothing. */
must_check int retention_step(struct retention *retention, struct error *err);
