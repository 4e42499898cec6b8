#include "scheduler/rebalance/pressure.h"

#include <math.h>
#include <string.h>

#include "lib/memory.h"
#include "scheduler/rebalance/rule.h"

static const double gb = 1e9;

struct trouble {
	const struct pressure_watch *watch;
	const struct fleet_node *node;
	enum move_reason reason;
	double lacking_bytes; /* of memory, on the node */
};

struct victim {
	size_t vm;
	double relief, per_gb, copied_bytes;
	double needed_bytes; /* on the target */
};

/* Up to the goal, and what does not fit into memory and is in swap. Tasks that
 * wait although neither is missing lack an unknown amount. */
static double lacking_bytes(const struct pressure_watch *watch)
{
	double lacking = fmax(pressure_goal_bytes(watch->total_bytes) -
			watch->available_bytes,
		0);

	for (size_t i = 0; i < watch->vm_count; i++) {
		lacking += watch->vms[i].swap_bytes;
	}
	return lacking > 0 ? lacking : (double)INFINITY;
}

/* A VM that itself waits counts up to twice. More memory than the node lacks is
 * no relief. */
static double relief_of(const struct trouble *trouble,
	const struct pressure_vm *use, double held_bytes)
{
	switch (trouble->reason) {
	case MOVE_FOR_MEMORY:
		return fmin(held_bytes, trouble->lacking_bytes) *
			(1 + use->memory_pressure);
	case MOVE_FOR_IO:
		return use->io_pressure >= PRESSURE_VM_WAITS ? use->io_pressure
							     : 0;
	default:
		return 1;
	}
}

/* False: the VM cannot be moved, or that relieves nothing. */
static bool weigh(struct victim *out, const struct trouble *trouble,
	const struct fleet_vm *vm, size_t index)
{
	static const struct pressure_vm unknown = { .memory_bytes = NAN };
	const struct pressure_vm *use;
	double held, copied;

	if (!vm->may_move) {
		return false; /* its pod may have no name */
	}
	use = pressure_watch_find(trouble->watch, vm->pod->uid);
	if (use == NULL && trouble->reason != MOVE_FOR_KVM) {
		return false;
	}
	use = use == NULL ? &unknown : use;
	held = isnan(use->memory_bytes) ? vm->memory_bytes
					: use->memory_bytes + use->swap_bytes;
	copied = vm->memory_bytes > 0 ? vm->memory_bytes : held;
	*out = (struct victim){
		.vm = index,
		.relief = relief_of(trouble, use, held),
		.copied_bytes = copied,
		.needed_bytes = held,
	};
	out->per_gb = out->relief / (copied / gb + PRESSURE_MOVE_GB);
	return out->per_gb > 0;
}

/* a comes before b: the smaller copy wins among equals. */
static bool comes_first(const struct victim *a, const struct victim *b)
{
	return a->per_gb > b->per_gb ||
		(a->per_gb >= b->per_gb && a->copied_bytes < b->copied_bytes);
}

/* Inserts the victim by rank; returns the new count. */
static size_t insert(struct victim best[PRESSURE_VICTIMS], size_t count,
	const struct victim *victim)
{
	size_t at = count;

	while (at > 0 && comes_first(victim, &best[at - 1])) {
		at--;
	}
	if (at == PRESSURE_VICTIMS) {
		return count;
	}
	count += count < PRESSURE_VICTIMS ? 1 : 0;
	memmove(&best[at + 1], &best[at], (count - at - 1) * sizeof(best[0]));
	best[at] = *victim;
	return count;
}

static size_t find_victims(struct victim best[PRESSURE_VICTIMS],
	const struct fleet *fleet, const struct trouble *trouble)
{
	const struct fleet_node *node = trouble->node;
	struct victim victim;
	size_t count = 0;

	for (size_t i = 0; i < node->vm_count; i++) {
		size_t index = node->first_vm + i;

		if (weigh(&victim, trouble, &fleet->vms[index], index)) {
			count = insert(best, count, &victim);
		}
	}
	return count;
}

bool pressure_has_room(const struct pressure_options *options,
	const struct fleet_node *target, double bytes, int64_t now_us)
{
	const struct node_metrics *metrics = &target->node->metrics;
	const struct pressure_watch *watch;
	double left;

	if (!target->may_take || !node_metrics_is_fresh(metrics, now_us)) {
		return false;
	}
	watch = options->watch_of(options->owner, target);
	if (watch == NULL || pressure_watch_is_troubled(watch) ||
		watch->memory_full >= PRESSURE_MEMORY_FULL / 2 ||
		watch->io_full >= PRESSURE_IO_FULL / 2) {
		return false;
	}
	left = metrics->memory_available -
		node_vms_memory(&target->node->vms, now_us) - bytes;
	return left >= pressure_goal_bytes(metrics->memory_total);
}

