#include "scheduler/mover/round.h"

#include "lib/clock.h"
#include "scheduler/mover/move_words.h"
#include "scheduler/mover/second_target.h"

#include <math.h>
#include <string.h>

static double copy_seconds(void *owner, const struct fleet_vm *vm)
{
	const struct round *round = owner;

	return round->copy_pace * vm->memory_bytes;
}

static bool is_other_scheduler(const struct round *round,
	const struct fleet_vm *vm)
{
	const struct pod *pod = cache_pod(round->sources.cache, vm->pod->uid);

	return pod != NULL &&
		strcmp(pod->scheduler_name, round->sources.scheduler_name) != 0;
}

/* Nobody may order a move of the VM now. */
static bool is_advice_only(const struct round *round, const struct fleet_vm *vm)
{
	return is_other_scheduler(round, vm) ||
		move_pauses_of(&round->pauses, vm->pod->namespace).until_us >
		round->sources.wall_us;
}

static bool may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	struct round *round = owner;

	return live_filter_may_run(&round->filter, vm, target);
}

/* While the search found no move, the targets that are asked for are all that
 * would pay. A VM that none of them may take is held back. */
static bool may_move(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	struct round *round = owner;
	bool may = may_run(round, vm, target);
	struct host_demand demand;
	bool has_move = round->moves + round->recommended > 0 ||
		round->pressure.has_best || round->search.has_best;

	if (may) {
		not_movable_forget_demand(&round->build.not_movable, vm->pod);
	} else if (!has_move &&
		not_movable_may_list(&round->build.not_movable, vm->pod) &&
		live_filter_unmet(&round->filter, target, &demand)) {
		not_movable_note_demand(&round->build.not_movable, vm->pod,
			round->build.fleet.nodes[vm->node].node, &demand);
	}
	return may;
}

static struct rule_options options_of(struct round *round)
{
	return (struct rule_options){
		.price = round->price,
		.copy_seconds = isnan(round->copy_pace) ? NULL : copy_seconds,
		.may_run = may_move,
		.owner = round,
	};
}

void round_begin(struct round *round)
{
	round->phase = ROUND_BUILDING;
	move_pauses_fini(&round->pauses);
	move_pauses_init(&round->pauses, round->sources.records);
	round->filter.cache = round->sources.cache;
	round->filter.kubevirt = round->sources.kubevirt;
	round->sources.price = round->price;
	round->moves = 0;
	round->recommended = 0;
	round->work_us = 0;
	proposals_begin(round->proposals);
}

/* ---- a move was found ---- */

/* The node of this name that may take the VM; false: there is none. */
static bool find_target(const struct round *round, const char *name,
	size_t *out)
{
	const struct fleet *fleet = &round->build.fleet;

	for (size_t i = 0; i < fleet->node_count; i++) {
		if (fleet->nodes[i].may_take &&
			strcmp(fleet->nodes[i].node->name, name) == 0) {
			*out = i;
			return true;
		}
	}
	return false;
}

/* Nodes that are about equally good must not take turns from round to round. */
static void keep_target(struct round *round, struct fleet_move *move)
{
	const struct fleet *fleet = &round->build.fleet;
	const struct fleet_vm *vm = &fleet->vms[move->vm];
	const struct proposal *last = proposals_of(round->proposals,
		vm->pod->namespace, vm->pod->vm_name);
	struct fleet_move kept = *move;
	const struct fleet_node *target;

	if (last == NULL ||
		!find_target(round, last->record.target, &kept.target) ||
		kept.target == move->target || kept.target == vm->node) {
		return;
	}
	target = &fleet->nodes[kept.target];
	kept.target_before = RULE_STEPS * target->shortage;
	kept.target_after = RULE_STEPS * fleet_shortage_with(target, vm);
	kept.gain = move->gain + move->target_after - move->target_before -
		(kept.target_after - kept.target_before);
	if (kept.gain >= ROUND_KEEPS * move->gain && kept.gain > 0 &&
		may_run(round, vm, target)) {
		*move = kept;
	}
}

/* At most one move goes into a node, and one of a round out of a node. */
static void block_nodes(struct fleet *fleet, const struct fleet_move *move)
{
	fleet->nodes[fleet->vms[move->vm].node].may_give = false;
	fleet->nodes[fleet->vms[move->vm].node].may_take = false;
	fleet->nodes[move->target].may_give = false;
	fleet->nodes[move->target].may_take = false;
}

/* VMs whose moves nobody may order are left out from now on, so that they keep
 * no other one from being found. */
static void end_advice(struct round *round)
{
	struct fleet *fleet = &round->build.fleet;

	for (size_t i = 0; i < fleet->vm_count; i++) {
		fleet->vms[i].may_move = fleet->vms[i].may_move &&
			!is_advice_only(round, &fleet->vms[i]);
	}
}

