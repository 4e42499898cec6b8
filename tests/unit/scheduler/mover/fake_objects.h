/* VMIs and migrations of the fake KubeVirt. */
#pragma once

#include "tests/unit/scheduler/mover/fake_counts.h"

static char fake_nothing[1];

/* A running VMI; the texts are borrowed. */
static inline struct vmi *fake_vmi(char *name, char *uid, char *node)
{
	struct vmi *vmi = &fake_kubevirt.vmis[fake_kubevirt.vmi_count++];

	assert_true(fake_kubevirt.vmi_count <= FAKE_VMIS);
	*vmi = (struct vmi){ .namespace = fake_nothing,
		.name = name,
		.uid = uid,
		.node = node,
		.evacuating = fake_nothing,
		.is_running = true,
		.is_migratable = true,
		.why_not = fake_nothing };
	return vmi;
}

/* The state of the VMI's migration, which is empty at first. */
static inline struct vmi_migration *fake_state(struct vmi *vmi)
{
	struct vmi_migration *state =
		&fake_kubevirt.states[vmi - fake_kubevirt.vmis];

	if (vmi->migration == NULL) {
		*state = (struct vmi_migration){ .uid = fake_nothing,
			.failure_reason = fake_nothing,
			.source = fake_nothing,
			.target = fake_nothing };
		vmi->migration = state;
	}
	return state;
}

/* Our migration of the last order. */
static inline struct migration *fake_migration(char *namespace, char *vmi_name,
	enum migration_phase phase)
{
	struct migration *migration =
		&fake_kubevirt.migrations[fake_kubevirt.migration_count++];
	static char uid[] = "migration-uid";
	static char name[] = "plimsoll-move-1";

	*migration = (struct migration){ .namespace = namespace,
		.name = name,
		.uid = uid,
		.vmi_name = vmi_name,
		.move_id = fake_kubevirt.move_id,
		.source = fake_nothing,
		.target = fake_nothing,
		.hostname = fake_kubevirt.hostname,
		.is_ours = true,
		.phase = phase };
	return migration;
}

const struct vmi *kubevirt_vmi_named(const struct kubevirt *kubevirt,
	const char *namespace, const char *name)
{
	for (size_t i = 0; i < kubevirt->vmi_count; i++) {
		const struct vmi *vmi = &kubevirt->vmis[i];

		if (strcmp(vmi->namespace, namespace) == 0 &&
			strcmp(vmi->name, name) == 0) {
			return vmi;
		}
	}
	return NULL;
}

void kubevirt_poll(struct kubevirt *kubevirt)
{
	(void)kubevirt;
}

const char *kubevirt_version(const struct kubevirt *kubevirt)
{
	(void)kubevirt;
	return "v1.9.0";
}

void kubevirt_cancel(struct kubevirt *kubevirt, const char *move_id)
{
	(void)move_id;
	kubevirt->cancelled++;
}
