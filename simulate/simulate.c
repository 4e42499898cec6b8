#include "simulate/simulate.h"

#include <math.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "scheduler/cluster/kin_pass.h"
#include "scheduler/score/decide.h"
#include "simulate/simulated_world.h"
#include "simulate/synthetic.h"

struct world {
	struct simulated_world state;
	const struct simulation_options *options;
	struct simulated_moves *moves; /* owned */
	size_t arrived;
	struct map index_of; /* node name to its element of loads */
	struct map profiles; /* namespace/name to struct usage, owned */
	struct decision decision;
	struct kin_pass kin_pass;
	uint32_t *decision_us; /* owned */
	size_t decision_count, decision_capacity;
	struct simulation *out;
	double cv_sum;
	size_t cv_count, overloads;
	double stalled; /* steps of nodes */
};

static int64_t step_us(const struct world *w, size_t steps)
{
	return simulated_world_us(&w->state, steps);
}

static int open_world(struct world *w, struct error *err)
{
	const struct scenario *s = w->state.scenario;
	int r = 0;

	w->state.interner = interner_new();
	cluster_init(&w->state.cluster, w->state.interner);
	w->state.loads = xcalloc(s->node_count + 1, sizeof(*w->state.loads));
	w->state.vms = xcalloc(s->vm_count + 1, sizeof(*w->state.vms));
	w->state.alive = xcalloc(s->vm_count + 1, sizeof(*w->state.alive));
	w->out->loads = xcalloc(s->node_count * s->steps + 1, sizeof(float));
	w->decision.policy = w->options->policy;
	for (size_t i = 0; i < s->node_count && r == 0; i++) {
		struct node *node = NULL;

		r = synthetic_node(&node, w->state.interner, &s->nodes[i], err);
		if (r == 0) {
			cluster_add_node(&w->state.cluster, node);
		}
		w->state.loads[i] = (struct simulated_load){
			.used = &w->out->loads[i * s->steps],
			.cores = s->nodes[i].cpu_cores,
			.step_s = s->step_s,
		};
		(void)map_put(&w->index_of, s->nodes[i].name,
			&w->state.loads[i]);
	}
	for (size_t i = 0; i < s->vm_count && r == 0; i++) {
		r = synthetic_pod(&w->state.vms[i].pod, w->state.interner,
			&s->vms[i], i, err);
	}
	return r;
}

static void close_world(struct world *w)
{
	const struct scenario *s = w->state.scenario;
	size_t at = 0;
	void *usage = NULL;

	decision_fini(&w->decision);
	kin_pass_fini(&w->kin_pass);
	cluster_fini(&w->state.cluster);
	for (size_t i = 0; i < s->vm_count; i++) {
		pod_free(w->state.vms[i].pod);
	}
	while (map_next(&w->profiles, &at, NULL, &usage)) {
		free(usage);
	}
	map_fini(&w->profiles);
	map_fini(&w->index_of);
	free(w->state.loads);
	free(w->state.vms);
	free(w->state.alive);
	free(w->decision_us);
	interner_free(w->state.interner);
}

static char *identity(const struct scenario_vm *vm)
{
	return xasprintf("%s/%s", vm->namespace, vm->name);
}

/* Keeps the observed usage of a VM that leaves, for when it returns. */
static void store_usage(struct world *w, size_t index)
{
	const struct simulated_vm *guest = &w->state.vms[index];
	const struct model_vm *model =
		node_vms_model(&guest->node->vms, guest->pod->uid);
	scoped_free char *key = identity(&w->state.scenario->vms[index]);

	if (model != NULL) {
		free(map_put(&w->profiles, key,
			xmemdup(&model->usage, sizeof(model->usage))));
	}
}

