#include "scheduler/offline/score_cmd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json_value.h"
#include "kube/time.h"
#include "lib/json.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/offline/json_fields.h"
#include "scheduler/offline/load_json.h"
#include "scheduler/offline/profile_json.h"
#include "scheduler/score/decide.h"

enum { RESULT_MAX = 512 << 20, SENTENCE_MAX = 8192 };

/* The state in the input. Its clock is unix time in microseconds. */
struct state {
	struct policy policy;
	struct profile_set profiles;
	struct interner *interner;
	struct pod *pod;
	struct cluster cluster;
	struct map by_name; /* to struct node, borrowed */
	struct pod **pods;  /* owned; on nodes or nominated */
	size_t pod_count;
	struct load_answer load;
	bool has_now;
	int64_t now_us;
};

static void state_fini(struct state *state)
{
	cluster_fini(&state->cluster);
	for (size_t i = 0; i < state->pod_count; i++) {
		pod_free(state->pods[i]);
	}
	free(state->pods);
	map_fini(&state->by_name);
	pod_free(state->pod);
	load_answer_fini(&state->load);
	profile_json_fini(&state->profiles);
	interner_free(state->interner);
}

static int read_policy(struct state *state, const struct json_value *input,
	struct error *err)
{
	const struct json_value *policy = json_value_get(input, "policy");

	if (policy != NULL && json_value_text(policy) == NULL) {
		return error_set(err, -EBADMSG, "'policy' is not a string");
	}
	return policy_find(&state->policy,
		policy != NULL ? json_value_text(policy) : "real-load",
		json_value_get(input, "policy_args"), err);
}

static int read_load(struct state *state, const struct json_value *input,
	struct error *err)
{
	const struct json_value *load = json_value_get(input, "load");

	if (load == NULL || json_value_is_null(load)) {
		return 0;
	}
	return load_answer_read(&state->load, load, err);
}

static bool convert_seconds(int64_t *us, double seconds)
{
	const double year_10000 = 253402300800.0;

	if (!(seconds >= 0) || seconds > year_10000) {
		return false;
	}
	*us = (int64_t)(seconds * 1e6);
	return true;
}

/* "now" of the input, else "now" of the load. */
static int read_now(struct state *state, const struct json_value *input,
	struct error *err)
{
	const struct json_value *now = json_value_get(input, "now");
	double seconds = state->load.now_s;
	int r = 0;

	if (json_value_text(now) != NULL) {
		r = time_parse(&state->now_us, json_value_text(now), err);
		state->has_now = r == 0;
		return r < 0 ? error_wrap(err, r, "'now'") : 0;
	}
	if (now == NULL && !state->load.has_now) {
		return 0;
	}
	if ((now != NULL && !json_value_number(&seconds, now)) ||
		!convert_seconds(&state->now_us, seconds)) {
		return error_set(err, -EBADMSG, "'now' is not a time");
	}
	state->has_now = true;
	return 0;
}

/* A pod of the input, read to this depth. A scheduler leaves out what it cannot
 * read of a pod that has a node; here a person can correct it. */
static int read_one(struct pod **out, struct state *state,
	const struct json_value *object, enum pod_depth depth,
	struct error *err)
{
	struct pod *pod;
	int r = pod_new(&pod, state->interner, object, depth, err);

	if (r < 0) {
		return r;
	}
	if (depth == POD_SCHEDULED && pod->unsupported != NULL) {
		(void)error_set(err, -EBADMSG, "pod '%.100s/%.100s': %s",
			pod->namespace, pod->name, pod->unsupported);
		pod_free(pod);
		return -EBADMSG;
	}
	profile_json_apply(&state->profiles, pod);
	*out = pod;
	return 0;
}

static int read_pod(struct state *state, const struct json_value *input,
	struct error *err)
{
	const struct json_value *pod = json_value_get(input, "pod");

	if (!json_value_is_object(pod)) {
		return error_set(err, -EBADMSG, "'pod' is not an object");
	}
	return read_one(&state->pod, state, pod, POD_UNSCHEDULED, err);
}

static int read_nodes(struct state *state, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	int r = json_fields_optional_list(&list, input, "nodes", SIZE_MAX, err);

	if (r < 0) {
		return r;
	}
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		struct node *node = NULL;

		r = node_new(&node, state->interner, v, err);
		if (r < 0) {
			return r;
		}
		cluster_add_node(&state->cluster, node);
		if (map_put(&state->by_name, node->name, node) != NULL) {
			return error_set(err, -EINVAL,
				"node '%.100s' appears twice", node->name);
		}
	}
	return 0;
}

