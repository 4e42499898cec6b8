#include "scheduler/offline/recorded_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json_fields.h"
#include "kube/time.h"
#include "lib/memory.h"

void recorded_state_init(struct recorded_state *state,
	const struct recorded_state_options *options)
{
	*state = (struct recorded_state){
		.options = *options,
		.interner = interner_new(),
	};
	cluster_init(&state->cluster, state->interner);
}

void recorded_state_fini(struct recorded_state *state)
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

int recorded_state_list(const struct json_value **out,
	const struct json_value *input, const char *key, struct error *err)
{
	const struct json_value *items =
		json_value_get(json_value_get(input, key), "items");

	if (json_value_is_array(items)) {
		*out = items;
		return 0;
	}
	return json_fields_optional_list(out, input, key, SIZE_MAX, err);
}

/* ---- the version of Kubernetes ---- */

static int read_overrides(struct behaviour_overrides *out,
	const struct json_value *input, struct error *err)
{
	const struct json_value *list = NULL;
	int r = json_fields_optional_list(&list, input, "kubernetes_behaviours",
		SIZE_MAX, err);

	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		const char *text = json_value_text(v);

		r = behaviours_override(out, text != NULL ? text : "", err);
	}
	return r < 0 ? error_wrap(err, r, "'kubernetes_behaviours'") : 0;
}

/* Without a version, the newest that is known. */
static int read_behaviours(struct recorded_state *state,
	const struct json_value *input, struct error *err)
{
	const struct json_value *version =
		json_value_get(input, "kubernetes_version");
	struct behaviour_overrides overrides = { 0 };
	int minor = BEHAVIOURS_NEWEST;
	int r = 0;

	if (version != NULL && json_value_text(version) == NULL) {
		r = error_set(err, -EBADMSG, "it is not a string");
	} else if (version != NULL) {
		r = behaviours_read_version(&minor, json_value_text(version),
			err);
	}
	if (r < 0) {
		return error_wrap(err, r, "'kubernetes_version'");
	}
	r = read_overrides(&overrides, input, err);
	state->cluster.behaviours = behaviours_of(minor, &overrides);
	return r;
}

/* ---- load and time ---- */

static int read_load(struct recorded_state *state,
	const struct json_value *input, struct error *err)
{
	const struct json_value *load = json_value_get(input, "load");

	if (load == NULL || json_value_is_null(load)) {
		return 0;
	}
	state->has_load = true;
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
static int read_now(struct recorded_state *state,
	const struct json_value *input, struct error *err)
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

static void apply_loads(struct recorded_state *state)
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

/* ---- objects ---- */

static int read_objects(struct recorded_state *state,
	const struct json_value *input, struct error *err)
{
	const struct json_value *list = NULL;
	int r = recorded_state_list(&list, input, "objects", err);

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

static int read_profiles(struct recorded_state *state,
	const struct json_value *input, struct error *err)
{
	return profile_json_read(&state->profiles, input, err);
}

static int read_nodes(struct recorded_state *state,
	const struct json_value *input, struct error *err)
{
	const struct json_value *list = NULL;
	int r = recorded_state_list(&list, input, "nodes", err);

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

/* ---- pods ---- */

/* A pod of the input, read to this depth. A scheduler leaves out what it cannot
 * read of a pod that has a node; here a person can correct it. */
static int read_one(struct pod **out, struct recorded_state *state,
	const struct json_value *object, enum pod_depth depth,
	struct error *err)
{
	struct pod *pod;
	int r = pod_new_by(&pod, state->interner, object, depth,
		state->cluster.behaviours, err);

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

static int read_pod(struct recorded_state *state,
	const struct json_value *input, struct error *err)
{
	const struct json_value *pod = json_value_get(input, "pod");

	if (!state->options.has_pod) {
		return 0;
	}
	if (!json_value_is_object(pod)) {
		return error_set(err, -EBADMSG, "'pod' is not an object");
	}
	return read_one(&state->pod, state, pod, POD_UNSCHEDULED, err);
}

/* The same pod with its constraints, which may be such that it fits no node:
 * then it does not move, and counts where it is. */
static int read_constraints(struct pod **pod, struct recorded_state *state,
	const struct json_value *object, struct error *err)
{
	pod_free(*pod);
	*pod = NULL;
	return read_one(pod, state, object, POD_UNSCHEDULED, err);
}

/* The pod to schedule counts on no node, even if it is in the list. */
static bool is_pod_to_schedule(const struct recorded_state *state,
	const struct pod *pod)
{
	return state->pod != NULL &&
		strcmp(pod->namespace, state->pod->namespace) == 0 &&
		strcmp(pod->name, state->pod->name) == 0;
}

static void add_pod(struct recorded_state *state, struct pod *pod)
{
	struct node *node = map_get(&state->by_name, pod->node_name);
	bool is_nominated =
		*pod->node_name == '\0' && *pod->nominated_node != '\0';

	if ((node == NULL && !is_nominated) || pod_is_terminated(pod) ||
		is_pod_to_schedule(state, pod)) {
		pod_free(pod);
		return;
	}
	state->pods[state->pod_count++] = pod;
	if (is_nominated) {
		cluster_add_nominated(&state->cluster, pod);
		return;
	}
	cluster_add_pod(&state->cluster, node, pod,
		state->has_now ? pod->bound_wall_us : TIME_LONG_AGO);
}

static int read_pods(struct recorded_state *state,
	const struct json_value *input, struct error *err)
{
	const struct json_value *list = NULL;
	int r = recorded_state_list(&list, input, "pods", err);

	if (r < 0) {
		return r;
	}
	state->pods = xcalloc(json_value_count(list), sizeof(struct pod *));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		struct pod *pod = NULL;

		r = read_one(&pod, state, v, POD_SCHEDULED, err);
		if (r == 0 && state->options.has_moves && pod->is_vm) {
			r = read_constraints(&pod, state, v, err);
		}
		if (r < 0) {
			return r;
		}
		add_pod(state, pod);
	}
	return 0;
}

int recorded_state_read(struct recorded_state *state,
	const struct json_value *input, struct error *err)
{
	static int (*const parts[])(struct recorded_state *,
		const struct json_value *, struct error *) = {
		read_behaviours,
		read_load,
		read_now,
		read_objects,
		read_profiles,
		read_pod,
		read_nodes,
		read_pods,
	};
	int r = 0;

	if (!json_value_is_object(input)) {
		return error_set(err, -EBADMSG, "the input is not an object");
	}
	for (size_t i = 0; i < count_of(parts) && r == 0; i++) {
		r = parts[i](state, input, err);
	}
	if (r == 0) {
		apply_loads(state);
	}
	return r;
}
