#include "scheduler/mover/placement.h"

#include "scheduler/rebalance/rule.h"

#include <string.h>

enum { WHY_MAX = 1024 };

/* A target is asked about. */
struct asked {
	const struct placement *placement;
	const struct placement_question *question;
};

static bool has_migration(const struct kubevirt *kubevirt,
	const char *namespace)
{
	const struct migration *migration;
	size_t at = 0;

	while ((migration = kubevirt_next_migration(kubevirt, &at)) != NULL) {
		if (!migration_is_finished(migration) &&
			strcmp(migration->namespace, namespace) == 0) {
			return true;
		}
	}
	return false;
}

/* The reasons why the VM may not stand there; 0: it may, or that is not
 * known. */
static uint64_t reasons_of(struct placement *placement,
	const struct placement_question *q, const struct pod_on_node *running)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);
	const struct pod *next = &placement->next.pod;
	uint64_t reasons;

	next_pod_fini(&placement->next);
	if (!kubevirt_next_pod(q->kubevirt, &placement->next, running->pod,
		    &running->node->labels, &why)) {
		return 0;
	}
	placement->has_counts = standing_needs_counts(next);
	if (placement->has_counts &&
		!standing_prepare(&placement->standing, &q->cache->cluster,
			next, running)) {
		return 0;
	}
	reasons = standing_by_rules(next, running->node);
	if (reasons == 0 && placement->has_counts &&
		!has_migration(q->kubevirt, running->pod->namespace)) {
		reasons =
			standing_by_counts(&placement->standing, running->node);
	}
	return reasons;
}

/* ---- its target ---- */

static bool may_place(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	const struct asked *asked = owner;
	const struct placement *placement = asked->placement;
	const struct placement_question *q = asked->question;
	const struct node *node = cache_node(q->cache, target->node->name);

	return node != NULL &&
		(!placement->has_counts ||
			standing_by_counts(&placement->standing, node) == 0) &&
		q->may_run(q->owner, vm, target);
}

/* The node, if it may give a VM; NULL: it may not. */
static const struct fleet_node *find_source(const struct fleet *fleet,
	const char *name)
{
	for (size_t i = 0; i < fleet->node_count; i++) {
		const struct fleet_node *node = &fleet->nodes[i];

		if (node->may_give && strcmp(node->node->name, name) == 0) {
			return node;
		}
	}
	return NULL;
}

/* The VM, if it may move, of a node that may give it. */
static bool find_vm(const struct fleet *fleet, const struct pod *pod,
	size_t *out)
{
	const struct fleet_node *node = find_source(fleet, pod->node_name);
	size_t end = node == NULL ? 0 : node->first_vm + node->vm_count;

	for (*out = node == NULL ? 0 : node->first_vm; *out < end; (*out)++) {
		if (fleet->vms[*out].may_move &&
			strcmp(fleet->vms[*out].pod->uid, pod->uid) == 0) {
			return true;
		}
	}
	return false;
}

/* The target of an earlier round stays while it admits the VM. */
static bool find_kept(struct asked *asked, const struct fleet_vm *vm,
	size_t *target)
{
	const struct fleet *fleet = asked->question->fleet;
	const struct proposal *last = proposals_of(asked->question->proposals,
		vm->pod->namespace, vm->pod->vm_name);

	for (*target = 0; last != NULL && *target < fleet->node_count;
		(*target)++) {
		const struct fleet_node *node = &fleet->nodes[*target];

		if (*target != vm->node && node->may_take &&
			strcmp(node->node->name, last->record.target) == 0) {
			return may_place(asked, vm, node);
		}
	}
	return false;
}

static void set_figures(struct fleet_move *move, const struct fleet *fleet)
{
	const struct fleet_vm *vm = &fleet->vms[move->vm];
	const struct fleet_node *source = &fleet->nodes[vm->node];
	const struct fleet_node *target = &fleet->nodes[move->target];

	move->source_before = RULE_STEPS * source->shortage;
	move->source_after = RULE_STEPS * fleet_shortage_without(source, vm);
	move->target_before = RULE_STEPS * target->shortage;
	move->target_after = RULE_STEPS * fleet_shortage_with(target, vm);
	move->gain = move->source_before - move->source_after +
		move->target_before - move->target_after;
}

static bool find_target(struct asked *asked, struct placement_move *out)
{
	const struct fleet *fleet = asked->question->fleet;
	const struct fleet_vm *vm = &fleet->vms[out->move.vm];
	struct second_target best;

	out->move.target = vm->node;
	if (!find_kept(asked, vm, &out->move.target)) {
		out->move.target = vm->node;
		best = second_target_find(fleet, &out->move, may_place, asked);
		if (!best.exists) {
			return false;
		}
		out->move.target = best.node;
	}
	set_figures(&out->move, fleet);
	out->next = second_target_find(fleet, &out->move, may_place, asked);
	return true;
}

bool placement_find(struct placement *placement,
	const struct placement_question *question, struct placement_move *out)
{
	const struct pod *pod = cache_pod(question->cache, question->pod_uid);
	const struct node *node = pod == NULL
		? NULL
		: cache_node(question->cache, pod->node_name);
	struct asked asked = { placement, question };
	uint64_t reasons;

	*out = (struct placement_move){ 0 };
	if (node == NULL || !find_vm(question->fleet, pod, &out->move.vm)) {
		return false;
	}
	reasons = reasons_of(placement, question,
		&(const struct pod_on_node){ pod, node });
	if (reasons == 0) {
		return false;
	}
	out->why = standing_text(reasons);
	return find_target(&asked, out);
}

void placement_fini(struct placement *placement)
{
	next_pod_fini(&placement->next);
	standing_fini(&placement->standing);
}
