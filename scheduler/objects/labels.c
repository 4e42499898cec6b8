#include "scheduler/objects/labels.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/memory.h"

enum { LEAST_BITS = 1, ALL_BITS = 32 };

static size_t slot_count(const struct labels *labels)
{
	return labels->shift == 0 ? 0 : (size_t)1 << (ALL_BITS - labels->shift);
}

static void put(struct labels *labels, struct names *names, const char *key,
	const char *value)
{
	uint32_t number = names_hold(names, key);
	struct label *slot = labels_slot(labels, number);

	if (slot->key == number) {
		names_drop(names, slot->key);
		names_drop(names, slot->value);
	} else {
		labels->count++;
	}
	slot->key = number;
	slot->value = names_hold(names, value);
}

static struct labels table_for(size_t count)
{
	uint32_t bits = LEAST_BITS;

	while (((size_t)3 << bits) < count * 4) {
		bits++;
	}
	return (struct labels){
		.slots = xcalloc((size_t)1 << bits, sizeof(struct label)),
		.shift = ALL_BITS - bits,
	};
}

int labels_read(struct labels *out, struct names *names,
	const struct value *object, struct error *err)
{
	size_t count = value_count(object);
	const struct value *v;

	if (object == NULL || value_is_null(object)) {
		*out = (struct labels){ 0 };
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

	*out = count > 0 ? table_for(count) : (struct labels){ 0 };
	for (v = value_first(object); v != NULL; v = value_next(v)) {
		put(out, names, value_key(v), value_text(v));
	}
	return 0;
}

void labels_fini(struct labels *labels, struct names *names)
{
	for (size_t i = 0; i < slot_count(labels); i++) {
		names_drop(names, labels->slots[i].key);
		names_drop(names, labels->slots[i].value);
	}
	free(labels->slots);
	*labels = (struct labels){ 0 };
}

bool labels_include(const struct labels *labels, const struct labels *wanted)
{
	size_t count = slot_count(wanted);

	for (size_t i = 0; i < count; i++) {
		const struct label *pair = &wanted->slots[i];

		if (pair->key != 0 &&
			labels_get(labels, pair->key) != pair->value) {
			return false;
		}
	}
	return true;
}
