#include "scheduler/kubevirt/target_pods.h"

#include "lib/memory.h"
#include "scheduler/kubevirt/packed_texts.h"
#include "scheduler/objects/launcher.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool target_pod_read(struct target_pod *out, const struct json_value *object)
{
	const struct json_value *labels =
		json_value_at(object, "metadata/labels");
	const char *vmi = json_value_text(
		json_value_get(labels, "kubevirt.io/created-by"));

	if (!launcher_is_target(object)) {
		return false;
	}
	*out = (struct target_pod){
		.migration_uid = json_value_text(
			json_value_get(labels, "kubevirt.io/migrationJobUID")),
		.vmi_uid = vmi == NULL ? "" : vmi,
		.node = json_value_text_at(object, "spec/nodeName", ""),
	};
	return true;
}

static struct target_pod *copy_of(const struct target_pod *pod)
{
	const struct packed_text texts[] = {
		{ offsetof(struct target_pod, migration_uid),
			pod->migration_uid },
		{ offsetof(struct target_pod, vmi_uid), pod->vmi_uid },
		{ offsetof(struct target_pod, node), pod->node },
	};

	return packed_texts_new(pod, sizeof(*pod), texts, count_of(texts));
}

void target_pods_fini(struct target_pods *pods)
{
	size_t at = 0;
	void *value;

	while (map_next(&pods->by_uid, &at, NULL, &value)) {
		free(value);
	}
	map_fini(&pods->by_uid);
	map_fini(&pods->by_migration);
	*pods = (struct target_pods){ 0 };
}

static bool is_same(const struct target_pod *a, const struct target_pod *b)
{
	return strcmp(a->migration_uid, b->migration_uid) == 0 &&
		strcmp(a->vmi_uid, b->vmi_uid) == 0 &&
		strcmp(a->node, b->node) == 0;
}

bool target_pods_put(struct target_pods *pods, const char *uid,
	const struct target_pod *pod)
{
	const struct target_pod *old = map_get(&pods->by_uid, uid);
	struct target_pod *fresh;

	if (old != NULL && is_same(old, pod)) {
		return false;
	}
	(void)target_pods_remove(pods, uid);
	fresh = copy_of(pod);
	(void)map_put(&pods->by_uid, uid, fresh);
	(void)map_put(&pods->by_migration, fresh->migration_uid, fresh);
	return true;
}

/* Another pod of the same migration, while one of two is being deleted. */
static struct target_pod *another_of(const struct target_pods *pods,
	const char *migration_uid)
{
	size_t at = 0;
	void *value;

	while (map_next(&pods->by_uid, &at, NULL, &value)) {
		struct target_pod *pod = value;

		if (strcmp(pod->migration_uid, migration_uid) == 0) {
			return pod;
		}
	}
	return NULL;
}

bool target_pods_remove(struct target_pods *pods, const char *uid)
{
	struct target_pod *pod = map_remove(&pods->by_uid, uid);
	struct target_pod *other;

	if (pod == NULL) {
		return false;
	}
	if (map_get(&pods->by_migration, pod->migration_uid) == pod) {
		(void)map_remove(&pods->by_migration, pod->migration_uid);
		other = another_of(pods, pod->migration_uid);
		if (other != NULL) {
			(void)map_put(&pods->by_migration, other->migration_uid,
				other);
		}
	}
	free(pod);
	return true;
}

const struct target_pod *target_pods_of(const struct target_pods *pods,
	const char *migration_uid)
{
	return map_get(&pods->by_migration, migration_uid);
}
