/* Migrations that somebody else ordered, of VMs that the mover moved. */
#pragma once

#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/mover/conflicts.h"
#include "scheduler/mover/recorder.h"

struct cache;

/* All borrowed. */
struct foreign_moves {
	struct recorder *recorder;
	struct kubevirt *kubevirt;
	const struct cache *cache;
	struct conflicts *conflicts;
};

/* A VM that is not where the last leader moved it was moved by somebody else.
 * The migration that did so may be long over. */
void foreign_moves_restore(struct foreign_moves *foreign, struct moment now);

/* A migration that is not ours changed. vmi: NULL if it is gone. */
void foreign_moves_observe(struct foreign_moves *foreign,
	const struct migration *migration, const struct vmi *vmi,
	struct moment now);
