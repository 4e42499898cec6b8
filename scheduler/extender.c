#include "scheduler/extender.h"

#include "kube/json_value.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/filter/filter.h"
#include "scheduler/score/decide.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ExtenderArgs. */
struct args {
	struct json_value *root;
	const struct json_value *names; /* all strings */
	struct pod *pod;
};

static void args_fini(struct args *args)
{
	pod_free(args->pod);
	json_value_free(args->root);
}

static int check_names(const struct json_value *names, struct error *err)
{
	if (!json_value_is_array(names)) {
		return error_set(err, -EBADMSG,
			"'NodeNames' is not a list: set nodeCacheCapable to "
			"true for this extender");
	}
	for (const struct json_value *v = json_value_first(names); v != NULL;
		v = json_value_next(v)) {
		if (json_value_text(v) == NULL) {
			return error_set(err, -EBADMSG,
				"'NodeNames' holds an element that is not a "
				"string");
		}
	}
	return 0;
}

static int read_args(struct args *out, struct interner *interner,
	const struct extender_request *request, struct error *err)
{
	int r = json_value_parse_bounded(&out->root, request->body,
		request->len, err);

	if (r < 0) {
		return r;
	}
	out->names = json_value_get(out->root, "NodeNames");
	r = check_names(out->names, err);
	if (r < 0) {
		return r;
	}
	if (!json_value_is_object(json_value_get(out->root, "Pod"))) {
		return error_set(err, -EBADMSG, "'Pod' is not an object");
	}
	r = pod_new(&out->pod, interner, json_value_get(out->root, "Pod"),
		POD_SCHEDULED, err);
	if (r == 0 && out->pod->unsupported != NULL) {
		r = error_set(err, -EBADMSG, "%s", out->pod->unsupported);
	}
	return r;
}

/* ---- filter ---- */

struct judgement {
	const char *name;
	const struct node *node; /* NULL: unknown */
	uint64_t reasons;
	double score; /* NAN: unknown */
	bool has_load;
};

/* Removing other pods would free memory, but not repair KVM. */
static bool is_resolvable(uint64_t reasons)
{
	return (reasons & ~FILTER_USED) == 0;
}

static void write_failures(struct json *j, const struct args *args,
	const struct judgement *nodes, size_t count, bool resolvable)
{
	const struct prefilter prefilter = { .pod = args->pod };

	json_object(j,
		resolvable ? "FailedNodes" : "FailedAndUnresolvableNodes");
	for (size_t i = 0; i < count; i++) {
		uint64_t reasons = nodes[i].reasons;
		char text[FILTER_REASON_TEXT_MAX];

		if (reasons != 0 && is_resolvable(reasons) == resolvable) {
			json_string(j, nodes[i].name,
				filter_reason_text(text, sizeof(text),
					&prefilter,
					(unsigned int)__builtin_ctzll(
						reasons)));
		}
	}
	json_object_end(j);
}

static void write_filtered(struct buffer *out, const struct args *args,
	const struct judgement *nodes, size_t count)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_array(&j, "NodeNames");
	for (size_t i = 0; i < count; i++) {
		if (nodes[i].reasons == 0) {
			json_string(&j, NULL, nodes[i].name);
		}
	}
	json_array_end(&j);
	write_failures(&j, args, nodes, count, true);
	write_failures(&j, args, nodes, count, false);
	json_string(&j, "Error", "");
	json_object_end(&j);
}

/* ---- prioritize ---- */

static void score_all(const struct args *args, struct judgement *nodes,
	size_t count, const struct extender_view *view)
{
	struct score_context context;

	decide_context(&context, args->pod, &view->cache->cluster, view->policy,
		view->now_us);
	for (size_t i = 0; i < count; i++) {
		struct score score;

		nodes[i].score = NAN;
		if (nodes[i].node != NULL) {
			score_node(&score, nodes[i].node, &context);
			nodes[i].score = score.total;
			nodes[i].has_load = score.trust > 0;
		}
	}
}

/* 10 for the best node; 0 for one that is ten EXTENDER_STEPs behind, and for
 * unknown nodes, which never beat known ones. */
static int64_t to_steps(double score, double best)
{
	double points = 10 - round((best - score) / EXTENDER_STEP);

	return points > 0 ? (int64_t)points : 0;
}

static void write_scores(struct buffer *out, const struct judgement *nodes,
	size_t count, bool is_judged)
{
	struct json j = json_into(out);
	double best = NAN;

	for (size_t i = 0; i < count; i++) {
		best = fmax(best, nodes[i].score);
	}
	json_array(&j, NULL);
	for (size_t i = 0; i < count; i++) {
		json_object(&j, NULL);
		json_string(&j, "Host", nodes[i].name);
		json_integer(&j, "Score",
			is_judged ? to_steps(nodes[i].score, best) : 0);
		json_object_end(&j);
	}
	json_array_end(&j);
}

/* ---- both ---- */

static void judge_nodes(struct judgement *nodes, const struct args *args,
	const struct extender_view *view)
{
	static const struct filter_options options = FILTER_DEFAULTS;
	size_t i = 0;

	for (const struct json_value *v = json_value_first(args->names);
		v != NULL; v = json_value_next(v), i++) {
		nodes[i].name = json_value_text(v);
		nodes[i].node = view->is_synced
			? cache_node(view->cache, nodes[i].name)
			: NULL;
		if (nodes[i].node != NULL) {
			nodes[i].has_load = node_metrics_is_fresh(
				&nodes[i].node->metrics, view->now_us);
			nodes[i].reasons = filter_by_metrics(args->pod,
				nodes[i].node, &options, view->now_us);
		}
	}
}

int extender_answer(struct buffer *out, enum extender_outcome *outcome,
	const struct extender_view *view,
	const struct extender_request *request, struct error *err)
{
	struct args args = { 0 };
	int r = read_args(&args, view->cache->interner, request, err);
	struct judgement *nodes;
	bool is_judged = false;
	size_t count;

	*outcome = EXTENDER_REFUSED;
	if (r == 0) {
		count = json_value_count(args.names);
		nodes = xcalloc(count, sizeof(*nodes));
		judge_nodes(nodes, &args, view);
		if (request->verb == EXTENDER_PRIORITIZE) {
			score_all(&args, nodes, count, view);
		}
		for (size_t i = 0; i < count; i++) {
			is_judged |= nodes[i].has_load;
		}
		if (request->verb == EXTENDER_FILTER) {
			write_filtered(out, &args, nodes, count);
		} else {
			write_scores(out, nodes, count, is_judged);
		}
		*outcome = is_judged ? EXTENDER_JUDGED : EXTENDER_NO_OPINION;
		free(nodes);
	}
	args_fini(&args);
	return r;
}
