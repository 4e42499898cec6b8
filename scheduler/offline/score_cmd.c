#include "scheduler/offline/score_cmd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json_value.h"
#include "lib/files.h"
#include "lib/json.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/score/decide.h"
#include "scheduler/offline/load_json.h"
#include "kube/time.h"
#include "scheduler/offline/profile_json.h"

enum { ANSWER_MAX = 512 << 20, SENTENCE_MAX = 8192 };

/* The recorded state. Its clock is unix time in microseconds. */
struct scene {
	struct policy policy;
	struct profiles profiles;
	struct names *names;
	struct pod *pod;
	struct cluster cluster;
	struct map by_name; /* to struct node, borrowed */
	struct pod **pods;  /* owned; those that run */
	size_t pod_count;
	struct load_answer load;
	bool has_now;
	int64_t now_us;
};

static void scene_fini(struct scene *scene)
{
	cluster_fini(&scene->cluster);
	for (size_t i = 0; i < scene->pod_count; i++) {
		pod_free(scene->pods[i]);
	}
	free(scene->pods);
	map_fini(&scene->by_name);
	pod_free(scene->pod);
	load_answer_fini(&scene->load);
	profiles_fini(&scene->profiles);
	names_free(scene->names);
}

/* A member that is a list, or NULL where it is missing. */
static int list_member(const struct value **out, const struct value *input,
	const char *key, struct error *err)
{
	const struct value *list = value_get(input, key);

	if (list != NULL && !value_is_array(list)) {
		return error_set(err, -EBADMSG, "'%s' is not a list", key);
	}
	*out = list;
	return 0;
}

static int read_policy(struct scene *scene, const struct value *input,
	struct error *err)
{
	const struct value *policy = value_get(input, "policy");

	if (policy != NULL && value_text(policy) == NULL) {
		return error_set(err, -EBADMSG, "'policy' is not a string");
	}
	return policy_find(&scene->policy,
		policy != NULL ? value_text(policy) : "real-load",
		value_get(input, "policy_args"), err);
}

static int read_load(struct scene *scene, const struct value *input,
	struct error *err)
{
	const struct value *load = value_get(input, "load");

	if (load == NULL || value_is_null(load)) {
		return 0;
	}
	return load_answer_read(&scene->load, load, err);
}

static bool take_seconds(int64_t *us, double seconds)
{
	const double year_10000 = 253402300800.0;

	if (!(seconds >= 0) || seconds > year_10000) {
		return false;
	}
	*us = (int64_t)(seconds * 1e6);
	return true;
}

/* "now" of the input; without it that of the load. */
static int read_now(struct scene *scene, const struct value *input,
	struct error *err)
{
	const struct value *now = value_get(input, "now");
	double seconds = scene->load.now_s;
	int r = 0;

	if (value_text(now) != NULL) {
		r = moment_parse(&scene->now_us, value_text(now), err);
		scene->has_now = r == 0;
		return r < 0 ? error_wrap(err, r, "'now'") : 0;
	}
	if (now == NULL && !scene->load.has_now) {
		return 0;
	}
	if ((now != NULL && !value_number(&seconds, now)) ||
		!take_seconds(&scene->now_us, seconds)) {
		return error_set(err, -EBADMSG, "'now' is not a time");
	}
	scene->has_now = true;
	return 0;
}

static int read_pod(struct scene *scene, const struct value *input,
	struct error *err)
{
	const struct value *pod = value_get(input, "pod");
	int r;

	if (!value_is_object(pod)) {
		return error_set(err, -EBADMSG, "'pod' is not an object");
	}
	r = pod_new(&scene->pod, scene->names, pod, POD_TO_PLACE, err);
	if (r == 0) {
		profiles_apply(&scene->profiles, scene->pod);
	}
	return r;
}

static int read_nodes(struct scene *scene, const struct value *input,
	struct error *err)
{
	const struct value *list = NULL;
	int r = list_member(&list, input, "nodes", err);

	if (r < 0) {
		return r;
	}
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		struct node *node = NULL;

		r = node_new(&node, scene->names, v, err);
		if (r < 0) {
			return r;
		}
		cluster_add_node(&scene->cluster, node);
		if (map_put(&scene->by_name, node->name, node) != NULL) {
			return error_set(err, -EINVAL,
				"node '%.100s' is there twice", node->name);
		}
	}
	return 0;
}

/* The pod that is asked about holds nothing yet, even if it is in the list. */
static bool is_same(const struct pod *a, const struct pod *b)
{
	return strcmp(a->namespace, b->namespace) == 0 &&
		strcmp(a->name, b->name) == 0;
}

