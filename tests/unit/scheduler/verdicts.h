/* The reasons of `score` for each node as one string, for tests of filters. */
#pragma once

#include "scheduler/offline/score_cmd.h"
#include "tests/unit/scheduler/given.h"

/* A node with room for every pod. */
#define VERDICTS_NODE(name, labels)                                            \
	"{'metadata':{'name':'" name "','labels':{" labels                     \
	"}},'status':{"                                                        \
	"'allocatable':{'cpu':'16','memory':'64Gi','pods':'110'}}}"

/* The answer to an input in single quotes. The caller frees it. */
static inline struct json_value *verdicts_answer(const char *input)
{
	scoped_free char *json = given_quotes(input);
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct json_value *answer = NULL;
	struct error err;

	if (score_text(&out, json, strlen(json), &err) < 0 ||
		json_value_parse(&answer, out.data, out.len, &err) < 0) {
		fail_msg("%s: %s", err.text, json);
	}
	return answer;
}

/* "a; b: Insufficient cpu, Insufficient memory": each node in the order of the
 * input, with its reasons. The caller frees it. */
static inline char *verdicts_of(const char *input)
{
	struct json_value *answer = verdicts_answer(input);
	struct buffer all = BUFFER_MAX(1 << 16);
	const struct json_value *node =
		json_value_first(json_value_get(answer, "nodes"));

	buffer_text(&all, "");
	for (; node != NULL; node = json_value_next(node)) {
		const struct json_value *v =
			json_value_first(json_value_get(node, "reasons"));

		buffer_printf(&all, "%s%s%s", all.len > 0 ? "; " : "",
			json_value_text_at(node, "name", ""),
			v != NULL ? ": " : "");
		for (; v != NULL; v = json_value_next(v)) {
			buffer_printf(&all, "%s%s", json_value_text(v),
				json_value_next(v) != NULL ? ", " : "");
		}
	}
	json_value_free(answer);
	return buffer_take(&all, NULL);
}

static inline void verdicts_check(const char *input, const char *expected)
{
	scoped_free char *actual = verdicts_of(input);

	if (strcmp(actual, expected) != 0) {
		fail_msg("%s\nis: %s\nnot: %s", input, actual, expected);
	}
}
