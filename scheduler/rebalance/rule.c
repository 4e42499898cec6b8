#include "scheduler/rebalance/rule.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double rule_cooldown_s(unsigned int moves)
{
	const double hour = 3600;

	if (moves == 0) {
		return 0;
	}
	return moves > 3 ? 6 * hour : hour * (double)(1U << (moves - 1));
}

double rule_price(const struct rule_options *options, const struct fleet_vm *vm)
{
	if (options->copy_seconds == NULL) {
		return options->price * RULE_PRICE_FLAT / RULE_PRICE;
	}
	return options->price +
		RULE_COPY_CORES * options->copy_seconds(options->owner, vm) /
		RULE_STEP_S;
}

/* Negative: a comes before b. */
static int compare_vms(const struct fleet_vm *a, const struct fleet_vm *b)
{
	int order = strcmp(a->pod->namespace, b->pod->namespace);

	if (order == 0) {
		order = strcmp(a->pod->vm_name, b->pod->vm_name);
	}
	return order != 0 ? order : strcmp(a->pod->name, b->pod->name);
}

/* The move comes before the best one so far. */
static bool is_better(const struct rule_search *search,
	const struct fleet *fleet, const struct fleet_move *move)
{
	const struct fleet_move *best = &search->best;
	int order;

	if (!search->has_best || move->gain > best->gain) {
		return move->gain > 0;
	}
	if (move->gain < best->gain) {
		return false;
	}
	order = compare_vms(&fleet->vms[move->vm], &fleet->vms[best->vm]);
	if (order == 0) {
		order = strcmp(fleet->nodes[move->target].node->name,
			fleet->nodes[best->target].node->name);
	}
	return order < 0;
}

/* The cost of the VM at the target, at least: no distribution of demand is
 * served better than its mean. Cheap, and spares most pairs of a full
 * cluster. */
static double least_cost(const struct fleet_node *target,
	const struct fleet_vm *vm)
{
	return RULE_STEPS *
		(target->mean + vm->cores - target->cores - target->shortage);
}

/* Without a comparison of doubles by ==, which the compiler warns of. */
static bool is_equal(double a, double b)
{
	return !(a < b) && !(a > b);
}

static bool has_equal_figures(const struct fleet_vm *a,
	const struct fleet_vm *b)
{
	return is_equal(a->cores, b->cores) &&
		is_equal(a->variance, b->variance) &&
		is_equal(a->third, b->third) && is_equal(a->rho, b->rho) &&
		(a->kin == b->kin || !(a->rho > 0));
}

/* A VM that is skipped takes as long as some shortages. */
enum { RULE_SKIPPED = 4 };

/* Keeps the costs of the last VM if this one has the same: true. */
static bool prepare_costs(struct rule_search *search, const struct fleet *fleet,
	const struct fleet_vm *vm)
{
	if (search->costs != NULL && has_equal_figures(&search->costs_of, vm)) {
		return true;
	}
	if (search->costs == NULL) {
		search->node_count = fleet->node_count;
		search->costs =
			xcalloc(search->node_count + 1, sizeof(*search->costs));
	}
	search->costs_of = *vm;
	for (size_t i = 0; i < search->node_count; i++) {
		search->costs[i] = NAN;
	}
	return false;
}

static double cost_at_least(const struct rule_search *search,
	const struct fleet *fleet, const struct fleet_vm *vm, size_t target)
{
	const struct fleet_node *node = &fleet->nodes[target];

	if (!node->may_take) {
		return INFINITY;
	}
	return fmax(isnan(search->costs[target])
			? least_cost(node, vm)
			: search->costs[target] - RULE_STEPS * node->shortage,
		0);
}

/* A VM with the figures of the last one: the best of all targets, whatever the
 * filters say, would not make its move the best one. */
static bool is_hopeless(const struct rule_search *search,
	const struct fleet *fleet, const struct rule_candidate *candidate)
{
	double gain = candidate->saved - search->least;

	return search->has_best &&
		(gain < search->best.gain ||
			(gain <= search->best.gain &&
				compare_vms(&fleet->vms[candidate->vm],
					&fleet->vms[search->best.vm]) > 0));
}

/* saved: what leaving saves, less the price. True: a shortage was computed. */
static bool try_target(struct rule_search *search, const struct fleet *fleet,
	const struct rule_options *options, struct fleet_move *move,
	double saved)
{
	const struct fleet_vm *vm = &fleet->vms[move->vm];
	const struct fleet_node *target = &fleet->nodes[move->target];
	double *cost = &search->costs[move->target];
	bool is_new = isnan(*cost);

	if (is_new) {
		if (saved - least_cost(target, vm) <
			(search->has_best ? search->best.gain : 0)) {
			return false;
		}
		*cost = RULE_STEPS * fleet_shortage_with(target, vm);
	}
	move->target_before = RULE_STEPS * target->shortage;
	move->target_after = *cost;
	/* More VMs never mean less shortage, but approximations may. */
	move->gain = saved - fmax(move->target_after - move->target_before, 0);
	if (is_better(search, fleet, move) &&
		options->may_run(options->owner, vm, target)) {
		search->best = *move;
		search->has_best = true;
	}
	return is_new;
}

/* Nothing that leaves can save more than the node's whole shortage. */
static bool is_worth_a_look(const struct fleet_node *node,
	const struct rule_options *options)
{
	return node->may_give && RULE_STEPS * node->shortage > options->price;
}

