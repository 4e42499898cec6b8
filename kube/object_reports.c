#include "kube/object_reports.h"

#include "kube/json_value.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- the keys and uids ---- */

struct set_entry {
	uint64_t round; /* of the last object_set_add() */
	char uid[];
};

static struct set_entry *object_new(uint64_t round, const char *uid)
{
	size_t size = strlen(uid) + 1;
	struct set_entry *object = xcalloc(1, sizeof(*object) + size);

	object->round = round;
	memcpy(object->uid, uid, size);
	return object;
}

void object_set_fini(struct object_set *set)
{
	const char *key;
	void *object;
	size_t at = 0;

	while (map_next(&set->objects, &at, &key, &object)) {
		free(object);
	}
	map_fini(&set->objects);
	*set = (struct object_set){ 0 };
}

void object_set_begin(struct object_set *set)
{
	set->round++;
}

char *object_set_add(struct object_set *set, const char *key, const char *uid)
{
	struct set_entry *old = map_get(&set->objects, key);
	char *other = NULL;

	if (old != NULL && strcmp(old->uid, uid) == 0) {
		old->round = set->round;
		return NULL;
	}
	if (old != NULL) {
		other = xstrdup(old->uid);
		free(old);
	}
	(void)map_put(&set->objects, key, object_new(set->round, uid));
	return other;
}

bool object_set_remove(struct object_set *set, const char *key)
{
	void *object = map_remove(&set->objects, key);

	free(object);
	return object != NULL;
}

/* Take the entry out first, because the callback may free the set. */
static bool remove_and_report(struct object_set *set, const char *key,
	object_set_gone gone, void *owner)
{
	scoped_free char *name = xstrdup(key);
	scoped_free struct set_entry *object = map_remove(&set->objects, name);

	return gone(owner, name, object->uid);
}

void object_set_sweep(struct object_set *set, object_set_gone gone, void *owner)
{
	const char *key;
	void *entry;
	size_t at = 0;

	while (map_next(&set->objects, &at, &key, &entry)) {
		const struct set_entry *object = entry;

		if (object->round != set->round &&
			!remove_and_report(set, key, gone, owner)) {
			return;
		}
	}
}

/* ---- reports ---- */

void object_reports_fini(struct object_reports *reports)
{
	object_set_fini(&reports->objects);
}

/* NULL without a name or uid; otherwise the caller frees it. */
static char *read_id(struct reflector_id *id, const struct json_value *object)
{
	const struct json_value *metadata = json_value_get(object, "metadata");

	id->namespace_name = json_value_text_at(metadata, "namespace", "");
	id->name = json_value_text_at(metadata, "name", "");
	id->uid = json_value_text_at(metadata, "uid", "");
	if (id->name[0] == '\0' || id->uid[0] == '\0') {
		return NULL;
	}
	return xasprintf("%s/%s", id->namespace_name, id->name);
}

static bool report_gone(void *owner, const char *key, const char *uid)
{
	struct object_reports *reports = owner;
	const char *slash = strchr(key, '/');
	scoped_free char *ns = xstrndup(key, (size_t)(slash - key));
	struct reflector_id id = {
		.namespace_name = ns,
		.name = slash + 1,
		.uid = uid,
	};

	reports->handler.on_deleted(reports->handler.owner, &id);
	return !reports->is_closed;
}

void object_reports_begin_all(struct object_reports *reports)
{
	object_set_begin(&reports->objects);
}

bool object_reports_end_all(struct object_reports *reports)
{
	object_set_sweep(&reports->objects, report_gone, reports);
	if (!reports->is_closed && !reports->is_synced) {
		reports->is_synced = true;
		reports->handler.on_synced(reports->handler.owner);
	}
	return !reports->is_closed;
}

bool object_reports_add(struct object_reports *reports,
	const struct json_value *object)
{
	struct reflector_id id;
	scoped_free char *key = read_id(&id, object);
	scoped_free char *other = NULL;

	if (key == NULL) {
		return true;
	}
	other = object_set_add(&reports->objects, key, id.uid);
	if (other != NULL && !report_gone(reports, key, other)) {
		return false;
	}
	reports->handler.on_object(reports->handler.owner, &id, object);
	return !reports->is_closed;
}

bool object_reports_remove(struct object_reports *reports,
	const struct json_value *object)
{
	struct reflector_id id;
	scoped_free char *key = read_id(&id, object);

	return key == NULL || !object_set_remove(&reports->objects, key) ||
		report_gone(reports, key, id.uid);
}
