#include "scheduler/kubevirt/migration.h"

#include "kube/time.h"
#include "lib/memory.h"
#include "scheduler/kubevirt/conditions.h"
#include "scheduler/kubevirt/packed_texts.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum migration_phase phase;
} phases[] = {
	{ "", MIGRATION_PENDING },
	{ "Pending", MIGRATION_PENDING },
	{ "WaitingForSync", MIGRATION_PENDING },
	{ "Synchronizing", MIGRATION_PENDING },
	{ "Scheduling", MIGRATION_SCHEDULING },
	{ "Scheduled", MIGRATION_SCHEDULING },
	{ "Succeeded", MIGRATION_SUCCEEDED },
	{ "Failed", MIGRATION_FAILED },
};

/* The source of a migration between clusters has no target pod here, and takes
 * no slot of KubeVirt before its phase is Scheduled. */
static bool is_source_alone(const struct json_value *spec)
{
	return json_value_get(spec, "sendTo") != NULL &&
		json_value_get(spec, "receive") == NULL;
}

static enum migration_phase phase_of(const struct json_value *object)
{
	const char *name = json_value_text_at(object, "status/phase", "");

	if (strcmp(name, "Scheduling") == 0 &&
		is_source_alone(json_value_get(object, "spec"))) {
		return MIGRATION_PENDING;
	}
	for (size_t i = 0; i < count_of(phases); i++) {
		if (strcmp(phases[i].name, name) == 0) {
			return phases[i].phase;
		}
	}
	return MIGRATION_RUNNING;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A label whose key has a slash. */
static const char *label_of(const struct json_value *meta, const char *key)
{
	const char *text = json_value_text(
		json_value_get(json_value_get(meta, "labels"), key));

	return text == NULL ? "" : text;
}

static const char *hostname_of(const struct json_value *object)
{
	const char *text = json_value_text(
		json_value_get(json_value_at(object, "spec/addedNodeSelector"),
			"kubernetes.io/hostname"));

	return text == NULL ? "" : text;
}

/* The value of our label if the name is made of it; else "". */
static const char *move_id_of(const struct json_value *meta)
{
	const char *id = label_of(meta, KUBEVIRT_MOVE_LABEL);
	const char *name = json_value_text_at(meta, "name", "");
	size_t prefix = sizeof(KUBEVIRT_MOVE_PREFIX) - 1;

	return has_prefix(name, KUBEVIRT_MOVE_PREFIX) &&
			strcmp(name + prefix, id) == 0
		? id
		: "";
}

static struct migration *with_texts(const struct migration *head,
	const struct json_value *object)
{
	const struct json_value *meta = json_value_get(object, "metadata");
#define TEXT(member, text)                                                     \
	{                                                                      \
		offsetof(struct migration, member), text                       \
	}
	const struct packed_text texts[] = {
		TEXT(namespace, json_value_text_at(meta, "namespace", "")),
		TEXT(name, json_value_text_at(meta, "name", "")),
		TEXT(uid, json_value_text_at(meta, "uid", "")),
		TEXT(vmi_name, json_value_text_at(object, "spec/vmiName", "")),
		TEXT(move_id, move_id_of(meta)),
		TEXT(hostname, hostname_of(object)),
	};
#undef TEXT

	return packed_texts_new(head, sizeof(*head), texts, count_of(texts));
}

static int64_t created_us(const struct json_value *meta)
{
	const char *text = json_value_text_at(meta, "creationTimestamp", "");
	int64_t wall_us = 0;

	return time_parse(&wall_us, text, NULL) == 0 ? wall_us : 0;
}

int migration_read(struct migration **out, const struct json_value *object,
	struct error *err)
{
	const struct json_value *meta = json_value_get(object, "metadata");
	const struct json_value *state =
		json_value_at(object, "status/migrationState");
	const char *name = json_value_text_at(meta, "name", "");
	struct migration head = {
		.is_ours = *move_id_of(meta) != '\0',
		.is_evacuation = has_prefix(name, "kubevirt-evacuation-"),
		.is_update = has_prefix(name, "kubevirt-workload-update-"),
		.is_deleting =
			json_value_get(meta, "deletionTimestamp") != NULL,
		.is_over_quota = condition_is_true(
			condition_find(json_value_get(object, "status"),
				"migrationRejectedByResourceQuota")),
		.phase = phase_of(object),
		.created_wall_us = created_us(meta),
	};

	if (*name == '\0' || *json_value_text_at(meta, "uid", "") == '\0' ||
		*json_value_text_at(object, "spec/vmiName", "") == '\0') {
		return error_set(err, -EBADMSG,
			"a migration has no name, no uid or no VMI");
	}
	*out = with_texts(&head, object);
	(*out)->source = xstrdup(json_value_text_at(state, "sourceNode", ""));
	(*out)->target = xstrdup(json_value_text_at(state, "targetNode", ""));
	return 0;
}

void migration_set_nodes(struct migration *migration, const char *source,
	const char *target)
{
	char *copies[] = { xstrdup(source), xstrdup(target) };

	free(migration->source);
	free(migration->target);
	migration->source = copies[0];
	migration->target = copies[1];
}

void migration_free(struct migration *migration)
{
	if (migration != NULL) {
		free(migration->source);
		free(migration->target);
		free(migration);
	}
}
