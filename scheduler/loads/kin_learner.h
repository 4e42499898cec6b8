/* Learns every five minutes how far the VMs' kin move together, in slices of
 * the event loop: cluster/kin_pass.h. A scheduler that does not lead learns
 * too, so that a new leader knows what the old one knew. */
#pragma once

#include "scheduler/cluster/cluster.h"

#include <uv.h>

struct kin_learner;

/* Borrows the cluster until it is closed. Never NULL. */
struct kin_learner *kin_learner_new(uv_loop_t *loop, struct cluster *cluster);

void kin_learner_close(struct kin_learner *learner); /* NULL is fine */