/* A move that nobody may order leaves its nodes to one that is ordered. */
static void take_move(struct round *round, const struct fleet_move *move,
	bool is_advice)
{
	struct fleet *fleet = &round->build.fleet;

	if (is_advice) {
		fleet->vms[move->vm].may_move = false;
		if (++round->recommended == ROUND_MOVES_MAX) {
			end_advice(round);
		}
	} else {
		fleet_apply(fleet, move);
		block_nodes(fleet, move);
		round->moves++;
	}
}

static void note_move(struct round *round, struct fleet_move move)
{
	struct fleet *fleet = &round->build.fleet;
	const struct fleet_vm *vm = &fleet->vms[move.vm];
	const struct rule_options options = options_of(round);
	struct second_target next;
	struct move_record record;

	keep_target(round, &move);
	move_words_from(&record, fleet, &move, rule_price(&options, vm));
	next = second_target_find(fleet, &move, may_run, round);
	second_target_describe(record.sentence, sizeof(record.sentence), fleet,
		&move, &next);
	record.is_other_scheduler = is_other_scheduler(round, vm);
	proposals_found(round->proposals, &record, vm->pod->uid);
	take_move(round, &move, is_advice_only(round, vm));
}

/* ---- memory, I/O, KVM ---- */

static const struct pressure_watch *watch_of(void *owner,
	const struct fleet_node *node)
{
	const struct round *round = owner;

	return node_watches_find(round->sources.watches, node->node->name);
}

static struct pressure_options pressure_options_of(struct round *round)
{
	return (struct pressure_options){
		.watch_of = watch_of,
		.may_run = may_move,
		.owner = round,
	};
}

static void keep_pressure_target(struct round *round,
	struct pressure_move *chosen)
{
	const struct fleet *fleet = &round->build.fleet;
	const struct pressure_options options = pressure_options_of(round);
	struct fleet_move *move = &chosen->move;
	const struct fleet_vm *vm = &fleet->vms[move->vm];
	const struct proposal *last = proposals_of(round->proposals,
		vm->pod->namespace, vm->pod->vm_name);
	const struct fleet_node *target;
	double before, after, more;
	size_t index;

	if (last == NULL || !find_target(round, last->record.target, &index) ||
		index == move->target || index == vm->node) {
		return;
	}
	target = &fleet->nodes[index];
	before = RULE_STEPS * target->shortage;
	after = RULE_STEPS * fleet_shortage_with(target, vm);
	more = fmax(after - before, 0) -
		fmax(move->target_after - move->target_before, 0);
	if (more <= ROUND_KEEPS_STEPS &&
		pressure_has_room(&options, target, chosen->needed_bytes,
			round->sources.now_us) &&
		may_run(round, vm, target)) {
		move->target = index;
		move->target_before = before;
		move->target_after = after;
		move->gain = move->source_before - move->source_after + before -
			after;
	}
}

struct with_room {
	struct round *round;
	double bytes; /* that the VM needs there */
};

static bool may_run_with_room(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	const struct with_room *need = owner;
	const struct pressure_options options =
		pressure_options_of(need->round);

	return pressure_has_room(&options, target, need->bytes,
		       need->round->sources.now_us) &&
		may_run(need->round, vm, target);
}

static void note_pressure_move(struct round *round, struct pressure_move chosen)
{
	struct fleet *fleet = &round->build.fleet;
	const struct fleet_vm *vm = &fleet->vms[chosen.move.vm];
	const struct rule_options options = options_of(round);
	struct with_room need = { round, chosen.needed_bytes };
	struct second_target next;
	struct move_record record;

	keep_pressure_target(round, &chosen);
	move_words_from_pressure(&record, fleet, &chosen,
		rule_price(&options, vm));
	next = second_target_find(fleet, &chosen.move, may_run_with_room,
		&need);
	second_target_describe(record.sentence, sizeof(record.sentence), fleet,
		&chosen.move, &next);
	record.is_other_scheduler = is_other_scheduler(round, vm);
	proposals_found(round->proposals, &record, vm->pod->uid);
	if (chosen.is_recommendation_only) {
		fleet->nodes[vm->node].may_give = false;
	}
	take_move(round, &chosen.move,
		chosen.is_recommendation_only || is_advice_only(round, vm));
}

/* Broken KVM comes last: what is found next is only recommended as well. */
static bool is_enough(const struct round *round)
{
	return round->moves >= ROUND_MOVES_MAX ||
		(round->pressure.best.is_recommendation_only &&
			round->recommended >= ROUND_MOVES_MAX);
}

static void relieve_on(struct round *round)
{
	const struct pressure_options options = pressure_options_of(round);

	if (!pressure_search(&round->pressure, &round->build.fleet, &options,
		    round->sources.now_us, ROUND_TARGETS)) {
		return;
	}
	if (!round->pressure.has_best || is_enough(round)) {
		round->phase = ROUND_PLACING;
		return;
	}
	note_pressure_move(round, round->pressure.best);
	round->pressure = (struct pressure_search){ 0 };
}

