/* The steps of one move: the order, the answer, the end. */
#pragma once

#include "tests/unit/scheduler/mover/mover_bed.h"

static inline void answer(const char *error)
{
	scoped_free char *name =
		xasprintf("plimsoll-%s", fake_kubevirt.move_id);

	fake_kubevirt.options.on_ordered(fake_kubevirt.options.owner,
		fake_kubevirt.move_id, *error == '\0' ? name : "", error);
}

static inline void lose(struct migration *migration)
{
	struct migration gone = *migration;

	fake_kubevirt.migration_count = 0;
	fake_kubevirt.options.on_migration_gone(fake_kubevirt.options.owner,
		&gone);
}

static inline struct migration *order_move(size_t *vm)
{
	const struct move_record *record;

	start(MOVER_AUTOMATIC);
	for (int i = 0; i < 120 && fake_kubevirt.ordered == 0; i++) {
		run(1, 6);
	}
	record = last_sent();
	assert_int_equal(record->state, MOVE_ORDERED);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_string_equal(fake_kubevirt.hostname, "host-node-2");
	assert_true(is_reserved());
	*vm = (size_t)(record->vm[0] - 'a');
	return fake_migration(namespace, names[*vm], MIGRATION_PENDING);
}
