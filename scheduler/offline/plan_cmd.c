#include "scheduler/offline/plan_cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kube/json_fields.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/filter/filter.h"
#include "scheduler/offline/recorded_state.h"

/* A plan names each VM once or twice. */
enum { ANSWER_MAX = 256 << 20 };

/* ---- the answer ---- */

static void write_step(struct json *j, const struct plan_step *step,
	const struct cluster *cluster)
{
	json_object(j, NULL);
	json_string(j, "kind", step->kind == PLAN_MOVE ? "move" : "start");
	json_string(j, "namespace", step->pod->namespace);
	json_string(j, "vm", recorded_vms_name(step->pod));
	json_string(j, "pod", step->pod->name);
	json_string(j, "source", cluster->nodes[step->source]->name);
	json_string(j, "target", cluster->nodes[step->target]->name);
	json_number(j, "source_load_before", step->source_load_before);
	json_number(j, "source_load_after", step->source_load_after);
	json_number(j, "target_load_before", step->target_load_before);
	json_number(j, "target_load_after", step->target_load_after);
	json_object_end(j);
}

static void write_answer(struct buffer *out, const char *goal,
	const struct plan *plan, const struct cluster *cluster)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "goal", goal);
	json_bool(&j, "found", plan->is_found);
	if (plan->node != PLAN_NOWHERE) {
		json_string(&j, "node", cluster->nodes[plan->node]->name);
	}
	json_unsigned(&j, "moves", plan->moves);
	json_array(&j, "steps");
	for (size_t i = 0; i < plan->count; i++) {
		write_step(&j, &plan->steps[i], cluster);
	}
	json_array_end(&j);
	json_string(&j, "message", plan->sentence);
	json_bool(&j, "cut_off", plan->is_cut_off);
	json_object_end(&j);
	buffer_char(out, '\n');
}

/* ---- the search ---- */

static void search(struct buffer *out, const struct plan_question *question,
	struct recorded_state *state, const struct recorded_vms *vms,
	const struct plan_goal *goal)
{
	static const struct filter_options options = FILTER_DEFAULTS;
	const struct plan_input input = {
		.cluster = &state->cluster,
		.filter = &options,
		.vms = vms->list,
		.vm_count = vms->count,
		.exclusions = vms->exclusions,
		.now_us = state->now_us,
		.max_moves = (unsigned)question->max_moves,
		.max_load = question->max_load,
		.max_work = question->max_work,
	};
	struct plan plan = { .node = PLAN_NOWHERE };

	plan_find(&plan, &input, goal);
	write_answer(out, question->goal_text, &plan, &state->cluster);
	plan_fini(&plan);
}

static int answer(struct buffer *out, const struct plan_question *question,
	struct recorded_state *state, const struct json_value *input,
	struct error *err)
{
	struct recorded_vms vms = { 0 };
	struct plan_goal goal;
	scoped_free size_t *nodes = NULL;
	int r = recorded_vms_read(&vms, state, input, question->scheduler_name,
		err);

	if (r == 0) {
		r = goal_words_find(&goal, &nodes, &question->goal, &vms, err);
	}
	if (r == 0) {
		search(out, question, state, &vms, &goal);
	}
	if (r == 0 && out->overflowed) {
		r = error_set(err, -EFBIG, "the answer is too large");
	}
	recorded_vms_fini(&vms);
	return r;
}

int plan_text(struct buffer *out, const struct plan_question *question,
	const char *text, size_t len, struct error *err)
{
	const struct recorded_state_options whole = {
		.has_pod = question->goal.kind == PLAN_POD_FITS,
		.has_moves = true,
	};
	struct recorded_state state;
	struct json_value *input = NULL;
	int r = json_value_parse(&input, text, len, err);

	recorded_state_init(&state, &whole);
	r = r < 0 ? r : recorded_state_read(&state, input, err);
	r = r < 0 ? r : answer(out, question, &state, input, err);
	recorded_state_fini(&state);
	json_value_free(input);
	return r;
}

/* ---- the subcommand ---- */

struct plan_config {
	const char *input, *max_load_text; /* input NULL: not given */
	struct plan_question question;
};

#define ROW(member_, ...) OPTION_ROW(struct plan_config, member_, __VA_ARGS__)

static const struct option table[] = {
	ROW(question.goal_text, "goal", OPTION_TEXT, "GOAL",
		.help = "pod: the file's pod fits; empty:NODE: no VM is left "
			"there; move:NAMESPACE/VM: it runs elsewhere; "
			"gone:NODE[,NODE...]: what if these fail"),
	ROW(input, "in", OPTION_TEXT, "FILE",
		.help = "nodes, pods, VMIs and load as JSON; - is standard "
			"input"),
	ROW(question.max_moves, "max-moves", OPTION_INTEGER, "N",
		.fallback = "3", .min = 1, .max = PLAN_MOVES_MAX,
		.help = "moves that a plan may have"),
	ROW(max_load_text, "max-load", OPTION_TEXT, "SHARE", .fallback = "0.85",
		.help = "the expected use of a target's shared cores after a "
			"move, as a share of them, at most"),
	ROW(question.scheduler_name, "scheduler-name", OPTION_TEXT, "NAME",
		.fallback = "plimsoll-scheduler",
		.help = "if the file has VMIs, only VMs whose launcher pods "
			"name this scheduler move"),
	{ 0 },
};

static const struct options_program options = {
	.name = "plimsoll-scheduler plan",
	.summary = "prints the fewest moves after which a goal holds, as JSON",
	.usage = "--goal GOAL --in FILE",
	.table = table,
};

/* Above 1 a node may have more work than cores. */
static const double load_max = 10;

static int read_load(double *out, const char *text, struct error *err)
{
	char *end = NULL;
	double load = strtod(text, &end);

	if (end == text || *end != '\0' || !(load > 0 && load <= load_max)) {
		return error_set(err, -EINVAL,
			"--max-load: '%.100s' is not a share above 0 and up to "
			"10",
			text);
	}
	*out = load;
	return 0;
}

static int check(void *arguments, struct error *err)
{
	struct plan_config *config = arguments;
	struct plan_question *question = &config->question;
	int r;

	if (question->goal_text == NULL) {
		return error_set(err, -EINVAL, "--goal is required");
	}
	if (config->input == NULL) {
		return error_set(err, -EINVAL, "--in is required");
	}
	r = goal_words_parse(&question->goal, question->goal_text, err);
	if (r < 0) {
		return error_wrap(err, r, "--goal");
	}
	return read_load(&question->max_load, config->max_load_text, err);
}

static int run(const void *arguments, struct error *err)
{
	const struct plan_config *config = arguments;
	scoped_buffer struct buffer text = BUFFER_MAX(RECORDED_STATE_MAX);
	scoped_buffer struct buffer result = BUFFER_MAX(ANSWER_MAX);
	int r = json_fields_read_file(&text, config->input, err);

	if (r == 0) {
		r = plan_text(&result, &config->question, text.data, text.len,
			err);
	}
	if (r < 0) {
		return r;
	}
	if (fwrite(result.data, 1, result.len, stdout) != result.len ||
		fflush(stdout) != 0) {
		return error_errno(err, "cannot write the answer");
	}
	return 0;
}

const struct program plan_program = {
	.options = &options,
	.config_size = sizeof(struct plan_config),
	.check = check,
	.run = run,
};