/* ---- VMs that stand where they may not ---- */

static void note_placement(struct round *round,
	const struct placement_move *chosen)
{
	struct fleet *fleet = &round->build.fleet;
	const struct fleet_vm *vm = &fleet->vms[chosen->move.vm];
	const struct rule_options options = options_of(round);
	struct move_record record;

	move_words_for_placement(&record, fleet, &chosen->move,
		rule_price(&options, vm), chosen->why);
	second_target_describe(record.sentence, sizeof(record.sentence), fleet,
		&chosen->move, &chosen->next);
	record.is_other_scheduler = is_other_scheduler(round, vm);
	proposals_found(round->proposals, &record, vm->pod->uid);
	take_move(round, &chosen->move, is_advice_only(round, vm));
}

/* Asks about the next VM. False: there is none, or no more moves. */
static bool place_next(struct round *round)
{
	const struct reach *reach = round->sources.reach;
	struct reach_stats stats = { 0 };
	struct placement_move chosen;

	if (reach != NULL) {
		reach_stats(reach, &stats);
	}
	if (round->placed >= stats.misplaced ||
		round->moves >= ROUND_MOVES_MAX) {
		return false;
	}
	if (placement_find(&round->placement,
		    &(const struct placement_question){
			    .cache = round->sources.cache,
			    .kubevirt = round->sources.kubevirt,
			    .fleet = &round->build.fleet,
			    .proposals = round->proposals,
			    .pod_uid = reach_misplaced(reach, round->placed),
			    .may_run = may_run,
			    .owner = round },
		    &chosen)) {
		note_placement(round, &chosen);
	}
	round->placed++;
	return true;
}

/* ---- slices ---- */

static void start_search(struct round *round)
{
	const struct fleet *fleet = &round->build.fleet;

	round->phase = ROUND_RELIEVING;
	round->pressure = (struct pressure_search){ 0 };
	round->placed = 0;
	round->built_us = round->work_us;
	rule_search_fini(&round->search);
	round->search.below = round->left;
	round->nodes = fleet->node_count;
	round->vms = fleet->vm_count;
	round->movable = round->build.pod_count;
	memcpy(round->exclusion, round->build.exclusion,
		sizeof(round->exclusion));
	memcpy(round->exclusion_names, round->build.exclusion_names,
		sizeof(round->exclusion_names));
}

/* True: the round is complete. */
static bool search_on(struct round *round)
{
	const struct rule_options options = options_of(round);
	struct rule_search *search = &round->search;
	bool is_complete = rule_search(search, &round->build.fleet, &options,
		ROUND_SHORTAGES);
	bool is_late = search->is_weighed &&
		(round->work_us > ROUND_WORK_US ||
			round->work_us - round->built_us > ROUND_SEARCH_US);

	if (!is_complete && !is_late) {
		return false;
	}
	if (search->has_best) {
		note_move(round, search->best);
		rule_search_again(search);
		return is_late || round->moves >= ROUND_MOVES_MAX;
	}
	if (round->moves + round->recommended == 0) {
		round->left = is_complete ? 0 : rule_search_left(search);
	}
	return true;
}

static bool step(struct round *round)
{
	if (round->phase == ROUND_SEARCHING) {
		return round->moves >= ROUND_MOVES_MAX || search_on(round);
	}
	if (round->phase == ROUND_RELIEVING) {
		relieve_on(round);
		return false;
	}
	if (round->phase == ROUND_PLACING) {
		if (!place_next(round)) {
			round->phase = ROUND_SEARCHING;
		}
		return false;
	}
	if (round->build.nodes == NULL) {
		fleet_build_begin(&round->build, &round->sources);
	} else if (!fleet_build_next(&round->build, &round->sources)) {
		start_search(round);
	}
	return false;
}

bool round_work(struct round *round)
{
	int64_t began_us = (int64_t)clock_monotonic_us();
	int64_t spent_us = 0;
	bool is_complete = false;

	live_filter_begin(&round->filter, began_us);
	while (!is_complete && spent_us < ROUND_SLICE_US) {
		is_complete = step(round);
		spent_us = (int64_t)clock_monotonic_us() - began_us;
	}
	round->work_us += spent_us;
	if (spent_us > round->longest_slice_us) {
		round->longest_slice_us = spent_us;
	}
	if (is_complete) {
		round->not_movable = round->build.not_movable;
		proposals_end(round->proposals);
		round_abort(round);
	}
	return is_complete;
}

void round_abort(struct round *round)
{
	round->phase = ROUND_IDLE;
	fleet_build_clear(&round->build);
}

void round_fini(struct round *round)
{
	live_filter_fini(&round->filter);
	placement_fini(&round->placement);
	move_pauses_fini(&round->pauses);
	rule_search_fini(&round->search);
	fleet_build_fini(&round->build);
}
