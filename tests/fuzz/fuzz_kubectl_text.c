/* Answers of a cluster on their way to a terminal: as lines, as a table of
 * loads, as moves, decisions, plans and placements, and as JSON and YAML.
 * Whatever comes, no hidden character leaves. */
#include "kube/json_value.h"
#include "kubectl/decision_list.h"
#include "kubectl/escape.h"
#include "kubectl/load_rows.h"
#include "kubectl/move_rows.h"
#include "kubectl/object_text.h"
#include "kubectl/placement.h"
#include "kubectl/plan_view.h"
#include "kubectl/vmi_words.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "lib/utf8.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_MAX = 64 << 20 };

static void check(const struct buffer *out)
{
	for (size_t i = 0; i < out->len;) {
		size_t length = utf8_length(out->data + i);
		uint32_t c;

		assert(length > 0);
		assert(out->data[i] == '\n' || out->data[i] == '\t' ||
			!escape_is_hidden(&c, out->data + i, length));
		i += length;
	}
}

static void write_loads(const struct json_value *value, bool has_nodes)
{
	scoped_buffer struct buffer out = BUFFER_MAX(OUT_MAX);
	struct load_rows rows = { .output = OUTPUT_WIDE,
		.has_nodes = has_nodes };

	load_rows_add(&rows, value);
	load_rows_add(&rows, json_value_first(value));
	load_rows_sort(&rows, SORT_HEAT);
	load_rows_write(&out, &rows, true, true);
	assert(strchr(strchr(out.data, '\n') + 1, '\n') != NULL);
	check(&out);
	load_rows_fini(&rows);
}

static void write_records(const struct json_value *value)
{
	scoped_buffer struct buffer out = BUFFER_MAX(OUT_MAX);
	struct decision_list decisions = { .output = OUTPUT_WIDE, .max = 2 };
	struct move_rows moves = { .output = OUTPUT_WIDE };

	decision_list_add(&decisions, value);
	decision_list_add(&decisions, json_value_first(value));
	decision_list_write(&out, &decisions);
	move_rows_add(&moves, value);
	move_rows_write(&out, &moves, true);
	check(&out);
	decision_list_fini(&decisions);
	move_rows_fini(&moves);
}

static void write_answers(const struct json_value *value)
{
	scoped_buffer struct buffer out = BUFFER_MAX(OUT_MAX);

	plan_put_sentence(&out, value);
	plan_put_steps(&out, value, "steps");
	plan_put_stuck(&out, value);
	plan_put_lost(&out, value);
	plan_put_nodes(&out, value);
	plan_put_hidden(&out, value);
	placement_put(&out, value, true);
	(void)vmi_words_can_move(&out, value);
	check(&out);
}

static void write_object(const struct json_value *value)
{
	scoped_buffer struct buffer out = BUFFER_MAX(OUT_MAX);
	struct json_value *again = NULL;

	object_text_json(&out, value, 0);
	check(&out);
	if (!out.overflowed) {
		int r = json_value_parse(&again, out.data, out.len, NULL);

		assert(r == 0);
		json_value_free(again);
	}
	buffer_clear(&out);
	object_text_yaml(&out, value, 0);
	check(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *text = xcalloc(size + 1, 1);
	scoped_buffer struct buffer out = BUFFER_MAX(10 * size + 1);
	struct json_value *value = NULL;

	if (size > 0) {
		memcpy(text, data, size);
	}
	escape_lines(&out, text, size);
	assert(!out.overflowed);
	check(&out);
	if (json_value_parse_bounded(&value, text, size, NULL) == 0) {
		write_loads(value, size % 2 == 0);
		write_records(value);
		write_answers(value);
		write_object(value);
	}
	json_value_free(value);
	return 0;
}
