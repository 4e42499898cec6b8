#include "kubectl/selector_json.h"

#include "kube/selector.h"
#include "lib/buffer.h"
#include "lib/json.h"

#include <errno.h>
#include <string.h>

enum { JSON_MAX = 8 << 10, PAIRS_MAX = 32 };

/* False: a term is no label, or one that was there before. */
static bool write_label(struct json *j, const struct selector *selector,
	const struct requirement *term)
{
	for (const struct requirement *other = selector->terms.list;
		other < term; other++) {
		if (other->key == term->key) {
			return false;
		}
	}
	if (!requirement_is_equality(term)) {
		return false;
	}
	json_string(j, interner_text(selector->interner, term->key),
		interner_text(selector->interner, term->values[0]));
	return true;
}

int selector_json(char **out, const char *text, struct error *err)
{
	scoped_buffer struct buffer json = BUFFER_MAX(JSON_MAX);
	struct selector selector = { 0 };
	struct json j = json_into(&json);
	bool are_labels = strpbrk(text, " \t(") == NULL &&
		strstr(text, "==") == NULL &&
		selector_parse_labels(&selector, text, NULL) == 0 &&
		selector.terms.count > 0 && selector.terms.count <= PAIRS_MAX;

	json_object(&j, NULL);
	for (size_t i = 0; are_labels && i < selector.terms.count; i++) {
		are_labels =
			write_label(&j, &selector, &selector.terms.list[i]);
	}
	json_object_end(&j);
	selector_fini(&selector);
	if (!are_labels) {
		return error_set(err, -EINVAL,
			"'%.100s' are not labels KEY=VALUE,...", text);
	}
	if (json.overflowed) {
		return error_set(err, -EINVAL, "the labels are too long");
	}
	*out = buffer_take(&json, NULL);
	return 0;
}
