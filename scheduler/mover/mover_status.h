/* GET /v1/rebalance as JSON. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/mover/conflicts.h"
#include "scheduler/mover/gate.h"
#include "scheduler/mover/not_movable.h"
#include "scheduler/mover/proposals.h"
#include "scheduler/rebalance/move_records.h"

#include <stddef.h>
#include <stdint.h>

/* All borrowed. */
struct mover_status {
	const struct gate *gate; /* of GATE_REBALANCE */
	enum mover_mode room_mode;
	const char *why; /* nothing is moved now; "": moves are ordered */
	const char *kubevirt_version;
	struct migration_limits limits; /* of the KubeVirt CR */
	const struct move_records *records;
	const struct proposals *proposals;
	const struct kubevirt *kubevirt; /* NULL: none */
	struct conflicts *conflicts;
	const char *windows_text; /* the flag; "": always */
	double price;
	double copy_pace;	/* seconds for each byte; NAN: not known */
	uint64_t last_round_us; /* since 1970; 0: there was none */
	double round_s;
	const struct not_movable *not_movable;
	size_t nodes, vms, movable; /* of the last round */
	double left;		    /* struct round */
};

/* The number of recommendations that hold now. */
size_t mover_status_recommendations(const struct move_records *records,
	const struct proposals *proposals);

void mover_status_write(struct buffer *out, const struct mover_status *status);

/* The same without a mover. */
void mover_status_write_off(struct buffer *out);
