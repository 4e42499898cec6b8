#include "scheduler/make_room/attempt_search.h"

#include "lib/memory.h"
#include "scheduler/mover/move_words.h"
#include "scheduler/planner/planner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attempt_search {
	struct attempt_search_options options; /* done NULL: forgotten */
	struct pod *pod;		       /* owned; a copy */
	struct plan plan;
};

/* In the thread. */
static void search_plan(void *owner, struct plan_input *input)
{
	struct attempt_search *search = owner;

	plan_find(&search->plan, input,
		&(struct plan_goal){ .kind = PLAN_POD_FITS,
			.pod = search->pod });
}

/* A node for the pod, and steps that can be ordered. */
static bool is_usable(const struct plan *plan, const struct plan_input *input)
{
	bool is_usable = plan->is_found && plan->node >= 0 &&
		(size_t)plan->node < input->cluster->count &&
		plan->count <= PLAN_MOVES;

	for (size_t i = 0; is_usable && i < plan->count; i++) {
		is_usable = plan->steps[i].kind == PLAN_MOVE &&
			*plan->steps[i].pod->vmi_uid != '\0';
	}
	return is_usable;
}

/* Bytes that the copy of the VM transfers; NAN: not known. */
static double memory_of(const struct node *node, const char *uid)
{
	for (size_t i = 0; i < node->vms.count; i++) {
		const struct node_vm *vm = &node->vms.list[i];
		const struct forecast_charge *charge = &vm->charge;

		if (strcmp(vm->uid, uid) == 0) {
			return charge->is_seen && charge->seen_memory_bytes > 0
				? charge->seen_memory_bytes
				: charge->memory_bytes;
		}
	}
	return NAN;
}

/* The step of this index. */
static void add_move(struct found_plan *found,
	const struct attempt_search *from, const struct plan_input *input,
	size_t index)
{
	const struct plan_step *step = &from->plan.steps[index];
	const struct node *source = input->cluster->nodes[step->source];
	struct proposal *move = &found->moves[found->move_count++];

	*move = (struct proposal){ 0 };
	move_words_for_room(&move->record,
		&(struct move_words_room){
			.vm = step->pod,
			.source = source->name,
			.target = input->cluster->nodes[step->target]->name,
			.room_for = from->pod,
			.node = found->node,
			.number = index + 1,
			.count = from->plan.count,
			.source_load_before = step->source_load_before,
			.source_load_after = step->source_load_after,
			.target_load_before = step->target_load_before,
			.target_load_after = step->target_load_after,
			.memory_bytes = memory_of(source, step->pod->uid),
		});
	(void)snprintf(move->pod_uid, sizeof(move->pod_uid), "%s",
		step->pod->uid);
}

static void read_plan(struct found_plan *out, const struct attempt_search *from,
	const struct plan_input *input)
{
	const struct plan *plan = &from->plan;

	*out = (struct found_plan){ .is_found = is_usable(plan, input) };
	(void)snprintf(out->sentence, sizeof(out->sentence), "%s",
		plan->sentence);
	if (!out->is_found) {
		return;
	}
	(void)snprintf(out->node, sizeof(out->node), "%s",
		input->cluster->nodes[plan->node]->name);
	for (size_t i = 0; i < plan->count; i++) {
		add_move(out, from, input, i);
	}
}

static void finish(void *owner, const struct plan_input *input, bool is_done)
{
	struct attempt_search *search = owner;
	const struct attempt_search_options *o = &search->options;
	struct found_plan *found = NULL;

	if (o->done != NULL && is_done) {
		found = xcalloc(1, sizeof(*found));
		read_plan(found, search, input);
	}
	if (o->done != NULL) {
		o->done(o->owner, found);
	}
	free(found);
	plan_fini(&search->plan);
	pod_free(search->pod);
	free(search);
}

struct attempt_search *attempt_search_start(
	const struct attempt_search_options *options)
{
	struct attempt_search *search = xcalloc(1, sizeof(*search));

	search->options = *options;
	search->pod = pod_copy(options->pod, options->pod->uid, "");
	if (!planner_start(options->planner,
		    &(struct planner_job){ .work = search_plan,
			    .done = finish,
			    .owner = search })) {
		pod_free(search->pod);
		free(search);
		return NULL;
	}
	return search;
}

void attempt_search_forget(struct attempt_search *search)
{
	if (search != NULL) {
		search->options.done = NULL;
		planner_cancel(search->options.planner, search);
	}
}
