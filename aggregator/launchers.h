/* The watch of virt-launcher pods, which says whose pods they are.
 *
 * Without it VMs are pod uids: a cluster that cannot be reached, or a missing
 * right to list pods, takes names away and nothing else. The watch goes on
 * trying, and the log says once how it stands. */
#pragma once

#include "aggregator/identity.h"
#include "lib/error.h"

#include <stdint.h>
#include <uv.h>

struct kube_config;
struct launchers;

/* Takes what config holds and leaves it empty; identities outlives it. Never
 * NULL. */
struct launchers *launchers_new(uv_loop_t *loop, struct kube_config *config,
	struct identities *identities);

/* To be called every few seconds: says in the log what is different. */
void launchers_look(struct launchers *launchers); /* NULL is fine */

void launchers_close(struct launchers *launchers); /* NULL is fine */
