/* Finds out in the background whether a host name can be resolved, for the
 * messages of a connection that fails. The resolver may block for long, so it
 * runs on a thread of its own, which nothing waits for. */
#pragma once

#include <stdbool.h>

struct host_lookup;

/* NULL: the host is a numeric address, or no thread can be started. */
struct host_lookup *host_lookup_start(const char *host);

/* Whether the resolver has answered. NULL: true. */
bool host_lookup_is_over(const struct host_lookup *lookup);

/* Why the host cannot be resolved, in the resolver's words (static); NULL: it
 * can be resolved, or is not known so far. lookup may be NULL. */
const char *host_lookup_error(const struct host_lookup *lookup);

void host_lookup_free(struct host_lookup *lookup); /* NULL is fine */
