/* How the fake KubeVirt counts its migrations. Include it in one file of a
 * test. */
#pragma once

#include "tests/unit/scheduler/mover/fake_kubevirt.h"

/* Without target pods, as the inventory counts. */
static inline bool fake_takes_slot(const struct migration *migration)
{
	return !migration_is_finished(migration) &&
		(migration->is_ours || migration->phase != MIGRATION_PENDING);
}

static inline bool fake_goes_first(const struct kubevirt *kubevirt,
	const struct migration *migration)
{
	return !migration_is_finished(migration) && !migration->is_ours &&
		kubevirt_others_state(kubevirt, migration) == OTHERS_GO_FIRST;
}

enum others_state kubevirt_others_state(const struct kubevirt *kubevirt,
	const struct migration *migration)
{
	if (migration->is_over_quota) {
		return OTHERS_OVER_QUOTA;
	}
	return kubevirt->others_are_late ? OTHERS_LATE : OTHERS_GO_FIRST;
}

size_t kubevirt_unfinished(const struct kubevirt *kubevirt)
{
	size_t count = 0;

	for (size_t i = 0; i < kubevirt->migration_count; i++) {
		count += fake_takes_slot(&kubevirt->migrations[i]);
	}
	return count;
}

size_t kubevirt_foreign(const struct kubevirt *kubevirt)
{
	size_t count = 0;

	for (size_t i = 0; i < kubevirt->migration_count; i++) {
		count += fake_goes_first(kubevirt, &kubevirt->migrations[i]);
	}
	return count;
}

void kubevirt_node(const struct kubevirt *kubevirt, const char *name,
	struct kubevirt_node *out)
{
	*out = (struct kubevirt_node){ .drains = kubevirt->drains };
	for (size_t i = 0; i < kubevirt->migration_count; i++) {
		const struct migration *m = &kubevirt->migrations[i];
		bool takes = fake_takes_slot(m);
		bool goes_first = fake_goes_first(kubevirt, m);
		bool leaves = strcmp(m->source, name) == 0;
		bool comes = strcmp(m->target, name) == 0;

		out->out += takes && leaves;
		out->in += takes && comes;
		out->foreign_out += goes_first && leaves;
		out->foreign_in += goes_first && comes;
		if (goes_first && (leaves || comes)) {
			out->work = (struct others_work){ m->namespace,
				m->vmi_name, m->name };
		}
	}
}