static void leave(struct world *w, size_t step)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->state.alive_count; i++) {
		size_t index = w->state.alive[i];
		struct simulated_vm *guest = &w->state.vms[index];

		if (w->state.scenario->vms[index].leave_step > step) {
			w->state.alive[kept++] = index;
			continue;
		}
		if (guest->node != NULL) {
			store_usage(w, index);
			cluster_remove_pod(&w->state.cluster, guest->node,
				guest->pod);
			guest->node = NULL;
		}
	}
	w->state.alive_count = kept;
}

static void record_time(struct world *w, uint64_t us)
{
	w->decision_us = xgrow(w->decision_us, w->decision_count,
		&w->decision_capacity, sizeof(*w->decision_us));
	w->decision_us[w->decision_count++] = (uint32_t)us;
}

static void schedule_vm(struct world *w, size_t index, size_t step)
{
	/* Requests cover all memory, and measured memory is a step old: the
	 * memory of a VM that leaves is free at once. */
	const struct filter_options options = { .has_memory_limit = false };
	struct simulated_vm *guest = &w->state.vms[index];
	scoped_free char *key = identity(&w->state.scenario->vms[index]);
	const struct usage *usage = map_get(&w->profiles, key);
	const struct node *chosen;
	uint64_t began_us = clock_monotonic_us();

	if (usage != NULL) {
		guest->pod->usage = *usage;
	}
	decide(&w->decision, guest->pod, &w->state.cluster, &options,
		step_us(w, step));
	record_time(w, clock_monotonic_us() - began_us);
	chosen = decision_chosen(&w->decision);
	if (chosen == NULL) {
		w->out->unplaced += !guest->has_waited;
		guest->has_waited = true;
		return;
	}
	guest->node_index = (size_t)((struct simulated_load *)map_get(
					     &w->index_of, chosen->name) -
		w->state.loads);
	guest->node = w->state.cluster.nodes[guest->node_index];
	cluster_add_pod(&w->state.cluster, guest->node, guest->pod,
		step_us(w, step));
	w->out->placed++;
	if (w->options->on_placed != NULL) {
		w->options->on_placed(w->options->owner, step, index,
			guest->node_index);
	}
}

static void arrive(struct world *w, size_t step)
{
	const struct scenario *s = w->state.scenario;

	while (w->arrived < s->vm_count &&
		s->vms[w->arrived].arrive_step <= step) {
		size_t index = w->arrived++;

		if (s->vms[index].leave_step > step) {
			w->state.alive[w->state.alive_count++] = index;
		}
	}
	for (size_t i = 0; i < w->state.alive_count; i++) {
		if (w->state.vms[w->state.alive[i]].node == NULL) {
			schedule_vm(w, w->state.alive[i], step);
		}
	}
}

/* Adds up the demand of each node's VMs. */
static void demand(struct world *w, size_t step)
{
	const struct scenario *s = w->state.scenario;

	for (size_t i = 0; i < s->node_count; i++) {
		simulated_load_begin(&w->state.loads[i]);
	}
	for (size_t i = 0; i < w->state.alive_count; i++) {
		const struct simulated_vm *guest =
			&w->state.vms[w->state.alive[i]];
		double cores =
			scenario_demand(&s->vms[w->state.alive[i]], step);

		w->out->demand += cores;
		if (guest->node == NULL) {
			w->out->unserved += cores;
		} else {
			simulated_moves_demand(&w->state, guest, cores,
				scenario_memory(&s->vms[w->state.alive[i]],
					step));
			w->out->vm_steps++;
		}
	}
}

static void record_balance(struct world *w)
{
	size_t count = w->state.scenario->node_count;
	double sum = 0;
	double squares = 0;
	double mean;

	for (size_t i = 0; i < count; i++) {
		double load =
			w->state.loads[i].demand / w->state.loads[i].cores;

		sum += load;
		squares += load * load;
	}
	mean = sum / (double)count;
	if (mean > 0) {
		w->cv_sum +=
			sqrt(fmax(squares / (double)count - mean * mean, 0)) /
			mean;
		w->cv_count++;
	}
}

