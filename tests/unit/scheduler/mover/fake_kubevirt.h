/* KubeVirt as a test wants it: the functions of kubevirt/kubevirt.h on plain
 * arrays. Include it in one file of a test. */
#pragma once

#include "lib/memory.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/mover/fake_next_pod.h"

#include <stdio.h>
#include <string.h>

enum { FAKE_VMIS = 16, FAKE_MIGRATIONS = 8 };

struct kubevirt {
	struct kubevirt_options options;
	struct vmi vmis[FAKE_VMIS];
	struct vmi_migration states[FAKE_VMIS]; /* of these */
	size_t vmi_count;
	struct migration migrations[FAKE_MIGRATIONS];
	size_t migration_count;
	const char *not_ready, *not_ordering; /* NULL: all is well */
	struct migration_limits limits;
	bool others_are_late;
	unsigned drains; /* of each node */
	unsigned ordered, cancelled;
	char move_id[64], hostname[64]; /* of the last order */
};

static struct kubevirt fake_kubevirt;

static inline void fake_reset(void)
{
	fake_kubevirt = (struct kubevirt){
		.limits = { .per_cluster = 5,
			.out_of_node = 2,
			.timeout_per_gib_s = 150 },
	};
}

struct kubevirt *kubevirt_new(struct kube_client *client,
	const struct kubevirt_options *options)
{
	(void)client;
	fake_kubevirt.options = *options;
	return &fake_kubevirt;
}

void kubevirt_close(struct kubevirt *kubevirt)
{
	(void)kubevirt;
}

static inline bool fake_answer(const char * not, struct buffer *why)
{
	if (not != NULL) {
		buffer_text(why, not );
	}
	return not == NULL;
}

bool kubevirt_is_ready(const struct kubevirt *kubevirt, struct buffer *why)
{
	return fake_answer(kubevirt->not_ready, why);
}

bool kubevirt_knows_vmis(const struct kubevirt *kubevirt)
{
	return kubevirt->not_ready == NULL;
}

bool kubevirt_may_order(const struct kubevirt *kubevirt, struct buffer *why)
{
	return fake_answer(kubevirt->not_ordering, why);
}

#ifndef FAKE_OWN_VMIS
const struct vmi *kubevirt_vmi(const struct kubevirt *kubevirt, const char *uid)
{
	for (size_t i = 0; i < kubevirt->vmi_count; i++) {
		if (strcmp(kubevirt->vmis[i].uid, uid) == 0) {
			return &kubevirt->vmis[i];
		}
	}
	return NULL;
}
#endif

const struct migration *kubevirt_migration_of(const struct kubevirt *kubevirt,
	const char *namespace, const char *vmi_name)
{
	for (size_t i = 0; i < kubevirt->migration_count; i++) {
		const struct migration *m = &kubevirt->migrations[i];

		if (!migration_is_finished(m) &&
			strcmp(m->namespace, namespace) == 0 &&
			strcmp(m->vmi_name, vmi_name) == 0) {
			return m;
		}
	}
	return NULL;
}

const struct migration *kubevirt_next_migration(const struct kubevirt *kubevirt,
	size_t *at)
{
	return *at < kubevirt->migration_count ? &kubevirt->migrations[(*at)++]
					       : NULL;
}

void kubevirt_limits(const struct kubevirt *kubevirt, const struct vmi *vmi,
	struct migration_limits *out)
{
	(void)vmi;
	*out = kubevirt->limits;
}

void kubevirt_cluster_limits(const struct kubevirt *kubevirt,
	struct migration_limits *out)
{
	*out = kubevirt->limits;
}

void kubevirt_order(struct kubevirt *kubevirt,
	const struct kubevirt_order *order)
{
	kubevirt->ordered++;
	(void)snprintf(kubevirt->move_id, sizeof(kubevirt->move_id), "%s",
		order->move_id);
	(void)snprintf(kubevirt->hostname, sizeof(kubevirt->hostname), "%s",
		order->hostname);
}
