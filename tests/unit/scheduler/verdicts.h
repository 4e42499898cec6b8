/* What `score` says about each node, as one text: for tests about filters. */
#pragma once

#include "scheduler/offline/score_cmd.h"
#include "tests/unit/scheduler/given.h"

/* Room for everything. */
#define VERDICTS_NODE(name, labels)                                            \
	"{'metadata':{'name':'" name "','labels':{" labels                     \
	"}},'status':{"                                                        \
	"'allocatable':{'cpu':'16','memory':'64Gi','pods':'110'}}}"

/* The answer to an input in single quotes. The caller frees it. */
static inline struct value *verdicts_answer(const char *input)
{
	scoped_free char *json = given_quotes(input);
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct value *answer = NULL;
	struct error err;

	if (score_text(&out, json, strlen(json), &err) < 0 ||
		value_parse(&answer, out.data, out.len, &err) < 0) {
		fail_msg("%s: %s", err.text, json);
	}
	return answer;
}

/* "a; b: Insufficient cpu, Insufficient memory": each node in the input's
 * order, and why not. The caller frees it. */
static inline char *verdicts_of(const char *input)
{
	struct value *answer = verdicts_answer(input);
	struct buffer all = BUFFER_MAX(1 << 16);
	const struct value *node = value_first(value_get(answer, "nodes"));

	buffer_text(&all, "");
	for (; node != NULL; node = value_next(node)) {
		const struct value *v = value_first(value_get(node, "reasons"));

		buffer_printf(&all, "%s%s%s", all.len > 0 ? "; " : "",
			value_text_at(node, "name", ""), v != NULL ? ": " : "");
		for (; v != NULL; v = value_next(v)) {
			buffer_printf(&all, "%s%s", value_text(v),
				value_next(v) != NULL ? ", " : "");
		}
	}
	value_free(answer);
	return buffer_take(&all, NULL);
}

static inline void verdicts_check(const char *input, const char *expected)
{
	scoped_free char *said = verdicts_of(input);

	if (strcmp(said, expected) != 0) {
		fail_msg("%s\nis: %s\nnot: %s", input, said, expected);
	}
}
