#include "kube/yaml.h"

#include "kube/json_value.h"
#include "kube/json_value_build.h"
#include "lib/arena.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { TREE_BYTES = 4096 }; /* of a kubeconfig file, nearly always */

/* A mapping or sequence that has not ended yet. */
struct frame {
	struct json_value *container; /* owned by the root */
	bool is_mapping;
	char *key;	 /* in a mapping: the key of the next value, or NULL */
	struct map seen; /* in a mapping: all keys so far */
};

struct reader {
	struct frame frames[YAML_DEPTH_MAX];
	size_t depth;
	size_t nodes;
	size_t line; /* of the current event, from 1 */
	struct json_value *root;
	struct error *err;
};

static void frame_fini(struct frame *frame)
{
	free(frame->key);
	map_fini(&frame->seen);
	*frame = (struct frame){ 0 };
}

static struct frame *top(struct reader *r)
{
	return r->depth > 0 ? &r->frames[r->depth - 1] : NULL;
}

static int refuse(const struct reader *r, int code, const char *why)
{
	return error_set(r->err, code, "line %zu: %s", r->line, why);
}

/* Adds value to the current container, or makes it the root. */
static void insert(struct reader *r, struct json_value *value)
{
	struct frame *frame = top(r);

	if (frame == NULL) {
		r->root = value;
	} else {
		json_value_add(frame->container, frame->key, value);
		free(take_ptr(frame->key));
	}
}

static size_t skip_digits(const char *text, size_t at)
{
	return at + strspn(text + at, "0123456789");
}

/* Only JSON numbers, so that 0755 and 1_000 stay text. */
static bool is_number(const char *text)
{
	size_t at = text[0] == '-' ? 1 : 0;
	size_t digits = skip_digits(text, at);

	if (digits == at || (text[at] == '0' && digits > at + 1)) {
		return false;
	}
	at = digits;
	if (text[at] == '.') {
		digits = skip_digits(text, at + 1);
		if (digits == at + 1) {
			return false;
		}
		at = digits;
	}
	if (text[at] == 'e' || text[at] == 'E') {
		at++;
		at += text[at] == '+' || text[at] == '-' ? 1 : 0;
		digits = skip_digits(text, at);
		if (digits == at) {
			return false;
		}
		at = digits;
	}
	return text[at] == '\0';
}

static struct json_value *plain_value(const char *text)
{
	if (text[0] == '\0' || strcmp(text, "~") == 0 ||
		strcmp(text, "null") == 0) {
		return json_value_new_null();
	}
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
		return json_value_new_bool(text[0] == 't');
	}
	if (is_number(text)) {
		return json_value_new_number(strtod(text, NULL));
	}
	return json_value_new_text(text);
}

static int read_key(struct reader *r, const char *text)
{
	struct frame *frame = top(r);

	if (map_put(&frame->seen, text, frame) != NULL) {
		return refuse(r, -EBADMSG, "duplicate key");
	}
	frame->key = xstrdup(text);
	return 0;
}

static bool key_is_due(struct reader *r)
{
	const struct frame *frame = top(r);

	return frame != NULL && frame->is_mapping && frame->key == NULL;
}

static int read_scalar(struct reader *r, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;

	if (event->data.scalar.tag != NULL) {
		return refuse(r, -EBADMSG, "tags are not supported");
	}
	if (strlen(text) != event->data.scalar.length) {
		return refuse(r, -EBADMSG, "a string contains NUL");
	}
	if (key_is_due(r)) {
		return read_key(r, text);
	}
	insert(r,
		event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
			? plain_value(text)
			: json_value_new_text(text));
	return 0;
}

static int open_container(struct reader *r, bool is_mapping, bool is_tagged)
{
	struct json_value *container;

	if (is_tagged) {
		return refuse(r, -EBADMSG, "tags are not supported");
	}
	if (key_is_due(r)) {
		return refuse(r, -EBADMSG, "a key is not a scalar");
	}
	if (r->depth == YAML_DEPTH_MAX) {
		return refuse(r, -E2BIG, "nested too deeply");
	}
	container =
		is_mapping ? json_value_new_object() : json_value_new_array();
	insert(r, container);
	r->frames[r->depth++] = (struct frame){
		.container = container,
		.is_mapping = is_mapping,
	};
	return 0;
}

static int read_event(struct reader *r, const yaml_event_t *event)
{
	r->line = event->start_mark.line + 1;
	if (++r->nodes > YAML_NODES_MAX) {
		return refuse(r, -E2BIG, "too many nodes");
	}
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return refuse(r, -EBADMSG, "aliases are not supported");
	case YAML_SCALAR_EVENT:
		return read_scalar(r, event);
	case YAML_MAPPING_START_EVENT:
		return open_container(r, true,
			event->data.mapping_start.tag != NULL);
	case YAML_SEQUENCE_START_EVENT:
		return open_container(r, false,
			event->data.sequence_start.tag != NULL);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		frame_fini(&r->frames[--r->depth]);
		return 0;
	case YAML_DOCUMENT_START_EVENT:
		return r->root == NULL
			? 0
			: refuse(r, -EBADMSG, "more than one document");
	default:
		return 0;
	}
}

static int read_stream(struct reader *r, yaml_parser_t *parser)
{
	bool is_over = false;

	while (!is_over) {
		yaml_event_t event;
		int result;

		if (yaml_parser_parse(parser, &event) == 0) {
			r->line = parser->problem_mark.line + 1;
			return refuse(r, -EBADMSG,
				parser->problem != NULL ? parser->problem
							: "not YAML");
		}
		is_over = event.type == YAML_STREAM_END_EVENT;
		result = read_event(r, &event);
		yaml_event_delete(&event);
		if (result < 0) {
			return result;
		}
	}
	return 0;
}

int yaml_parse(struct json_value **out, const char *text, size_t len,
	struct error *err)
{
	struct reader r = { .err = err };
	struct arena *arena;
	yaml_parser_t parser;
	int result;

	if (yaml_parser_initialize(&parser) == 0) {
		return error_set(err, -ENOMEM, "out of memory");
	}
	arena = arena_new(TREE_BYTES);
	json_value_build_in(arena);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	result = read_stream(&r, &parser);
	if (r.root == NULL) {
		r.root = json_value_new_null();
	}
	json_value_build_in(NULL);
	yaml_parser_delete(&parser);
	while (r.depth > 0) {
		frame_fini(&r.frames[--r.depth]);
	}
	if (result < 0) {
		arena_free(arena);
		return result;
	}
	*out = r.root;
	return 0;
}

const char *yaml_library_version(void)
{
	return yaml_get_version_string();
}
