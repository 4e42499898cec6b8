#include "simulate/simulated_moves.h"

#include <math.h>
#include <stdlib.h>

#include "lib/memory.h"
#include "scheduler/filter/filter.h"
#include "scheduler/objects/pod_kin.h"
#include "simulate/simulated_moves_state.h"

/* Entries of the same namespace and name are one VM. */
static void read_identities(struct simulated_moves *m)
{
	const struct scenario *s = m->world->scenario;
	struct map by_name = { 0 };

	for (size_t i = 0; i < s->vm_count; i++) {
		scoped_free char *key =
			xasprintf("%s/%s", s->vms[i].namespace, s->vms[i].name);
		const size_t *known = map_get(&by_name, key);

		m->identity[i] = known != NULL ? *known : i;
		m->movers[i].last = SIZE_MAX;
		if (known == NULL) {
			(void)map_put(&by_name, key, &m->identity[i]);
		}
	}
	map_fini(&by_name);
}

struct simulated_moves *simulated_moves_new(struct simulated_world *world,
	const struct simulated_moves_options *options)
{
	struct simulated_moves *m = xcalloc(1, sizeof(*m));
	size_t vms = world->scenario->vm_count + 1;
	size_t nodes = world->scenario->node_count + 1;

	m->world = world;
	m->options = options;
	if (options->policy == NULL) {
		return m;
	}
	m->state = xcalloc(1, options->policy->state_bytes + 1);
	m->fleet_vm = xcalloc(vms, sizeof(*m->fleet_vm));
	m->next = xcalloc(vms, sizeof(*m->next));
	m->first = xcalloc(nodes, sizeof(*m->first));
	m->identity = xcalloc(vms, sizeof(*m->identity));
	m->movers = xcalloc(vms, sizeof(*m->movers));
	m->out = xcalloc(nodes, sizeof(*m->out));
	m->in = xcalloc(nodes, sizeof(*m->in));
	read_identities(m);
	/* The other policies know CPU alone. */
	m->pressure = options->policy == &move_policy_rule
		? simulated_pressure_new(world)
		: NULL;
	return m;
}

void simulated_moves_free(struct simulated_moves *moves)
{
	const struct move_policy *policy;

	if (moves == NULL) {
		return;
	}
	policy = moves->options->policy;
	if (policy != NULL && policy->fini != NULL) {
		policy->fini(moves->state);
	}
	fleet_fini(&moves->fleet);
	prefilter_fini(&moves->prefilter);
	simulated_pressure_free(moves->pressure);
	free(moves->state);
	free(moves->fleet_vm);
	free(moves->next);
	free(moves->first);
	free(moves->identity);
	free(moves->movers);
	free(moves->out);
	free(moves->in);
	free(moves->log);
	free(moves);
}

/* ---- the fleet ---- */

/* In the scenario's order. */
static void list_by_node(struct simulated_moves *m)
{
	const struct simulated_world *w = m->world;

	for (size_t i = 0; i < w->scenario->node_count; i++) {
		m->first[i] = SIZE_MAX;
	}
	for (size_t i = w->alive_count; i-- > 0;) {
		size_t index = w->alive[i];
		const struct simulated_vm *vm = &w->vms[index];

		if (vm->node != NULL) {
			m->next[index] = m->first[vm->node_index];
			m->first[vm->node_index] = index;
		}
	}
}

/* Two samples. The first one lacks the minute in which the VM boots. */
static bool is_watched(const struct simulated_moves *m,
	const struct model_vm *model)
{
	return model->usage.recent_seconds >=
		1.5 * fmin(m->world->scenario->step_s, 300);
}

static bool is_resting(const struct simulated_moves *m, size_t vm, size_t step)
{
	const struct mover *mover = &m->movers[m->identity[vm]];
	double rested_s;

	if (!m->options->policy->has_cooldown || mover->last == SIZE_MAX) {
		return false;
	}
	rested_s = (double)(step - m->log[mover->last].step) *
		m->world->scenario->step_s;
	return rested_s < rule_cooldown_s(mover->moves);
}