static void place(struct scene *scene, struct pod *pod)
{
	struct node *node = map_get(&scene->by_name, pod->node_name);

	if (*pod->node_name == '\0' && *pod->nominated_node != '\0' &&
		!pod_is_over(pod) && !is_same(pod, scene->pod)) {
		scene->pods[scene->pod_count++] = pod;
		cluster_nominate(&scene->cluster, pod);
		return;
	}
	if (node == NULL || pod_is_over(pod) || is_same(pod, scene->pod)) {
		pod_free(pod);
		return;
	}
	scene->pods[scene->pod_count++] = pod;
	cluster_place(&scene->cluster, node, pod,
		scene->has_now ? pod->bound_wall_us : MOMENT_LONG_AGO);
}

static int read_pods(struct scene *scene, const struct value *input,
	struct error *err)
{
	const struct value *list = NULL;
	int r = list_member(&list, input, "pods", err);

	if (r < 0) {
		return r;
	}
	scene->pods = xcalloc(value_count(list), sizeof(struct pod *));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		struct pod *pod = NULL;

		r = pod_new(&pod, scene->names, v, POD_PLACED, err);
		if (r < 0) {
			return r;
		}
		profiles_apply(&scene->profiles, pod);
		place(scene, pod);
	}
	return 0;
}

static void apply_loads(struct scene *scene)
{
	int64_t since_us = 0;

	if (scene->load.has_now) {
		(void)take_seconds(&since_us, scene->load.now_s);
		since_us = scene->now_us - since_us;
	}
	for (size_t i = 0; i < scene->load.count; i++) {
		const struct node_load *load = &scene->load.nodes[i];
		struct node *node = map_get(&scene->by_name, load->name);
		int64_t age_us = (int64_t)load->age_us + since_us;

		if (node != NULL) {
			node_set_load(node, load, scene->now_us - age_us,
				scene->now_us);
		}
	}
}

static int read_objects(struct scene *scene, const struct value *input,
	struct error *err)
{
	const struct value *list = NULL;
	int r = list_member(&list, input, "objects", err);

	for (const struct value *v = value_first(list); v != NULL && r == 0;
		v = value_next(v)) {
		enum cluster_kind kind;

		if (!value_is_object(v)) {
			return error_set(err, -EBADMSG,
				"'objects' holds what is no object");
		}
		/* Others, like a ConfigMap, say nothing to a decision. */
		if (cluster_kind_find(&kind, value_text_at(v, "kind", ""))) {
			r = cluster_put_object(&scene->cluster, kind, v, err);
		}
	}
	return r;
}

static int read_profiles(struct scene *scene, const struct value *input,
	struct error *err)
{
	return profiles_read(&scene->profiles, value_get(input, "vms"), err);
}

static int scene_read(struct scene *scene, const struct value *input,
	struct error *err)
{
	static int (*const parts[])(struct scene *, const struct value *,
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

	if (!value_is_object(input)) {
		return error_set(err, -EBADMSG, "the input is not an object");
	}
	r = read_policy(scene, input, err);
	for (size_t i = 0; i < count_of(parts) && r == 0; i++) {
		r = parts[i](scene, input, err);
	}
	if (r == 0) {
		apply_loads(scene);
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

static void write_answer(struct buffer *out, const struct decision *d)
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
	struct scene scene = { .names = names_new() };
	struct decision decision = { .policy = &scene.policy };
	const struct filter_options options = FILTER_DEFAULTS;
	struct value *input = NULL;
	int r = value_parse(&input, text, len, err);

	cluster_init(&scene.cluster, scene.names);
	if (r == 0) {
		r = scene_read(&scene, input, err);
	}
	if (r == 0) {
		decide(&decision, scene.pod, &scene.cluster, &options,
			scene.now_us);
		write_answer(out, &decision);
	}
	if (r == 0 && out->overflowed) {
		r = error_set(err, -EFBIG, "the answer is too large");
	}
	decision_fini(&decision);
	scene_fini(&scene);
	value_free(input);
	return r;
}

int score_command(const char *path, FILE *out, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(SCORE_INPUT_MAX);
	scoped_buffer struct buffer answer = BUFFER_MAX(ANSWER_MAX);
	int r = file_read(&text, strcmp(path, "-") == 0 ? "/dev/stdin" : path,
		err);

	if (r == 0) {
		r = score_text(&answer, text.data != NULL ? text.data : "",
			text.len, err);
	}
	if (r < 0) {
		return r;
	}
	if (fwrite(answer.data, 1, answer.len, out) != answer.len ||
		fflush(out) != 0) {
		return error_errno(err, "cannot write the answer");
	}
	return 0;
}
