#include "scheduler/offline/score_cmd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "kube/json_fields.h"
#include "kube/json_value.h"
#include "lib/json.h"
#include "scheduler/offline/recorded_state.h"
#include "scheduler/score/decide.h"

enum { RESULT_MAX = 512 << 20, SENTENCE_MAX = 8192 };

static int read_policy(struct policy *policy, const struct json_value *input,
	struct error *err)
{
	const struct json_value *name = json_value_get(input, "policy");

	if (name != NULL && json_value_text(name) == NULL) {
		return error_set(err, -EBADMSG, "'policy' is not a string");
	}
	return policy_find(policy,
		name != NULL ? json_value_text(name) : "real-load",
		json_value_get(input, "policy_args"), err);
}

static void write_reasons(struct json *j, const struct prefilter *prefilter,
	uint64_t reasons)
{
	json_array(j, "reasons");
	for (unsigned int i = 0; i < REASONS_MAX; i++) {
		char text[FILTER_REASON_TEXT_MAX];

		if ((reasons >> i & 1) != 0) {
			json_string(j, NULL,
				filter_reason_text(text, sizeof(text),
					prefilter, i));
		}
	}
	json_array_end(j);
}

/* An infeasible node has score 0 and no terms. */
static void write_score(struct json *j, const struct decision *d,
	const size_t index)
{
	struct score score = { 0 };
	bool is_feasible = d->verdicts[index].reasons == 0;

	if (is_feasible) {
		score_node(&score, d->nodes[index], &d->context);
	}
	json_number(j, "score", score.total);
	json_object(j, "terms");
	for (int i = 0; i < SCORE_TERMS && is_feasible; i++) {
		json_number(j, score_term_name((enum score_term)i),
			score.terms[i]);
	}
	json_object_end(j);
}

static void write_sentence(struct json *j, const struct decision *d)
{
	scoped_buffer struct buffer text = BUFFER_MAX(SENTENCE_MAX);

	if (decision_chosen(d) != NULL) {
		decision_sentence(&text, d);
	} else {
		decision_message(&text, d);
	}
	json_string(j, "message", text.data);
}

static void write_result(struct buffer *out, const struct decision *d)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_array(&j, "nodes");
	for (size_t i = 0; i < d->node_count; i++) {
		json_object(&j, NULL);
		json_string(&j, "name", d->nodes[i]->name);
		json_bool(&j, "feasible", d->verdicts[i].reasons == 0);
		write_reasons(&j, &d->prefilter, d->verdicts[i].reasons);
		write_score(&j, d, i);
		json_object_end(&j);
	}
	json_array_end(&j);
	if (decision_chosen(d) != NULL) {
		json_string(&j, "chosen", decision_chosen(d)->name);
	} else {
		json_null(&j, "chosen");
	}
	write_sentence(&j, d);
	json_object_end(&j);
	buffer_char(out, '\n');
}

int score_text(struct buffer *out, const char *text, size_t len,
	struct error *err)
{
	static const struct recorded_state_options whole = { .has_pod = true };
	struct recorded_state state;
	struct policy policy = { 0 };
	struct decision decision = { .policy = &policy };
	const struct filter_options options = FILTER_DEFAULTS;
	struct json_value *input = NULL;
	int r = json_value_parse(&input, text, len, err);

	recorded_state_init(&state, &whole);
	if (r == 0 && json_value_is_object(input)) {
		r = read_policy(&policy, input, err);
	}
	r = r < 0 ? r : recorded_state_read(&state, input, err);
	if (r == 0) {
		decide(&decision, state.pod, &state.cluster, &options,
			state.now_us);
		write_result(out, &decision);
	}
	if (r == 0 && out->overflowed) {
		r = error_set(err, -EFBIG, "the result is too large");
	}
	decision_fini(&decision);
	recorded_state_fini(&state);
	json_value_free(input);
	return r;
}

struct score_config {
	const char *input;
};

#define ROW(member_, ...) OPTION_ROW(struct score_config, member_, __VA_ARGS__)

static const struct option table[] = {
	ROW(input, "in", OPTION_TEXT, "FILE",
		.help = "pod, nodes and their load as JSON; - is standard "
			"input"),
	{ 0 },
};

static const struct options_program options = {
	.name = "plimsoll-scheduler score",
	.summary = "prints the verdict and the score of each node, as JSON",
	.usage = "--in FILE",
	.table = table,
};

static int check(void *config, struct error *err)
{
	const struct score_config *score = config;

	return score->input == NULL
		? error_set(err, -EINVAL, "--in is required")
		: 0;
}

int score_command(const char *path, FILE *out, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(RECORDED_STATE_MAX);
	scoped_buffer struct buffer result = BUFFER_MAX(RESULT_MAX);
	int r = json_fields_read_file(&text, path, err);

	if (r == 0) {
		r = score_text(&result, text.data, text.len, err);
	}
	if (r < 0) {
		return r;
	}
	if (fwrite(result.data, 1, result.len, out) != result.len ||
		fflush(out) != 0) {
		return error_errno(err, "cannot write the result");
	}
	return 0;
}

static int run(const void *config, struct error *err)
{
	return score_command(((const struct score_config *)config)->input,
		stdout, err);
}

const struct program score_program = {
	.options = &options,
	.config_size = sizeof(struct score_config),
	.check = check,
	.run = run,
};
