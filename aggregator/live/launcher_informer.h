/* The watch of virt-launcher pods, which says whose pods they are.
 *
 * Without it VMs are pod uids: a cluster that cannot be reached, or a missing
 * right to list pods, takes names away and nothing else. The watch goes on
 * trying, and the log says once how it stands. */
#pragma once

#include "aggregator/live/identity.h"
#include "lib/error.h"

#include <stdint.h>
#include <uv.h>

struct kube_config;
struct launchers;
struct store;

/* Takes what config holds and leaves it empty; identities outlives it. Never
 * NULL. */
struct launchers *launchers_new(uv_loop_t *loop, struct kube_config *config,
	struct identities *identities);

/* To be called every few seconds, while the store is open: says in the log what
 * is different, and to the store whose pods there are, once for each. */
void launchers_look(struct launchers *launchers,
	struct store *store); /* launchers NULL is fine */

void launchers_close(struct launchers *launchers); /* NULL is fine */
