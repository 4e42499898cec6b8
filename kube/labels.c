#include "kube/labels.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/memory.h"

enum { MIN_BITS = 1, ALL_BITS = 32 };

size_t labels_slot_count(const struct labels *labels)
{
	return labels->shift == 0 ? 0 : (size_t)1 << (ALL_BITS - labels->shift);
}

void labels_put(struct labels *labels, struct interner *interner,
	const char *key, const char *value)
{
	uint32_t id = interner_hold(interner, key);
	struct label *slot = labels_slot(labels, id);

	if (slot->key == id) {
		interner_drop(interner, slot->key);
		interner_drop(interner, slot->value);
	} else {
		labels->count++;
	}
	slot->value = interner_hold(interner, value);
	slot->key = id;
}

static struct labels table_for(size_t count)
{
	uint32_t bits = MIN_BITS;

	while (((size_t)3 << bits) < count * 4) {
		bits++;
	}
	return (struct labels){
		.slots = xcalloc((size_t)1 << bits, sizeof(struct label)),
		.shift = ALL_BITS - bits,
	};
}

int labels_read(struct labels *out, struct interner *interner,
	const struct json_value *object, struct error *err)
{
	size_t count = json_value_count(object);
	const struct json_value *v;

	if (object == NULL || json_value_is_null(object)) {
		*out = (struct labels){ 0 };
		return 0;
	}
	if (!json_value_is_object(object)) {
		return error_set(err, -EBADMSG, "labels are not an object");
	}
	for (v = json_value_first(object); v != NULL; v = json_value_next(v)) {
		if (json_value_text(v) == NULL) {
			return error_set(err, -EBADMSG,
				"label '%s' is not a string",
				json_value_key(v));
		}
	}

	*out = count > 0 ? table_for(count) : (struct labels){ 0 };
	for (v = json_value_first(object); v != NULL; v = json_value_next(v)) {
		labels_put(out, interner, json_value_key(v),
			json_value_text(v));
	}
	return 0;
}

void labels_fini(struct labels *labels, struct interner *interner)
{
	for (size_t i = 0; i < labels_slot_count(labels); i++) {
		interner_drop(interner, labels->slots[i].key);
		interner_drop(interner, labels->slots[i].value);
	}
	free(labels->slots);
	*labels = (struct labels){ 0 };
}

struct labels labels_without(const struct labels *labels, uint32_t key)
{
	struct labels out = table_for(labels->count + 1);

	for (size_t i = 0; i < labels_slot_count(labels); i++) {
		const struct label *label = &labels->slots[i];

		if (label->key != 0 && label->key != key) {
			*labels_slot(&out, label->key) = *label;
			out.count++;
		}
	}
	return out;
}

struct labels labels_copy(const struct labels *labels,
	struct interner *interner, size_t room)
{
	struct labels out = table_for(labels->count + room + 1);

	for (size_t i = 0; i < labels_slot_count(labels); i++) {
		const struct label *label = &labels->slots[i];

		if (label->key != 0) {
			interner_hold_id(interner, label->key);
			interner_hold_id(interner, label->value);
			*labels_slot(&out, label->key) = *label;
			out.count++;
		}
	}
	return out;
}

bool labels_include(const struct labels *labels, const struct labels *wanted)
{
	size_t count = labels_slot_count(wanted);

	for (size_t i = 0; i < count; i++) {
		const struct label *label = &wanted->slots[i];

		if (label->key != 0 &&
			labels_get(labels, label->key) != label->value) {
			return false;
		}
	}
	return true;
}
