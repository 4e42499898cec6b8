/* VM pods with whose they are, where they run and their latest figures. While a
 * VM moves it has two. */
#pragma once

#include "aggregator/live/live.h"
#include "lib/json.h"

#include <stddef.h>
#include <stdint.h>

struct identities;

struct vms_view {
	const struct live *live;
	const struct identities *identities; /* or NULL */
	uint64_t now_us;		     /* the time that ages count to */
};

/* Writes {"namespace","name","vmi_uid","pod_uid","node","age_s","state",
 * figures} for each VM pod of the node into the array that is open; the first
 * three only where they are known. */
void vms_write_node(struct json *j, const struct vms_view *view,
	const struct live_node *node);

/* The same for each pod of one VM, on whatever node. */
void vms_write_named(struct json *j, const struct vms_view *view,
	const char *namespace, const char *name);

/* Whether there is such a pod. */
bool vms_is_running(const struct vms_view *view, const char *namespace,
	const char *name);
