#include "scheduler/launcher/launcher_derivation.h"

#include "lib/memory.h"
#include "scheduler/launcher/value_json.h"

#include <ctype.h>

void derivation_note(struct derivation *d, const char *words)
{
	for (size_t i = 0; i < d->note_count; i++) {
		if (d->notes[i] == words) {
			return;
		}
	}
	if (d->note_count < DERIVATION_NOTES_MAX) {
		d->notes[d->note_count++] = words;
	}
}

void derivation_copy(struct derivation *d, struct json *j, const char *key,
	const struct json_value *value)
{
	if (d->is_whole && value != NULL && !json_value_is_null(value)) {
		d->is_whole = value_json_write(j, key, value);
	}
}

void derivation_copy_members(struct derivation *d, struct json *j,
	const struct json_value *object)
{
	if (d->is_whole) {
		d->is_whole = value_json_write_members(j, object);
	}
}

char *derivation_architecture(const struct derivation *d)
{
	char *lower = xstrdup(json_value_text_at(d->vmi, "architecture", ""));
	char *to = lower;

	for (const char *from = lower; *from != '\0'; from++) {
		int c = tolower((unsigned char)*from);

		if (isalnum(c) != 0 || c == '_' || c == '-') {
			*to++ = (char)c;
		}
	}
	*to = '\0';
	return lower;
}