static void observe(struct world *w, size_t step)
{
	const struct scenario *s = w->state.scenario;
	int64_t now_us = step_us(w, step + 1);

	for (size_t i = 0; i < s->node_count; i++) {
		struct simulated_load *o = &w->state.loads[i];
		struct node_load load;

		w->out->unserved += fmax(o->demand - o->cores, 0);
		w->overloads += o->demand > 0.9 * o->cores;
		w->stalled += simulated_load_stalled(o, &s->nodes[i]);
		simulated_load_end(o, step, &load, &s->nodes[i]);
		simulated_moves_note(w->moves, i, &load, now_us);
		node_set_load(w->state.cluster.nodes[i], &load, now_us, now_us);
		node_load_fini(&load);
	}
	if (step >= s->steps / 3 && s->node_count > 0) {
		record_balance(w);
	}
}

static void learn_kin(struct world *w, size_t step)
{
	while (kin_pass_next(&w->kin_pass, &w->state.cluster,
		step_us(w, step + 1))) {
	}
}

static int compare_times(const void *a, const void *b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return (*x > *y) - (*x < *y);
}

static double percentile(const struct world *w, double share)
{
	size_t count = w->decision_count;

	if (count == 0) {
		return NAN;
	}
	return w->decision_us[(size_t)((double)(count - 1) * share + 0.5)];
}

static void sum_up(struct world *w)
{
	struct simulation *out = w->out;
	const struct scenario *s = w->state.scenario;
	size_t node_steps = s->node_count * s->steps;

	if (w->decision_count > 0) {
		qsort(w->decision_us, w->decision_count,
			sizeof(*w->decision_us), compare_times);
	}
	out->decision_us_p50 = percentile(w, 0.5);
	out->decision_us_p99 = percentile(w, 0.99);
	out->unserved_pct =
		out->demand > 0 ? 100 * out->unserved / out->demand : NAN;
	out->overload_pct = node_steps > 0
		? 100 * (double)w->overloads / (double)node_steps
		: NAN;
	out->memory_stalled_pct = node_steps > 0 && s->has_memory_use
		? 100 * w->stalled / (double)node_steps
		: NAN;
	simulated_moves_sum_up(w->moves, &out->moves);
	out->marks = simulated_moves_marks(w->moves, &out->moves.moves);
	out->moves_per_vm_day = out->vm_steps > 0 ? (double)out->moves.moves *
			86400 / ((double)out->vm_steps * s->step_s)
						  : NAN;
	out->cv_mean = w->cv_count > 0 ? w->cv_sum / (double)w->cv_count : NAN;
}

int simulate(struct simulation *out, const struct scenario *scenario,
	const struct simulation_options *options, struct error *err)
{
	struct simulation taken = { 0 };
	struct world w = {
		.state.scenario = scenario,
		.options = options,
		.out = &taken,
	};
	const struct simulated_moves_options moves = {
		.policy = options->moves,
		.price = options->price,
		.on_moved = options->on_moved,
		.owner = options->owner,
	};
	int r = open_world(&w, err);

	w.moves = simulated_moves_new(&w.state, &moves);

	for (size_t step = 0; step < scenario->steps && r == 0; step++) {
		leave(&w, step);
		arrive(&w, step);
		simulated_moves_order(w.moves, step);
		demand(&w, step);
		observe(&w, step);
		simulated_moves_end(w.moves, step);
		learn_kin(&w, step);
		if (options->on_step != NULL) {
			options->on_step(options->owner, step);
		}
	}
	if (r == 0) {
		sum_up(&w);
		*out = taken;
	} else {
		simulation_fini(&taken);
	}
	for (size_t i = 0; i < scenario->node_count; i++) {
		simulated_load_fini(&w.state.loads[i]);
	}
	simulated_moves_free(w.moves);
	close_world(&w);
	return r;
}

void simulation_fini(struct simulation *simulation)
{
	free(simulation->loads);
	free(simulation->marks);
	*simulation = (struct simulation){ 0 };
}