static void add_vm(struct simulated_moves *m, size_t index, size_t step,
	struct model_prior prior)
{
	const struct simulated_vm *vm = &m->world->vms[index];
	const struct node_vms *vms = &vm->node->vms;
	const struct model_vm *model = node_vms_model(vms, vm->pod->uid);
	const struct kin_keys keys = pod_kin(vm->pod);
	const struct kin_figures kin =
		kin_table_figures(&m->world->cluster.kin, &keys);
	double contention = vm->node->metrics.contention;
	struct model_forecast forecast;

	(void)node_vms_forecast(vms, vm->pod->uid, prior, m->now_us, &forecast);
	m->fleet_vm[m->fleet.vm_count] = index;
	(void)fleet_add_vm(&m->fleet,
		&(struct fleet_vm){
			.pod = vm->pod,
			.vcpus = model->vcpus,
			.cores = forecast.cores,
			.variance = forecast.variance,
			.third = forecast.third,
			.kin = kin.kin,
			.rho = kin.rho,
			.used_cores = contention > 0 && contention < 1
				? model->seen_cores / (1 - contention)
				: model->seen_cores,
			.memory_bytes =
				scenario_memory(&m->world->scenario->vms[index],
					step > 0 ? step - 1 : 0),
			.may_move = is_watched(m, model) &&
				!is_resting(m, index, step),
		});
}

static void make_fleet(struct simulated_moves *m, size_t step)
{
	const struct cluster *cluster = &m->world->cluster;
	struct model_sum peers = { 0 };
	struct model_prior prior;

	for (size_t i = 0; i < cluster->count; i++) {
		model_add_peers(&peers, &cluster->nodes[i]->vms.seen);
		model_add_peers(&peers, &cluster->nodes[i]->vms.unseen);
	}
	prior = model_prior(&peers);
	fleet_clear(&m->fleet);
	list_by_node(m);
	for (size_t i = 0; i < cluster->count; i++) {
		(void)fleet_add_node(&m->fleet, cluster->nodes[i],
			m->world->loads[i].cores, 0);
		for (size_t vm = m->first[i]; vm != SIZE_MAX;
			vm = m->next[vm]) {
			add_vm(m, vm, step, prior);
		}
	}
}

/* ---- orders ---- */

static double copy_seconds(void *owner, const struct fleet_vm *vm)
{
	(void)owner;
	return vm->memory_bytes / SIMULATED_MOVES_SPEED;
}

static bool may_run(void *owner, const struct fleet_vm *vm,
	const struct fleet_node *target)
{
	/* As for placements: see simulate.c. */
	const struct filter_options options = { .has_memory_limit = false };
	struct simulated_moves *m = owner;

	if (m->prefiltered != vm->pod) {
		prefilter_run(&m->prefilter, vm->pod, &m->world->cluster);
		m->prefiltered = vm->pod;
	}
	return filter_node(&m->prefilter, target->node, &options, m->now_us) ==
		0;
}

/* The pod is on both nodes until the step ends. */
static void start(struct simulated_moves *m, const struct move *move)
{
	struct simulated_world *w = m->world;
	struct simulated_vm *vm = &w->vms[move->vm];
	const struct model_vm *model =
		node_vms_model(&vm->node->vms, vm->pod->uid);

	vm->pod->usage = model->usage;
	vm->pod->observed_us = model->observed_us;
	vm->source = move->source;
	vm->copy_share = move->copy_share;
	vm->node_index = move->target;
	vm->node = w->cluster.nodes[move->target];
	/* It does not boot there: its observation goes on. */
	cluster_add_pod(&w->cluster, vm->node, vm->pod,
		m->now_us - FORECAST_BOOT_US);
	m->prefiltered = NULL;
}

static void record(struct simulated_moves *m, const struct move *move)
{
	struct mover *mover = &m->movers[m->identity[move->vm]];

	m->log = xgrow(m->log, m->count, &m->capacity, sizeof(*m->log));
	m->log[m->count] = *move;
	m->log[m->count].earlier = mover->last;
	mover->last = m->count++;
	mover->moves++;
	if (m->options->on_moved != NULL) {
		m->options->on_moved(m->options->owner, move->step, move->vm,
			move->target, move->reason);
	}
}

