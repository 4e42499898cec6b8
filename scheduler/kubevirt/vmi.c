#include "scheduler/kubevirt/vmi.h"

#include "kube/quantity.h"
#include "kube/time.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "scheduler/kubevirt/conditions.h"
#include "scheduler/kubevirt/packed_texts.h"
#include "scheduler/launcher/launcher_needs.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char not_told[] =
	"KubeVirt has not said yet whether it can be "
	"migrated";

static const char *why_not(const struct json_value *condition)
{
	const char *message = json_value_text_at(condition, "message", "");

	if (condition == NULL) {
		return not_told;
	}
	if (condition_is_true(condition)) {
		return "";
	}
	return *message != '\0' ? message
				: json_value_text_at(condition, "reason", "");
}

static int64_t time_at(const struct json_value *object, const char *key)
{
	int64_t wall_us = 0;
	const char *text = json_value_text_at(object, key, "");

	return *text != '\0' && time_parse(&wall_us, text, NULL) == 0 ? wall_us
								      : 0;
}

static bool is_final(const char *phase)
{
	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

/* status.memory has the memory after hotplug. */
static double guest_bytes_of(const struct json_value *object)
{
	static const char *const paths[] = { "status/memory/guestCurrent",
		"spec/domain/memory/guest" };
	struct quantity bytes;

	for (size_t i = 0; i < count_of(paths); i++) {
		const char *text = json_value_text_at(object, paths[i], "");

		if (*text != '\0' && quantity_parse(&bytes, text, NULL) == 0) {
			return (double)quantity_units(bytes);
		}
	}
	return 0;
}

#define TEXT(type, member, from, path)                                         \
	{                                                                      \
		offsetof(type, member), json_value_text_at(from, path, "")     \
	}

/* NULL: there was none. */
static struct vmi_migration *read_migration(const struct json_value *state)
{
	const struct vmi_migration head = {
		.started_wall_us = time_at(state, "startTimestamp"),
		.ended_wall_us = time_at(state, "endTimestamp"),
		.has_failed = json_value_true(json_value_get(state, "failed")),
		.is_completed =
			json_value_true(json_value_get(state, "completed")),
	};
	const struct packed_text texts[] = {
		TEXT(struct vmi_migration, uid, state, "migrationUid"),
		TEXT(struct vmi_migration, failure_reason, state,
			"failureReason"),
		TEXT(struct vmi_migration, source, state, "sourceNode"),
		TEXT(struct vmi_migration, target, state, "targetNode"),
	};

	return state == NULL
		? NULL
		: packed_texts_new(&head, sizeof(head), texts, count_of(texts));
}

static void read_status(struct vmi *vmi, const struct json_value *status)
{
	const char *phase = json_value_text_at(status, "phase", "");
	const struct json_value *migration =
		json_value_get(status, "migrationState");

	vmi->is_running = strcmp(phase, "Running") == 0;
	vmi->is_migratable =
		condition_is_true(condition_find(status, "LiveMigratable"));
	vmi->copies_disks =
		strcmp(json_value_text_at(status, "migrationMethod", ""),
			"BlockMigration") == 0;
	vmi->migration = read_migration(migration);
	vmi->is_migrating = !is_final(phase) && vmi->migration != NULL &&
		!vmi->migration->has_failed && !vmi->migration->is_completed &&
		*vmi->migration->uid != '\0';
}

/* A longer text would be cut. */
static void list_pods(struct buffer *out, const struct json_value *active)
{
	const struct json_value *v = json_value_first(active);

	buffer_text(out, "");
	for (; v != NULL; v = json_value_next(v)) {
		const char *uid = json_value_key(v);

		if (uid != NULL && out->len + strlen(uid) < PACKED_TEXT_MAX) {
			buffer_printf(out, "%s\n", uid);
		}
	}
}

static struct vmi *with_texts(const struct vmi *vmi,
	const struct json_value *object, const char *active_pods)
{
	const struct json_value *status = json_value_get(object, "status");
	const struct packed_text texts[] = {
		TEXT(struct vmi, namespace, object, "metadata/namespace"),
		TEXT(struct vmi, name, object, "metadata/name"),
		TEXT(struct vmi, uid, object, "metadata/uid"),
		TEXT(struct vmi, node, status, "nodeName"),
		TEXT(struct vmi, evacuating, status, "evacuationNodeName"),
		{ offsetof(struct vmi, active_pods), active_pods },
		{ offsetof(struct vmi, why_not),
			why_not(condition_find(status, "LiveMigratable")) },
	};

	return packed_texts_new(vmi, sizeof(*vmi), texts, count_of(texts));
}

static int read_labels(struct vmi *vmi, struct interner *interner,
	const struct json_value *labels, struct error *err)
{
	if (json_value_count(labels) > VMI_LABELS_MAX) {
		return error_set(err, -E2BIG, "more than %d labels",
			VMI_LABELS_MAX);
	}
	return labels_read(&vmi->labels, interner, labels, err);
}

int vmi_read(struct vmi **out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	const struct json_value *meta = json_value_get(object, "metadata");
	const char *name = json_value_text_at(meta, "name", "");
	scoped_buffer struct buffer pods = BUFFER_MAX(PACKED_TEXT_MAX + 1);
	struct vmi vmi = { 0 };
	int r;

	if (*name == '\0' || *json_value_text_at(meta, "uid", "") == '\0') {
		return error_set(err, -EBADMSG, "a VMI has no name or no uid");
	}
	r = read_labels(&vmi, interner, json_value_get(meta, "labels"), err);
	if (r < 0) {
		return error_wrap(err, r, "VMI '%.100s'", name);
	}
	vmi.consent = consent_read(json_value_get(meta, "annotations"));
	read_status(&vmi, json_value_get(object, "status"));
	vmi.guest_bytes = guest_bytes_of(object);
	vmi.cpus = launcher_needs_cpus(object);
	vmi.is_dedicated = json_value_true(
		json_value_at(object, "spec/domain/cpu/dedicatedCpuPlacement"));
	launcher_vm_read(&vmi.launcher, interner, object);
	if (json_value_get(meta, "deletionTimestamp") != NULL) {
		vmi.is_running = false;
	}
	list_pods(&pods, json_value_at(object, "status/activePods"));
	*out = with_texts(&vmi, object, pods.data);
	return 0;
}

void vmi_free(struct vmi *vmi, struct interner *interner)
{
	if (vmi != NULL) {
		free(vmi->migration);
		labels_fini(&vmi->labels, interner);
		launcher_vm_fini(&vmi->launcher, interner);
		free(vmi);
	}
}

const struct vmi_migration *vmi_last_migration(const struct vmi *vmi)
{
	static char nothing[1];
	static const struct vmi_migration none = { .uid = nothing,
		.failure_reason = nothing,
		.source = nothing,
		.target = nothing };

	return vmi == NULL || vmi->migration == NULL ? &none : vmi->migration;
}

const struct vmi_migration *vmi_migration_state(const struct vmi *vmi,
	const char *uid)
{
	const struct vmi_migration *last = vmi_last_migration(vmi);

	return strcmp(last->uid, uid) == 0 ? last : vmi_last_migration(NULL);
}

bool vmi_is_evacuating(const struct vmi *vmi)
{
	return *vmi->evacuating != '\0' &&
		strcmp(vmi->evacuating, vmi->node) == 0;
}

bool vmi_has_same_pods(const struct vmi *a, const struct vmi *b)
{
	return a->cpus == b->cpus && a->is_dedicated == b->is_dedicated &&
		strcmp(a->active_pods, b->active_pods) == 0 &&
		strcmp(a->namespace, b->namespace) == 0;
}

bool vmi_has_same_migration(const struct vmi *a, const struct vmi *b)
{
	const struct vmi_migration *one = vmi_last_migration(a);
	const struct vmi_migration *other = vmi_last_migration(b);

	return a->is_migrating == b->is_migrating &&
		one->has_failed == other->has_failed &&
		one->is_completed == other->is_completed &&
		one->started_wall_us == other->started_wall_us &&
		one->ended_wall_us == other->ended_wall_us &&
		strcmp(one->uid, other->uid) == 0 &&
		strcmp(one->failure_reason, other->failure_reason) == 0 &&
		strcmp(one->source, other->source) == 0 &&
		strcmp(one->target, other->target) == 0;
}