/* The pod to schedule counts on no node, even if it is in the list. */
static bool is_same(const struct pod *a, const struct pod *b)
{
	return strcmp(a->namespace, b->namespace) == 0 &&
		strcmp(a->name, b->name) == 0;
}

static void add_pod(struct state *state, struct pod *pod)
{
	struct node *node = map_get(&state->by_name, pod->node_name);

	if (*pod->node_name == '\0' && *pod->nominated_node != '\0' &&
		!pod_is_terminated(pod) && !is_same(pod, state->pod)) {
		state->pods[state->pod_count++] = pod;
		cluster_add_nominated(&state->cluster, pod);
		return;
	}
	if (node == NULL || pod_is_terminated(pod) ||
		is_same(pod, state->pod)) {
		pod_free(pod);
		return;
	}
	state->pods[state->pod_count++] = pod;
	cluster_add_pod(&state->cluster, node, pod,
		state->has_now ? pod->bound_wall_us : TIME_LONG_AGO);
}

static int read_pods(struct state *state, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	int r = json_fields_optional_list(&list, input, "pods", SIZE_MAX, err);

	if (r < 0) {
		return r;
	}
	state->pods = xcalloc(json_value_count(list), sizeof(struct pod *));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		struct pod *pod = NULL;

		r = read_one(&pod, state, v, POD_SCHEDULED, err);
		if (r < 0) {
			return r;
		}
		add_pod(state, pod);
	}
	return 0;
}

static void apply_loads(struct state *state)
{
	int64_t since_us = 0;

	if (state->load.has_now) {
		(void)convert_seconds(&since_us, state->load.now_s);
		since_us = state->now_us - since_us;
	}
	for (size_t i = 0; i < state->load.count; i++) {
		const struct node_load *load = &state->load.nodes[i];
		struct node *node = map_get(&state->by_name, load->name);
		int64_t age_us = (int64_t)load->age_us + since_us;

		if (node != NULL) {
			node_set_load(node, load, state->now_us - age_us,
				state->now_us);
		}
	}
}

static int read_objects(struct state *state, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	int r = json_fields_optional_list(&list, input, "objects", SIZE_MAX,
		err);

	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		enum cluster_kind kind;

		if (!json_value_is_object(v)) {
			return error_set(err, -EBADMSG,
				"'objects' holds an element that is not an "
				"object");
		}
		/* Other kinds, like ConfigMap, do not matter. */
		if (cluster_kind_find(&kind,
			    json_value_text_at(v, "kind", ""))) {
			r = cluster_put_object(&state->cluster, kind, v, err);
		}
	}
	return r;
}

static int read_profiles(struct state *state, const struct json_value *input,
	struct error *err)
{
	return profile_json_read(&state->profiles, input, err);
}

static int state_read(struct state *state, const struct json_value *input,
	struct error *err)
{
	static int (*const parts[])(struct state *, const struct json_value *,
		struct error *) = {
		read_load,
		read_now,
		read_objects,
		read_profiles,
		read_pod,
		read_nodes,
		read_pods,
	};
	int r;

	if (!json_value_is_object(input)) {
		return error_set(err, -EBADMSG, "the input is not an object");
	}
	r = read_policy(state, input, err);
	for (size_t i = 0; i < count_of(parts) && r == 0; i++) {
		r = parts[i](state, input, err);
	}
	if (r == 0) {
		apply_loads(state);
	}
	return r;
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
	struct state state = { .interner = interner_new() };
	struct decision decision = { .policy = &state.policy };
	const struct filter_options options = FILTER_DEFAULTS;
	struct json_value *input = NULL;
	int r = json_value_parse(&input, text, len, err);

	cluster_init(&state.cluster, state.interner);
	if (r == 0) {
		r = state_read(&state, input, err);
	}
	if (r == 0) {
		decide(&decision, state.pod, &state.cluster, &options,
			state.now_us);
		write_result(out, &decision);
	}
	if (r == 0 && out->overflowed) {
		r = error_set(err, -EFBIG, "the result is too large");
	}
	decision_fini(&decision);
	state_fini(&state);
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
	scoped_buffer struct buffer text = BUFFER_MAX(SCORE_INPUT_MAX);
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