static void order(struct simulated_moves *m, const struct fleet_move *choice,
	enum move_reason reason, size_t step)
{
	const struct simulated_world *w = m->world;
	size_t index = m->fleet_vm[choice->vm];
	const struct move move = {
		.step = step,
		.vm = index,
		.source = w->vms[index].node_index,
		.target = choice->target,
		.reason = reason,
		.copy_share = fmin(m->fleet.vms[choice->vm].memory_bytes /
				SIMULATED_MOVES_SPEED / w->scenario->step_s,
			1),
	};

	fleet_apply(&m->fleet, choice);
	if (++m->out[move.source] >= SIMULATED_MOVES_OUT_MAX) {
		m->fleet.nodes[move.source].may_give = false;
	}
	if (++m->in[move.target] >= SIMULATED_MOVES_IN_MAX) {
		m->fleet.nodes[move.target].may_take = false;
	}
	simulated_pressure_moved(m->pressure, move.source, m->now_us);
	start(m, &move);
	record(m, &move);
}

/* A node that is short of memory goes before one that will be short of CPU. */
static void order_for_memory(struct simulated_moves *m, size_t step)
{
	const struct simulated_filters filters = { may_run, m };
	enum move_reason reason;
	struct fleet_move choice;

	while (m->count - m->step_first < SIMULATED_MOVES_MAX &&
		simulated_pressure_next(m->pressure, &m->fleet, &filters,
			m->now_us, &choice, &reason)) {
		order(m, &choice, reason, step);
	}
}

void simulated_moves_order(struct simulated_moves *moves, size_t step)
{
	struct simulated_moves *m = moves;
	const struct move_policy *policy = m->options->policy;
	const struct rule_options options = {
		.price = m->options->price,
		.copy_seconds = copy_seconds,
		.may_run = may_run,
		.owner = m,
	};
	struct fleet_move choice;

	if (policy == NULL) {
		return;
	}
	m->now_us = simulated_world_us(m->world, step);
	m->prefiltered = NULL;
	m->step_first = m->count;
	make_fleet(m, step);
	for (size_t i = 0; i < m->fleet.node_count; i++) {
		m->out[i] = 0;
		m->in[i] = 0;
	}
	if (policy->observe != NULL && step > 0) {
		policy->observe(m->state, &m->fleet,
			m->world->scenario->step_s);
	}
	order_for_memory(m, step);
	while (m->count - m->step_first < SIMULATED_MOVES_MAX &&
		policy->next(m->state, &m->fleet, &options, &choice)) {
		order(m, &choice, MOVE_FOR_CPU, step);
	}
}

/* ---- copies ---- */

void simulated_moves_demand(struct simulated_world *world,
	const struct simulated_vm *vm, double cores, double memory_bytes)
{
	double share = vm->copy_share;

	simulated_load_vm(&world->loads[vm->node_index], vm->pod, cores,
		memory_bytes);
	if (share > 0) {
		/* Otherwise requests count for memory, and the filters know
		 * them on both nodes. */
		if (world->scenario->has_memory_use) {
			simulated_load_add_memory(&world->loads[vm->source],
				memory_bytes);
		}
		/* The copy takes a core of both nodes. */
		simulated_load_add(&world->loads[vm->source],
			share * (cores + 1));
		simulated_load_add(&world->loads[vm->node_index],
			share * (1 - cores));
	}
}

void simulated_moves_note(struct simulated_moves *moves, size_t node,
	const struct node_load *load, int64_t now_us)
{
	simulated_pressure_note(moves->pressure, node, load, now_us);
}

void simulated_moves_end(struct simulated_moves *moves, size_t step)
{
	struct simulated_world *w = moves->world;

	for (size_t i = moves->step_first; i < moves->count; i++) {
		struct simulated_vm *vm = &w->vms[moves->log[i].vm];

		if (moves->log[i].step == step) {
			cluster_remove_pod(&w->cluster,
				w->cluster.nodes[vm->source], vm->pod);
			simulated_pressure_moved(moves->pressure, vm->source,
				simulated_world_us(w, step + 1));
			vm->copy_share = 0;
		}
	}
}
