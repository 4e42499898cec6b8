/* Room on the target of a migration that somebody else ordered.
 *
 * A VM counts on both nodes from the order until the source pod ends. A
 * migration that names its host names its target with the order, and the VM
 * counts there at once, as ours do. Any other one counts on its target from
 * the binding of its target pod. */
#pragma once

#include <stdint.h>

struct migration;
struct reservations;
struct vmi;

/* A migration that is not ours changed. vmi: NULL if it is gone. The room of a
 * migration that ends without a target pod is kept for up to
 * RESERVATIONS_ORDER_US. */
void foreign_reservation_keep(struct reservations *reservations,
	const struct migration *migration, const struct vmi *vmi,
	int64_t now_us);
