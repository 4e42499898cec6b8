#include "aggregator/live/object_labels.h"

#include "kube/json_value.h"
#include "kube/time.h"
#include "lib/buffer.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

struct object_labels {
	struct map by_key; /* -> struct label_set */
};

struct label_set {
	int64_t created_us;
	size_t len;
	char packed[]; /* key, NUL, value, NUL, ... */
};

struct object_labels *object_labels_new(void)
{
	return xcalloc(1, sizeof(struct object_labels));
}

void object_labels_free(struct object_labels *labels)
{
	size_t at = 0;
	void *set;

	if (labels == NULL) {
		return;
	}
	while (map_next(&labels->by_key, &at, NULL, &set)) {
		free(set);
	}
	map_fini(&labels->by_key);
	free(labels);
}

static void pack(struct buffer *out, const struct json_value *labels)
{
	for (const struct json_value *v = json_value_first(labels); v != NULL;
		v = json_value_next(v)) {
		const char *key = json_value_key(v);
		const char *value = json_value_text(v);

		if (key != NULL && value != NULL &&
			out->len + strlen(key) + strlen(value) + 2 <=
				OBJECT_LABELS_BYTES) {
			buffer_append(out, key, strlen(key) + 1);
			buffer_append(out, value, strlen(value) + 1);
		}
	}
}

void object_labels_put(struct object_labels *labels, const char *key,
	const struct json_value *object)
{
	scoped_buffer struct buffer packed = BUFFER_MAX(OBJECT_LABELS_BYTES);
	const char *created =
		json_value_text_at(object, "metadata/creationTimestamp", NULL);
	struct label_set *set;

	if (labels == NULL) {
		return;
	}
	pack(&packed, json_value_at(object, "metadata/labels"));
	set = xcalloc(1, sizeof(*set) + packed.len);
	set->len = packed.len;
	if (packed.len > 0) {
		memcpy(set->packed, packed.data, packed.len);
	}
	if (created == NULL ||
		time_parse(&set->created_us, created, NULL) < 0) {
		set->created_us = 0;
	}
	free(map_put(&labels->by_key, key, set));
}

void object_labels_remove(struct object_labels *labels, const char *key)
{
	if (labels != NULL) {
		free(map_remove(&labels->by_key, key));
	}
}

const struct label_set *object_labels_find(const struct object_labels *labels,
	const char *key)
{
	return labels == NULL ? NULL : map_get(&labels->by_key, key);
}

int64_t label_set_created_us(const struct label_set *set)
{
	return set == NULL ? 0 : set->created_us;
}

bool label_set_next(const struct label_set *set, size_t *at, const char **key,
	const char **value)
{
	if (set == NULL || *at >= set->len) {
		return false;
	}
	*key = set->packed + *at;
	*value = *key + strlen(*key) + 1;
	*at = (size_t)(*value - set->packed) + strlen(*value) + 1;
	return true;
}

const char *label_set_get(const struct label_set *set, const char *key)
{
	const char *other, *value;
	size_t at = 0;

	while (label_set_next(set, &at, &other, &value)) {
		if (strcmp(other, key) == 0) {
			return value;
		}
	}
	return NULL;
}
