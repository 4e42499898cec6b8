#include "scheduler/objects/resource_entries.h"

#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The API serves strings; manifests may have whole numbers. */
static int read_quantity(struct quantity *out, const struct json_value *v,
	const char *name, struct error *err)
{
	const char *text = json_value_text(v);
	char digits[32];
	double number;
	int r;

	if (text == NULL) {
		if (!json_value_number(&number, v) || number < 0 ||
			number > 9e15 || floor(number) != number) {
			return error_set(err, -EBADMSG,
				"resource '%s' is not a quantity", name);
		}
		(void)snprintf(digits, sizeof(digits), "%.0f", number);
		text = digits;
	}
	r = quantity_parse(out, text, err);
	return r < 0 ? error_wrap(err, r, "resource '%s'", name) : 0;
}

void resource_entries_add(struct resource_entries *entries,
	const struct resource_entry *entry)
{
	entries->list = xgrow(entries->list, entries->count, &entries->capacity,
		sizeof(*entries->list));
	entries->list[entries->count] = *entry;
	entries->list[entries->count].views = entries->views;
	entries->list[entries->count++].place = entries->place;
}

int resource_entries_read(struct resource_entries *entries,
	const struct json_value *list, enum resource_part part,
	struct error *err)
{
	int first = 0;

	if (list != NULL && !json_value_is_object(list) &&
		!json_value_is_null(list)) {
		return error_set(err, -EBADMSG, "resources are not an object");
	}
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		struct resource_entry entry = { .name = json_value_key(v),
			.part = part };
		int r = read_quantity(&entry.amount, v, entry.name,
			first == 0 ? err : NULL);

		if (r == 0) {
			resource_entries_add(entries, &entry);
		}
		first = first < 0 ? first : r;
	}
	return first;
}

int resource_entries_compare_parts(const struct resource_entry *a,
	const struct resource_entry *b)
{
	return a->place != b->place ? (a->place < b->place ? -1 : 1)
				    : (int)a->part - (int)b->part;
}

int resource_entries_compare(const void *a, const void *b)
{
	const struct resource_entry *x = a;
	const struct resource_entry *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : resource_entries_compare_parts(x, y);
}
