#include "scheduler/labels.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/memory.h"

struct pair {
	uint32_t key, value;
};

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a;
	const struct pair *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

int labels_read(struct labels *out, struct names *names,
	const struct value *object, struct error *err)
{
	struct labels labels = { 0 };
	size_t count = value_count(object);
	scoped_free struct pair *pairs = NULL;
	const struct value *v;
	size_t i = 0;

	if (object == NULL || value_is_null(object)) {
		*out = labels;
		return 0;
	}
	if (!value_is_object(object)) {
		return error_set(err, -EBADMSG, "labels are not an object");
	}
	if (count > LABELS_MAX) {
		return error_set(err, -E2BIG, "more than %d labels",
			LABELS_MAX);
	}
	for (v = value_first(object); v != NULL; v = value_next(v)) {
		if (value_text(v) == NULL) {
			return error_set(err, -EBADMSG,
				"label '%s' is not a string", value_key(v));
		}
	}

	pairs = xcalloc(count + 1, sizeof(*pairs));
	for (v = value_first(object); v != NULL; v = value_next(v)) {
		pairs[i].key = names_hold(names, value_key(v));
		pairs[i].value = names_hold(names, value_text(v));
		i++;
	}
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	labels.keys = xcalloc(count * 2 + 1, sizeof(*labels.keys));
	labels.count = count;
	for (i = 0; i < count; i++) {
		labels.keys[i] = pairs[i].key;
		labels.keys[count + i] = pairs[i].value;
	}
	*out = labels;
	return 0;
}

void labels_fini(struct labels *labels, struct names *names)
{
	for (size_t i = 0; i < labels->count * 2; i++) {
		names_drop(names, labels->keys[i]);
	}
	free(labels->keys);
	*labels = (struct labels){ 0 };
}

uint32_t labels_get(const struct labels *labels, uint32_t key)
{
	const uint32_t *at = labels->keys;
	size_t left = labels->count;

	if (left == 0) {
		return 0;
	}
	/* Without a branch to mispredict: a decision does this four times for
	 * each of thousands of nodes. */
	while (left > 1) {
		size_t half = left / 2;

		at += at[half] <= key ? half : 0;
		left -= half;
	}
	return *at == key ? at[labels->count] : 0;
}

bool labels_include(const struct labels *labels, const struct labels *wanted)
{
	for (size_t i = 0; i < wanted->count; i++) {
		if (labels_get(labels, wanted->keys[i]) !=
			wanted->keys[wanted->count + i]) {
			return false;
		}
	}
	return true;
}