static struct rule_candidate weigh(const struct fleet *fleet,
	const struct rule_options *options, size_t index)
{
	const struct fleet_vm *vm = &fleet->vms[index];
	const struct fleet_node *source = &fleet->nodes[vm->node];
	struct rule_candidate out = { .vm = index };

	out.source_after = RULE_STEPS * fleet_shortage_without(source, vm);
	out.saved = RULE_STEPS * source->shortage - out.source_after -
		rule_price(options, vm);
	return out;
}

static size_t try_candidate(struct rule_search *search,
	const struct fleet *fleet, const struct rule_options *options,
	const struct rule_candidate *candidate)
{
	const struct fleet_vm *vm = &fleet->vms[candidate->vm];
	const struct fleet_node *source = &fleet->nodes[vm->node];
	struct fleet_move move = {
		.vm = candidate->vm,
		.source_before = RULE_STEPS * source->shortage,
		.source_after = candidate->source_after,
	};
	double least = INFINITY;
	size_t computed = 0;

	if (prepare_costs(search, fleet, vm) &&
		is_hopeless(search, fleet, candidate)) {
		return RULE_SKIPPED;
	}
	search->costs[vm->node] = RULE_STEPS * fleet_shortage_with(source, vm);
	for (size_t i = 0; i < fleet->node_count; i++) {
		if (i != vm->node && fleet->nodes[i].may_take) {
			move.target = i;
			computed += try_target(search, fleet, options, &move,
				candidate->saved);
		}
		least = fmin(least, cost_at_least(search, fleet, vm, i));
	}
	search->least = least;
	/* A target takes a little time even if its cost is known. */
	return computed + fleet->node_count / 32 + 1;
}

/* ---- the candidates: the one that saves most first ---- */

static void sift_down(struct rule_search *search, size_t at)
{
	struct rule_candidate *heap = search->candidates;
	const struct rule_candidate moved = heap[at];
	size_t child;

	for (; (child = 2 * at + 1) < search->count; at = child) {
		if (child + 1 < search->count &&
			heap[child + 1].saved > heap[child].saved) {
			child++;
		}
		if (heap[child].saved <= moved.saved) {
			break;
		}
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

static void make_heap(struct rule_search *search)
{
	search->count = search->total;
	for (size_t i = search->count / 2; i > 0; i--) {
		sift_down(search, i - 1);
	}
}

void rule_search_again(struct rule_search *search)
{
	search->has_best = false;
	make_heap(search);
}

/* The tried one stays behind the heap. */
static struct rule_candidate take_first(struct rule_search *search)
{
	const struct rule_candidate first = search->candidates[0];

	search->count--;
	search->candidates[0] = search->candidates[search->count];
	search->candidates[search->count] = first;
	if (search->count > 0) {
		sift_down(search, 0);
	}
	return first;
}

static void add_candidate(struct rule_search *search,
	const struct rule_candidate *candidate)
{
	if (!(candidate->saved > 0) ||
		(search->below > 0 && candidate->saved >= search->below)) {
		return;
	}
	search->candidates = xgrow(search->candidates, search->total,
		&search->capacity, sizeof(*search->candidates));
	search->candidates[search->total++] = *candidate;
}

static size_t weigh_on(struct rule_search *search, const struct fleet *fleet,
	const struct rule_options *options, size_t max_shortages)
{
	struct rule_candidate candidate;
	size_t computed = 0;

	while (search->next_vm < fleet->vm_count && computed < max_shortages) {
		const struct fleet_vm *vm = &fleet->vms[search->next_vm];
		const struct fleet_node *node = &fleet->nodes[vm->node];

		if (!is_worth_a_look(node, options)) {
			search->next_vm = node->first_vm + node->vm_count;
			continue;
		}
		if (vm->may_move) {
			candidate = weigh(fleet, options, search->next_vm);
			add_candidate(search, &candidate);
			computed++;
		}
		search->next_vm++;
	}
	if (search->next_vm >= fleet->vm_count) {
		search->is_weighed = true;
		make_heap(search);
	}
	return computed;
}

/* ---- the search ---- */

static bool is_complete(const struct rule_search *search)
{
	return search->is_weighed &&
		(search->count == 0 ||
			(search->has_best &&
				search->candidates[0].saved <
					search->best.gain));
}

bool rule_search(struct rule_search *search, const struct fleet *fleet,
	const struct rule_options *options, size_t max_shortages)
{
	size_t computed = 0;

	if (!search->is_weighed) {
		computed = weigh_on(search, fleet, options, max_shortages);
	}
	while (search->is_weighed && !is_complete(search) &&
		computed < max_shortages) {
		const struct rule_candidate first = take_first(search);
		const struct fleet_vm *vm = &fleet->vms[first.vm];

		computed++;
		if (vm->may_move && fleet->nodes[vm->node].may_give) {
			computed +=
				try_candidate(search, fleet, options, &first);
		}
	}
	return is_complete(search);
}

double rule_search_left(const struct rule_search *search)
{
	return search->is_weighed && search->count > 0
		? search->candidates[0].saved
		: 0;
}

void rule_search_fini(struct rule_search *search)
{
	free(search->candidates);
	free(search->costs);
	*search = (struct rule_search){ 0 };
}
