#include "scheduler/answers/plan_answer.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/answers/plan_sentence.h"
#include "scheduler/answers/plan_tally.h"
#include "scheduler/answers/waves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_MAX = 4096 };

/* ---- the question ---- */

void plan_question_init(struct plan_question *question,
	const struct plan_spec *spec, const char *namespace, bool is_visible)
{
	*question = (struct plan_question){ .goal = spec->goal,
		.is_visible = is_visible,
		.name = spec->name == NULL ? NULL : xstrdup(spec->name),
		.nodes = xcalloc(spec->node_count + 1, sizeof(char *)),
		.node_count = spec->node_count,
		.limits = migration_limits_default };
	(void)snprintf(question->namespace, sizeof(question->namespace), "%s",
		namespace);
	for (size_t i = 0; i < spec->node_count; i++) {
		question->nodes[i] = xstrdup(spec->nodes[i]);
	}
}

void plan_question_fini(struct plan_question *question)
{
	for (size_t i = 0; i < question->node_count; i++) {
		free(question->nodes[i]);
	}
	free(question->nodes);
	free(question->name);
	pod_free(question->pod);
	*question = (struct plan_question){ 0 };
}

/* ---- the goal ---- */

static bool find_node(size_t *out, const struct cluster *cluster,
	const char *name)
{
	for (size_t i = 0; i < cluster->count; i++) {
		if (strcmp(cluster->nodes[i]->name, name) == 0) {
			*out = i;
			return true;
		}
	}
	return false;
}

static struct pod *find_vm(const struct plan_input *input,
	const char *namespace, const char *name)
{
	for (size_t i = 0; i < input->vm_count; i++) {
		struct pod *pod = input->vms[i].pod;

		if (strcmp(pod->namespace, namespace) == 0 &&
			strcmp(pod->vm_name, name) == 0) {
			return pod;
		}
	}
	return NULL;
}

/* 200, or the status and the sentence of a name that is not known. */
static unsigned read_goal(struct plan_goal *out, size_t *nodes,
	const struct plan_question *question, const struct plan_input *input,
	struct buffer *words)
{
	static const enum plan_goal_kind kinds[GOALS] = {
		[GOAL_EVACUATE] = PLAN_NODE_DRAINED,
		[GOAL_NODES_GONE] = PLAN_NODES_GONE,
		[GOAL_MOVE] = PLAN_VM_ELSEWHERE,
		[GOAL_MAKE_ROOM] = PLAN_POD_FITS,
	};

	*out = (struct plan_goal){ .kind = kinds[question->goal],
		.pod = question->pod,
		.nodes = nodes,
		.node_count = question->node_count };
	for (size_t i = 0; i < question->node_count; i++) {
		if (!find_node(&nodes[i], input->cluster, question->nodes[i])) {
			buffer_printf(words, "no node %s is known",
				question->nodes[i]);
			return 404;
		}
	}
	if (question->goal == GOAL_MOVE) {
		out->pod = find_vm(input, question->namespace, question->name);
	}
	if (question->goal == GOAL_MOVE && out->pod == NULL) {
		buffer_printf(words, "the VM %s/%s does not run",
			question->namespace, question->name);
		return 404;
	}
	return 200;
}

/* ---- the answer ---- */

static const char *vm_name(const struct pod *pod)
{
	return *pod->vm_name != '\0' ? pod->vm_name : pod->name;
}

static void write_vm(struct json *j, const struct pod *pod)
{
	json_string(j, "namespace", pod->namespace);
	json_string(j, "vmName", vm_name(pod));
}

