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
	size_t count;
	/* By key: where each label begins in the texts, which follow. */
	uint16_t starts[];
};

static const char *key_at(const struct label_set *set, size_t i)
{
	return (const char *)&set->starts[set->count] + set->starts[i];
}

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

/* Adds the last label to those in order. The API server sends them so. */
static void add_start(uint16_t *starts, size_t count, const char *texts,
	size_t start)
{
	for (; count > 0 &&
		strcmp(texts + starts[count - 1], texts + start) > 0;
		count--) {
		starts[count] = starts[count - 1];
	}
	starts[count] = (uint16_t)start;
}

/* Writes keys and values, each with its NUL. Returns how many there are. */
static size_t pack(struct buffer *out, uint16_t *starts,
	const struct json_value *labels)
{
	size_t count = 0;

	for (const struct json_value *v = json_value_first(labels); v != NULL;
		v = json_value_next(v)) {
		const char *key = json_value_key(v);
		const char *value = json_value_text(v);
		size_t start = out->len;

		if (key != NULL && value != NULL &&
			out->len + strlen(key) + strlen(value) + 2 <=
				OBJECT_LABELS_BYTES) {
			buffer_append(out, key, strlen(key) + 1);
			buffer_append(out, value, strlen(value) + 1);
			add_start(starts, count++, out->data, start);
		}
	}
	return count;
}

void object_labels_put(struct object_labels *labels, const char *key,
	const struct json_value *object)
{
	scoped_buffer struct buffer packed = BUFFER_MAX(OBJECT_LABELS_BYTES);
	const char *created =
		json_value_text_at(object, "metadata/creationTimestamp", NULL);
	uint16_t starts[OBJECT_LABELS_BYTES / 2];
	struct label_set *set;
	size_t count;

	if (labels == NULL) {
		return;
	}
	count = pack(&packed, starts, json_value_at(object, "metadata/labels"));
	set = xcalloc(1, sizeof(*set) + count * sizeof(*starts) + packed.len);
	set->count = count;
	if (count > 0) {
		memcpy(set->starts, starts, count * sizeof(*starts));
		memcpy(&set->starts[count], packed.data, packed.len);
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
	if (set == NULL || *at >= set->count) {
		return false;
	}
	*key = key_at(set, (*at)++);
	*value = *key + strlen(*key) + 1;
	return true;
}

const char *label_set_get(const struct label_set *set, const char *key)
{
	size_t low = 0, high = set == NULL ? 0 : set->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const char *other = key_at(set, middle);
		int order = strcmp(key, other);

		if (order == 0) {
			return other + strlen(other) + 1;
		}
		low = order > 0 ? middle + 1 : low;
		high = order < 0 ? middle : high;
	}
	return NULL;
}
