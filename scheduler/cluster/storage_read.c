#include "scheduler/cluster/storage_read.h"

#include "lib/memory.h"

#include <stddef.h>
#include <string.h>

static const char class_annotation[] =
	"volume.beta.kubernetes.io/storage-class";

char *storage_text(const struct json_value *object, const char *path)
{
	return xstrdup(json_value_text_at(object, path, ""));
}

const char *storage_annotation(const struct json_value *object, const char *key)
{
	return json_value_text(json_value_get(
		json_value_at(object, "metadata/annotations"), key));
}

char *storage_class_name(const struct json_value *object, const char *path)
{
	const char *annotation = storage_annotation(object, class_annotation);

	return annotation != NULL ? xstrdup(annotation)
				  : storage_text(object, path);
}

unsigned int storage_modes(const struct json_value *list)
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

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		const char *text = json_value_text(v);

		for (size_t i = 0; i < count_of(texts) && text != NULL; i++) {
			modes |= strcmp(text, texts[i].text) == 0
				? texts[i].mode
				: 0;
		}
	}
	return modes;
}

bool storage_quantity(struct quantity *out, const struct json_value *text)
{
	return json_value_text(text) != NULL &&
		quantity_parse(out, json_value_text(text), NULL) == 0;
}

bool storage_is_deleting(const struct json_value *object)
{
	return *json_value_text_at(object, "metadata/deletionTimestamp", "") !=
		'\0';
}