static void write_steps(struct json *j, const struct plan_result *result)
{
	struct node *const *nodes = result->input->cluster->nodes;

	json_array(j, "steps");
	for (size_t i = 0; i < result->plan.count; i++) {
		const struct plan_step *step = &result->plan.steps[i];

		if (!plan_result_shows(result, step->pod)) {
			continue;
		}
		json_object(j, NULL);
		json_unsigned(j, "wave", result->waves[i]);
		json_string(j, "action",
			step->kind == PLAN_MOVE ? "Migrate" : "Start");
		write_vm(j, step->pod);
		json_string(j, "sourceNode", nodes[step->source]->name);
		json_string(j, "targetNode", nodes[step->target]->name);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_left(struct json *j, const char *key,
	const struct plan_result *result)
{
	json_array(j, key);
	for (size_t i = 0; i < result->plan.left_count; i++) {
		const struct plan_left *left = &result->plan.left[i];

		if (!plan_result_shows(result, left->pod)) {
			continue;
		}
		json_object(j, NULL);
		write_vm(j, left->pod);
		json_string(j, "nodeName",
			result->input->cluster->nodes[left->node]->name);
		json_string(j, "reason", left->why);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_nodes(struct json *j, const struct plan_result *result)
{
	scoped_free struct plan_node *nodes = plan_tally_nodes(result);

	json_array(j, "nodes");
	for (size_t i = 0; i < result->input->cluster->count; i++) {
		const struct plan_node *node = &nodes[i];

		if (!node->is_touched) {
			continue;
		}
		json_object(j, NULL);
		json_string(j, "name", result->input->cluster->nodes[i]->name);
		json_bool(j, "isTarget", node->is_target);
		json_number(j, "cpuBefore", node->cpu_before);
		json_number(j, "cpuAfter", node->cpu_after);
		json_number(j, "memoryBefore", node->memory_before);
		json_number(j, "memoryAfter", node->memory_after);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_hidden(struct json *j, const struct plan_result *result)
{
	const struct plan_hidden hidden = plan_tally_hidden(result);

	json_object(j, "hidden");
	json_unsigned(j, "vms", hidden.vms);
	json_unsigned(j, "steps", hidden.steps);
	json_unsigned(j, "stuck", hidden.stuck);
	json_unsigned(j, "lost", hidden.lost);
	json_object_end(j);
}

static void write_result(struct buffer *out, const struct plan_result *result,
	uint64_t wall_us)
{
	scoped_buffer struct buffer words = BUFFER_MAX(SENTENCE_MAX);
	const struct plan_question *question = result->question;
	const struct plan *plan = &result->plan;
	bool is_gone = question->goal == GOAL_NODES_GONE;
	struct json j = json_into(out);
	char when[CLOCK_TEXT_MAX];

	plan_sentence(&words, result);
	json_object(&j, NULL);
	json_bool(&j, "found", plan->is_found);
	json_bool(&j, "cutOff", plan->is_cut_off);
	json_string(&j, "sentence", words.data);
	json_string(&j, "scheduler", question->scheduler);
	json_string(&j, "time", clock_text(when, wall_us));
	if (plan->node != PLAN_NOWHERE) {
		json_string(&j, "nodeName",
			result->input->cluster->nodes[plan->node]->name);
	}
	json_unsigned(&j, "waves", result->wave_count);
	write_steps(&j, result);
	write_left(&j, is_gone ? "lost" : "stuck", result);
	json_array(&j, is_gone ? "stuck" : "lost");
	json_array_end(&j);
	write_nodes(&j, result);
	write_hidden(&j, result);
	json_object_end(&j);
}

unsigned plan_answer_write(struct buffer *out,
	const struct plan_question *question, const struct plan_input *input,
	uint64_t wall_us)
{
	scoped_free size_t *nodes =
		xcalloc(question->node_count + 1, sizeof(size_t));
	struct plan_result result = { .question = question, .input = input };
	struct plan_input more = *input;
	struct plan_goal goal;
	unsigned status = read_goal(&goal, nodes, question, input, out);

	if (status != 200) {
		return status;
	}
	/* People empty nodes with many VMs. */
	more.max_moves = question->goal == GOAL_EVACUATE ? PLAN_MOVES_MAX
							 : input->max_moves;
	plan_find(&result.plan, &more, &goal);
	result.waves = xcalloc(result.plan.count + 1, sizeof(unsigned));
	result.wave_count = waves_assign(result.waves, result.plan.steps,
		result.plan.count, &question->limits);
	write_result(out, &result, wall_us);
	free(result.waves);
	plan_fini(&result.plan);
	if (out->overflowed) {
		buffer_clear(out);
		buffer_text(out, "the answer is too long");
		return 500;
	}
	return 200;
}
