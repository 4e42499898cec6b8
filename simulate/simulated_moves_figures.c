#include "simulate/simulated_moves_state.h"

#include <math.h>

#include "lib/memory.h"

static const double back_s = 7200;
static const double hindsight_s = 3600;

static bool is_back(const struct simulated_moves *m, const struct move *move)
{
	double step_s = m->world->scenario->step_s;

	for (size_t i = move->earlier; i != SIZE_MAX; i = m->log[i].earlier) {
		double ago_s = (double)(move->step - m->log[i].step) * step_s;

		if (ago_s > back_s) {
			return false;
		}
		if (m->log[i].source == move->target) {
			return true;
		}
	}
	return false;
}

static double short_by(const struct simulated_moves *m, size_t node,
	size_t step, double more)
{
	const struct simulated_load *load = &m->world->loads[node];

	return fmax((double)load->used[step] * load->cores + more - load->cores,
		0);
}

/* The unserved demand of both nodes that the move caused in a step. */
static double harm(const struct simulated_moves *m, const struct move *move,
	size_t step)
{
	double cores =
		scenario_demand(&m->world->scenario->vms[move->vm], step);
	double share = step == move->step ? move->copy_share : 0;
	double away = (1 - share) * cores;

	return short_by(m, move->source, step, 0) +
		short_by(m, move->target, step, 0) -
		short_by(m, move->source, step, away - share) -
		short_by(m, move->target, step, -away - share);
}

/* The step after the last one in which the VM was where the move took it. */
static size_t end_of(const struct simulated_moves *m, size_t index)
{
	const struct scenario *s = m->world->scenario;
	const struct move *move = &m->log[index];
	size_t end = move->step + (size_t)ceil(hindsight_s / s->step_s);
	size_t leaves = s->vms[move->vm].leave_step;

	end = end < leaves ? end : leaves;
	for (size_t i = index + 1; i < m->count && m->log[i].step < end; i++) {
		if (m->log[i].vm == move->vm) {
			end = m->log[i].step;
		}
	}
	return end < s->steps ? end : s->steps;
}

static bool is_worse(const struct simulated_moves *m, size_t index)
{
	const struct move *move = &m->log[index];
	size_t end = end_of(m, index);
	double sum = 0;

	for (size_t step = move->step; step < end; step++) {
		sum += harm(m, move, step);
	}
	/* The loads are stored as float. */
	return sum > 1e-3;
}

void simulated_moves_sum_up(const struct simulated_moves *moves,
	struct simulated_moves_figures *out)
{
	*out = (struct simulated_moves_figures){
		.moves = moves->count,
	};
	for (size_t i = 0; i < moves->count; i++) {
		const struct move *move = &moves->log[i];
		size_t of_vm = moves->movers[moves->identity[move->vm]].moves;

		out->most_of_one_vm = of_vm > out->most_of_one_vm
			? of_vm
			: out->most_of_one_vm;
		out->back += is_back(moves, move);
		out->worse_in_hindsight += is_worse(moves, i);
		out->for_memory += move->reason == MOVE_FOR_MEMORY;
	}
}

struct simulated_moves_mark *simulated_moves_marks(
	const struct simulated_moves *moves, size_t *count)
{
	struct simulated_moves_mark *marks =
		xcalloc(moves->count + 1, sizeof(*marks));

	for (size_t i = 0; i < moves->count; i++) {
		const struct move *move = &moves->log[i];

		marks[i] = (struct simulated_moves_mark){ move->step,
			move->source, move->target };
	}
	*count = moves->count;
	return marks;
}
