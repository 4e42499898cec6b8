#include "scheduler/cluster/storage_read.h"

#include "lib/memory.h"
#include "scheduler/cluster/storage_objects.h"

#include <stddef.h>
#include <string.h>

static const char class_note[] = "volume.beta.kubernetes.io/storage-class";

char *storage_text(const struct value *object, const char *path)
{
	return xstrdup(value_text_at(object, path, ""));
}

const char *storage_note(const struct value *object, const char *key)
{
	return value_text(
		value_get(value_at(object, "metadata/annotations"), key));
}

char *storage_class_name(const struct value *object, const char *path)
{
	const char *note = storage_note(object, class_note);

	return note != NULL ? xstrdup(note) : storage_text(object, path);
}

unsigned int storage_modes(const struct value *list)
{
	static const struct {
		const char *text;
		unsigned int mode;
	} texts[] = {
		{ "ReadWriteOnce", ACCESS_ONCE },
		{ "ReadOnlyMany", ACCESS_READ_MANY },
		{ "ReadWriteMany", ACCESS_WRITE_MANY },
		{ "ReadWriteOncePod", ACCESS_ONE_POD },
	};
	unsigned int modes = 0;

	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		const char *text = value_text(v);

		for (size_t i = 0; i < count_of(texts) && text != NULL; i++) {
			modes |= strcmp(text, texts[i].text) == 0
				? texts[i].mode
				: 0;
		}
	}
	return modes;
}

bool storage_quantity(struct quantity *out, const struct value *text)
{
	return value_text(text) != NULL &&
		quantity_parse(out, value_text(text), NULL) == 0;
}

bool storage_is_deleting(const struct value *object)
{
	return *value_text_at(object, "metadata/deletionTimestamp", "") != '\0';
}
