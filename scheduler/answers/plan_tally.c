#include "scheduler/answers/plan_tally.h"

#include "lib/memory.h"

#include <math.h>
#include <string.h>

/* ---- nodes ---- */

static bool is_measured(const struct node *node, int64_t now_us)
{
	const struct node_metrics *m = &node->metrics;

	return node_metrics_is_fresh(m, now_us) && m->memory_total > 0 &&
		!isnan(m->memory_available);
}

static const struct node_vm *find_vm(const struct node *node,
	const struct pod *pod)
{
	for (size_t i = 0; i < node->vms.count; i++) {
		const struct node_vm *vm = &node->vms.list[i];

		if (strncmp(vm->uid, pod->uid, sizeof(vm->uid) - 1) == 0) {
			return vm;
		}
	}
	return NULL;
}

/* Bytes that the VM takes from its target, or leaves to its source. Where
 * memory in use counts, a VM that nobody measured takes its request and leaves
 * nothing. */
static double bytes_of(const struct plan_step *step, const struct node *source,
	bool is_use, int sign)
{
	const struct node_vm *vm = find_vm(source, step->pod);

	if (is_use && vm != NULL && vm->charge.is_seen &&
		vm->charge.seen_memory_bytes > 0) {
		return vm->charge.seen_memory_bytes;
	}
	return is_use && sign < 0 ? 0
				  : (double)step->pod->requests.memory_bytes;
}

static double memory_of(const struct node *node, bool is_use)
{
	const struct node_metrics *m = &node->metrics;

	return is_use ? m->memory_total - m->memory_available
		      : (double)node->memory_bytes_requested;
}

static double memory_all(const struct node *node, bool is_use)
{
	return is_use ? node->metrics.memory_total : (double)node->memory_bytes;
}

static void touch(struct plan_node *out, const struct node *node, double cpu,
	int64_t now_us)
{
	bool is_use = is_measured(node, now_us);

	if (out->is_touched) {
		return;
	}
	*out = (struct plan_node){ .is_touched = true,
		.cpu_before = cpu,
		.cpu_after = cpu,
		.memory_before =
			memory_of(node, is_use) / memory_all(node, is_use) };
	out->memory_after = out->memory_before;
}

/* The VM comes (sign 1) or leaves (sign -1). */
static void count_step(struct plan_node *out, const struct plan_result *result,
	const struct plan_step *step, size_t index, int sign)
{
	const struct cluster *cluster = result->input->cluster;
	const struct node *node = cluster->nodes[index];
	bool is_use = is_measured(node, result->input->now_us);

	touch(out, node,
		sign > 0 ? step->target_load_before : step->source_load_before,
		result->input->now_us);
	out->is_target |= sign > 0;
	out->cpu_after =
		sign > 0 ? step->target_load_after : step->source_load_after;
	out->memory_after += sign *
		bytes_of(step, cluster->nodes[step->source], is_use, sign) /
		memory_all(node, is_use);
}

struct plan_node *plan_tally_nodes(const struct plan_result *result)
{
	struct plan_node *nodes =
		xcalloc(result->input->cluster->count + 1, sizeof(*nodes));

	for (size_t i = 0; i < result->plan.count; i++) {
		const struct plan_step *step = &result->plan.steps[i];

		/* A node that is gone is no more. */
		if (step->kind == PLAN_MOVE) {
			count_step(&nodes[step->source], result, step,
				step->source, -1);
		}
		count_step(&nodes[step->target], result, step, step->target, 1);
	}
	return nodes;
}

/* ---- hidden VMs ---- */

bool plan_result_shows(const struct plan_result *result, const struct pod *pod)
{
	const struct plan_question *question = result->question;

	return question->is_visible ||
		strcmp(pod->namespace, question->namespace) == 0;
}

/* No VM is in two lists. */
struct plan_hidden plan_tally_hidden(const struct plan_result *result)
{
	const struct plan *plan = &result->plan;
	struct plan_hidden hidden = { 0 };
	size_t left = 0;

	for (size_t i = 0; i < plan->count; i++) {
		hidden.steps += !plan_result_shows(result, plan->steps[i].pod);
	}
	for (size_t i = 0; i < plan->left_count; i++) {
		left += !plan_result_shows(result, plan->left[i].pod);
	}
	*(result->question->goal == GOAL_NODES_GONE ? &hidden.lost
						    : &hidden.stuck) = left;
	hidden.vms = hidden.steps + left;
	return hidden;
}