/* The best target of the VM. False: no node can take it. */
static bool find_target(struct fleet_move *out, const struct fleet *fleet,
	const struct pressure_options *options, const struct victim *victim,
	int64_t now_us)
{
	const struct fleet_vm *vm = &fleet->vms[victim->vm];
	double least = INFINITY;

	for (size_t i = 0; i < fleet->node_count; i++) {
		const struct fleet_node *target = &fleet->nodes[i];
		double with, more;

		if (i == vm->node ||
			!pressure_has_room(options, target,
				victim->needed_bytes, now_us)) {
			continue;
		}
		with = fleet_shortage_with(target, vm);
		more = fmax(with - target->shortage, 0);
		if (more < least &&
			options->may_run(options->owner, vm, target)) {
			least = more;
			out->target = i;
			out->target_before = RULE_STEPS * target->shortage;
			out->target_after = RULE_STEPS * with;
		}
	}
	return least < (double)INFINITY;
}

static void fill(struct pressure_move *out, const struct fleet *fleet,
	const struct trouble *trouble, const struct victim *victim)
{
	const struct fleet_node *source = trouble->node;
	struct fleet_move *move = &out->move;

	move->vm = victim->vm;
	move->source_before = RULE_STEPS * source->shortage;
	move->source_after = RULE_STEPS *
		fleet_shortage_without(source, &fleet->vms[victim->vm]);
	move->gain = move->source_before - move->source_after +
		move->target_before - move->target_after;
	out->reason = trouble->reason;
	out->is_recommendation_only = trouble->reason == MOVE_FOR_KVM;
	out->severity =
		pressure_watch_severity(trouble->watch, trouble->reason);
	out->relief = victim->relief;
	out->relief_per_gb = victim->per_gb;
	out->copied_bytes = victim->copied_bytes;
	out->needed_bytes = victim->needed_bytes;
	pressure_watch_text(out->text, trouble->watch, trouble->reason);
}

/* Compares the targets of up to PRESSURE_VICTIMS VMs, and returns how many
 * targets these were. */
static size_t find_move(struct pressure_move *out, bool *has_move,
	const struct fleet *fleet, const struct pressure_options *options,
	const struct trouble *trouble, int64_t now_us)
{
	struct victim victims[PRESSURE_VICTIMS];
	size_t count = find_victims(victims, fleet, trouble);
	size_t tried = 0;

	*has_move = false;
	while (!*has_move && tried < count) {
		*has_move = find_target(&out->move, fleet, options,
			&victims[tried], now_us);
		if (*has_move) {
			fill(out, fleet, trouble, &victims[tried]);
		}
		tried++;
	}
	return tried * fleet->node_count;
}

/* The first trouble of the node that a move relieves. Returns how many targets
 * were compared. */
static size_t find_move_from(struct pressure_move *out, bool *has_move,
	const struct fleet *fleet, const struct pressure_options *options,
	const struct fleet_node *node, int64_t now_us)
{
	static const enum move_reason order[] = { MOVE_FOR_MEMORY, MOVE_FOR_IO,
		MOVE_FOR_KVM };
	const struct pressure_watch *watch =
		node->may_give ? options->watch_of(options->owner, node) : NULL;
	size_t compared = 0;

	*has_move = false;
	for (size_t i = 0; !*has_move && i < count_of(order); i++) {
		if (watch != NULL &&
			pressure_watch_is_sustained(watch, order[i], now_us)) {
			const struct trouble trouble = { watch, node, order[i],
				lacking_bytes(watch) };

			compared += find_move(out, has_move, fleet, options,
				&trouble, now_us);
		}
	}
	return compared;
}

static bool is_better(const struct pressure_search *search,
	const struct fleet *fleet, const struct pressure_move *move)
{
	const struct pressure_move *best = &search->best;

	if (!search->has_best || move->reason != best->reason) {
		return !search->has_best || move->reason < best->reason;
	}
	if (move->severity < best->severity ||
		move->severity > best->severity) {
		return move->severity > best->severity;
	}
	return strcmp(fleet->nodes[fleet->vms[move->move.vm].node].node->name,
		       fleet->nodes[fleet->vms[best->move.vm].node]
			       .node->name) < 0;
}

bool pressure_search(struct pressure_search *search, const struct fleet *fleet,
	const struct pressure_options *options, int64_t now_us,
	size_t max_targets)
{
	struct pressure_move move;
	size_t compared = 0;
	bool has_move;

	for (; search->next_node < fleet->node_count && compared < max_targets;
		search->next_node++) {
		move = (struct pressure_move){ 0 };
		compared += find_move_from(&move, &has_move, fleet, options,
			&fleet->nodes[search->next_node], now_us);
		if (has_move && is_better(search, fleet, &move)) {
			search->best = move;
			search->has_best = true;
		}
	}
	return search->next_node >= fleet->node_count;
}
