#include "kubectl/output.h"

#include "kube/json_value.h"
#include "kubectl/flags.h"
#include "kubectl/object_text.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/memory.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { OBJECT_MAX = 512 << 20, LIST_DEPTH = 2 };

int output_of(enum output *out, const struct flags *flags, struct error *err)
{
	static const char *const names[] = {
		[OUTPUT_TABLE] = "",
		[OUTPUT_WIDE] = "wide",
		[OUTPUT_JSON] = "json",
		[OUTPUT_YAML] = "yaml",
		[OUTPUT_NAME] = "name",
	};
	const char *text = flags->values[FLAG_OUTPUT];

	for (size_t i = 0; i < count_of(names); i++) {
		if (text == NULL || strcmp(text, names[i]) == 0) {
			*out = (enum output)i;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
		"unable to match a printer suitable for the output format "
		"\"%.100s\", allowed formats are: json,name,wide,yaml",
		text);
}

bool output_is_table(enum output output)
{
	return output == OUTPUT_TABLE || output == OUTPUT_WIDE;
}

/* As in kubectl: nodeload.load.plimsoll.io/NAME. */
static void put_name(struct buffer *out, const struct json_value *object)
{
	const char *kind = json_value_text_at(object, "kind", "object");
	const char *version = json_value_text_at(object, "apiVersion", "");

	for (; *kind != '\0'; kind++) {
		buffer_char(out, (char)tolower((unsigned char)*kind));
	}
	if (strchr(version, '/') != NULL) {
		buffer_printf(out, ".%.*s", (int)strcspn(version, "/"),
			version);
	}
	buffer_printf(out, "/%s",
		json_value_text_at(object, "metadata/name", ""));
}

static void put(struct buffer *out, enum output output,
	const struct json_value *object, int depth)
{
	if (output == OUTPUT_JSON) {
		object_text_json(out, object, depth);
	} else if (output == OUTPUT_YAML) {
		object_text_yaml(out, object, depth);
	} else {
		put_name(out, object);
	}
}

char *output_item(enum output output, const struct json_value *object)
{
	struct buffer out = BUFFER_MAX(OBJECT_MAX);

	if (output_is_table(output)) {
		return NULL;
	}
	put(&out, output, object, output == OUTPUT_JSON ? LIST_DEPTH : 1);
	return buffer_take(&out, NULL);
}

void output_list(struct buffer *out, enum output output, const void *list,
	unsigned long count, const char *(*text)(const void *, unsigned long))
{
	if (output == OUTPUT_JSON) {
		buffer_text(out,
			"{\n    \"apiVersion\": \"v1\",\n"
			"    \"items\": [");
	} else if (output == OUTPUT_YAML) {
		buffer_text(out, "apiVersion: v1\nitems:");
		buffer_text(out, count == 0 ? " []\n" : "\n");
	}
	for (unsigned long i = 0; i < count; i++) {
		if (output == OUTPUT_JSON) {
			buffer_text(out, i == 0 ? "\n        " : ",\n        ");
		} else if (output == OUTPUT_YAML) {
			buffer_text(out, "- ");
		}
		buffer_text(out, text(list, i));
		buffer_text(out, output == OUTPUT_NAME ? "\n" : "");
	}
	if (output == OUTPUT_JSON) {
		buffer_text(out, count == 0 ? "],\n" : "\n    ],\n");
		buffer_text(out,
			"    \"kind\": \"List\",\n    \"metadata\": "
			"{\n        \"resourceVersion\": \"\"\n"
			"    }\n}\n");
	} else if (output == OUTPUT_YAML) {
		buffer_text(out,
			"kind: List\nmetadata:\n  resourceVersion: "
			"\"\"\n");
	}
}

void output_object(enum output output, const struct json_value *object)
{
	scoped_buffer struct buffer out = BUFFER_MAX(OBJECT_MAX);

	put(&out, output, object, 0);
	buffer_text(&out, output == OUTPUT_YAML ? "" : "\n");
	terminal_print(&out);
}
