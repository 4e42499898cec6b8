/* Which nodes the live table forgets: those that left the cluster. Pure: time
 * is an argument.
 *
 * A node is removed
 * - when its newest sample is older than the limit;
 * - when its Node object was deleted, and it is not fresh any more;
 * - when it is lost and has no Node object. That takes a complete list of the
 *   Node objects: without one, nothing is known about them.
 *
 * A node whose agent still reports is never removed, because it would be back
 * with the next report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct forget;
struct live;

/* limit_us is at least 5 min, the age of lost nodes. Never NULL. */
struct forget *forget_new(uint64_t limit_us);
void forget_free(struct forget *forget); /* NULL is fine */

/* The API server says this about Node objects. */
void forget_object_exists(struct forget *forget, const char *name);
void forget_object_deleted(struct forget *forget, const char *name);
void forget_objects_listed(struct forget *forget); /* all of them */

/* True: the sample of a node is too old for the live table. */
bool forget_is_over(const struct forget *forget, uint64_t age_us);

/* Removes the nodes that are due from the table. Returns their number; *first
 * is the name of one of them, or NULL, and the caller frees it. */
size_t forget_run(struct forget *forget, struct live *live, uint64_t now_us,
	char **first);

/* The same, and logs it. */
void forget_poll(struct forget *forget, struct live *live, uint64_t now_us);
