/* Which pods moves may help: those that some node rejects only for what the
 * pods there use. Pure. */
#pragma once

#include "scheduler/score/decide.h"

#include <stdbool.h>
#include <stdint.h>

/* Moving VMs away may remove all these reasons: resources, host ports, spread,
 * anti-affinity, measured memory and huge pages, volumes that a pod there uses,
 * and the number of volumes. False for 0. */
bool room_pods_may_fit(uint64_t reasons);

/* No node fits the pod, and at least one may after moves. The targets of
 * migrations do not qualify. */
bool room_pods_qualifies(const struct decision *decision);

/* The reasons of the node of this name; 0: it is not known, or fits. */
uint64_t room_pods_reasons(const struct decision *decision, const char *node);

/* Only measured memory or huge pages reject. Agents measure a little later that
 * a VM left. */
bool room_pods_waits_for_data(uint64_t reasons);
