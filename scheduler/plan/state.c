#include "scheduler/plan/state.h"

#include "lib/memory.h"
#include "scheduler/forecast/model.h"
#include "scheduler/plan/state_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- changes ---- */

static struct state_change *log_change(struct state *s, const struct pod *pod,
	size_t node)
{
	const struct state_node *at = &s->nodes[node];
	struct state_change *change;

	s->changes = xgrow(s->changes, s->change_count, &s->change_capacity,
		sizeof(*s->changes));
	change = &s->changes[s->change_count++];
	*change = (struct state_change){
		.pod = pod,
		.node = node,
		.memory_before = at->node->metrics.memory_available,
		.used_before = at->used,
		.shared_before = at->shared,
		.version_before = s->version,
	};
	s->nodes[node].touched++;
	s->version = ++s->last_version;
	return change;
}

static size_t find_pod(const struct node *node, const struct pod *pod)
{
	size_t i = 0;

	while (i < node->pod_count && node->pods[i].pod != pod) {
		i++;
	}
	return i;
}

/* Nobody reads the models of VMs now, and their sums take long. */
static void put(struct node *node, const struct pod *pod, int64_t bound_us)
{
	node_occupy(node, pod, bound_us);
	node->vms.count = 0;
}

static void remove_pod(struct state *s, const struct pod *pod, size_t at)
{
	struct node *node = s->nodes[at].node;
	size_t position = find_pod(node, pod);
	struct state_change *change;

	change = log_change(s, pod, at);
	change->is_removal = true;
	change->position = position;
	change->bound_us = node->pods[position].bound_us;
	node_vacate(node, pod);
}

static void add_pod(struct state *s, const struct pod *pod, size_t at)
{
	(void)log_change(s, pod, at);
	put(s->nodes[at].node, pod, s->input->now_us);
}

/* The last one goes back to where it was. */
static void restore_order(struct state *s, const struct state_change *change)
{
	struct node *node = s->nodes[change->node].node;
	struct node_pod *last = &node->pods[node->pod_count - 1];
	struct node_pod moved = node->pods[change->position];

	node->pods[change->position] = *last;
	*last = moved;
}

static void undo_change(struct state *s)
{
	struct state_change *change = &s->changes[--s->change_count];
	struct state_node *at = &s->nodes[change->node];

	if (change->is_removal) {
		put(at->node, change->pod, change->bound_us);
		restore_order(s, change);
	} else {
		node_vacate(at->node, change->pod);
	}
	at->node->metrics.memory_available = change->memory_before;
	at->used = change->used_before;
	at->shared = change->shared_before;
	at->touched--;
	s->version = change->version_before;
}

/* ---- VMs ---- */

static void count_load(struct state_node *at, const struct state_vm *vm,
	int sign)
{
	at->used += sign * vm->cores;
	at->shared -= sign * vm->dedicated;
}

static void leave(struct state *s, size_t index)
{
	struct state_vm *vm = &s->vms[index];

	if (vm->node != STATE_NONE) {
		remove_pod(s, vm->vm->pod, vm->node);
		count_load(&s->nodes[vm->node], vm, -1);
		s->nodes[vm->node].node->metrics.memory_available +=
			vm->measured;
	}
	vm->node = STATE_NONE;
}

void state_step(struct state *s, size_t index, size_t target,
	enum plan_step_kind kind)
{
	struct state_vm *vm = &s->vms[index];
	struct plan_step *step = &s->steps[s->step_count];
	size_t source = vm->vm->node;

	*step = (struct plan_step){
		.kind = kind,
		.pod = vm->vm->pod,
		.source = source,
		.target = target,
		.source_load_before = state_order_load(s, source, NULL),
		.target_load_before = state_order_load(s, target, NULL),
	};
	leave(s, index);
	add_pod(s, vm->vm->pod, target);
	count_load(&s->nodes[target], vm, 1);
	s->nodes[target].node->metrics.memory_available -= vm->memory;
	vm->node = target;
	vm->has_moved = true;
	step->source_load_after = state_order_load(s, source, NULL);
	step->target_load_after = state_order_load(s, target, NULL);
	s->step_vms[s->step_count++] = index;
	s->moves += kind == PLAN_MOVE;
}

void state_undo_step(struct state *s)
{
	const struct plan_step *step = &s->steps[--s->step_count];
	struct state_vm *vm = &s->vms[s->step_vms[s->step_count]];

	undo_change(s);
	vm->has_moved = false;
	vm->node = STATE_NONE;
	if (step->kind == PLAN_MOVE) {
		s->moves--;
		undo_change(s);
		vm->node = step->source;
	}
}

void state_leave_out(struct state *s, const struct plan_left *left)
{
	s->left = xgrow(s->left, s->left_count, &s->left_capacity,
		sizeof(*s->left));
	s->left[s->left_count++] = *left;
}

void state_take_off(struct state *s, size_t vm)
{
	leave(s, vm);
}

void state_put_back(struct state *s, size_t vm)
{
	undo_change(s);
	s->vms[vm].node = s->vms[vm].vm->node;
}

void state_bring_back(struct state *s, size_t index)
{
	struct state_vm *vm = &s->vms[index];

	add_pod(s, vm->vm->pod, vm->vm->node);
	count_load(&s->nodes[vm->vm->node], vm, 1);
	s->nodes[vm->vm->node].node->metrics.memory_available -= vm->measured;
	vm->node = vm->vm->node;
}

/* ---- begin ---- */

static const struct node_vm *model_of(const struct node_vms *vms,
	const char *uid)
{
	for (size_t i = 0; i < vms->count; i++) {
		if (strncmp(vms->list[i].uid, uid,
			    sizeof(vms->list[i].uid) - 1) == 0) {
			return &vms->list[i];
		}
	}
	return NULL;
}

static void read_vm(struct state_vm *out, const struct plan_vm *vm,
	const struct node *node, struct model_prior prior, int64_t now_us)
{
	const struct node_vm *model = model_of(&node->vms, vm->pod->uid);
	struct model_forecast forecast = { 0 };

	*out = (struct state_vm){
		.vm = vm,
		.node = vm->node,
		.memory = (double)vm->pod->requests.memory_bytes,
	};
	if (vm->pod->is_dedicated) {
		out->dedicated = vm->pod->vcpus;
	} else if (node_vms_forecast(&node->vms, vm->pod->uid, prior, now_us,
			   &forecast)) {
		out->cores = forecast.cores;
	}
	if (find_pod(node, vm->pod) == node->pod_count) {
		out->node = STATE_NONE; /* the input contradicts itself */
	}
	if (model != NULL && model->charge.is_seen &&
		model->charge.seen_memory_bytes > 0) {
		out->memory = model->charge.seen_memory_bytes;
		out->measured = out->memory;
	}
}

static struct model_prior prior_of(const struct cluster *cluster)
{
	struct model_sum sum = { 0 };

	for (size_t i = 0; i < cluster->count; i++) {
		model_add_peers(&sum, &cluster->nodes[i]->vms.seen);
		model_add_peers(&sum, &cluster->nodes[i]->vms.unseen);
	}
	return model_prior(&sum);
}

static void read_node(struct state_node *out, struct node *node,
	struct model_prior prior, int64_t now_us)
{
	*out = (struct state_node){ .node = node, .vms = node->vms };
	out->has_load = node_metrics_is_fresh(&node->metrics, now_us) &&
		!isnan(node->metrics.used_cores);
	if (out->has_load) {
		out->used = node_expected_load(node, prior, now_us).cores;
		out->shared = node_shared_cores(node);
	}
	node->vms = (struct node_vms){ 0 };
}

/* ---- orders ---- */

static int compare_vms(const void *a, const void *b, void *owner)
{
	const struct state *s = owner;
	const struct state_vm *left = &s->vms[*(const size_t *)a];
	const struct state_vm *right = &s->vms[*(const size_t *)b];
	int r;

	if (left->memory != right->memory) {
		return left->memory > right->memory ? 1 : -1;
	}
	r = strcmp(left->vm->pod->namespace, right->vm->pod->namespace);
	r = r != 0 ? r : strcmp(left->vm->pod->name, right->vm->pod->name);
	return r != 0 ? r : strcmp(left->vm->pod->uid, right->vm->pod->uid);
}

static void list_vms(struct state *s)
{
	for (size_t i = 0; i < s->vm_count; i++) {
		s->nodes[s->vms[i].vm->node].vm_count++;
	}
	for (size_t i = 0; i < s->node_count; i++) {
		s->nodes[i].vm_list =
			xcalloc(s->nodes[i].vm_count + 1, sizeof(size_t));
		s->nodes[i].vm_count = 0;
	}
	for (size_t i = 0; i < s->vm_count; i++) {
		struct state_node *node = &s->nodes[s->vms[i].vm->node];

		node->vm_list[node->vm_count++] = i;
	}
	for (size_t i = 0; i < s->node_count; i++) {
		qsort_r(s->nodes[i].vm_list, s->nodes[i].vm_count,
			sizeof(size_t), compare_vms, s);
	}
}

/* ---- what is gone ---- */

static void empty_node(struct state *s, size_t index)
{
	struct state_node *node = &s->nodes[index];

	for (size_t i = 0; i < node->vm_count; i++) {
		leave(s, node->vm_list[i]);
	}
	while (node->node->pod_count > 0) {
		remove_pod(s, node->node->pods[node->node->pod_count - 1].pod,
			index);
	}
	node->is_gone = true;
}

static void remove_nodes(struct state *s, const struct plan_goal *goal)
{
	struct node **kept = xcalloc(s->node_count + 1, sizeof(struct node *));
	size_t count = 0;

	for (size_t i = 0; i < goal->node_count; i++) {
		empty_node(s, goal->nodes[i]);
	}
	for (size_t i = 0; i < s->node_count; i++) {
		if (!s->nodes[i].is_gone) {
			kept[count++] = s->nodes[i].node;
		}
	}
	s->cluster->nodes = kept;
	s->cluster->count = count;
}

static bool relates(const struct pod *pod)
{
	return pod->spread.hard_count > 0 ||
		pod_affinity_has_terms(&pod->affinity);
}

static bool has_relations(const struct state *s, const struct plan_goal *goal)
{
	bool has = s->cluster->affinity_pod_count > 0 ||
		(goal->pod != NULL && relates(goal->pod));

	for (size_t i = 0; i < s->vm_count && !has; i++) {
		const struct pod *pod = s->vms[i].vm->pod;

		has = relates(pod) ||
			(pod->migrated != NULL && relates(pod->migrated)) ||
			(pod->restarted != NULL && relates(pod->restarted));
	}
	return has;
}

void state_begin(struct state *s, const struct plan_input *input,
	const struct plan_goal *goal)
{
	struct cluster *cluster = input->cluster;
	struct model_prior prior = prior_of(cluster);

	*s = (struct state){ .input = input,
		.cluster = cluster,
		.all_nodes = cluster->nodes,
		.node_count = cluster->count,
		.vm_count = input->vm_count };
	s->nodes = xcalloc(s->node_count + 1, sizeof(*s->nodes));
	s->vms = xcalloc(s->vm_count + 1, sizeof(*s->vms));
	s->steps = xcalloc(s->vm_count + 1, sizeof(*s->steps));
	s->step_vms = xcalloc(s->vm_count + 1, sizeof(size_t));
	for (size_t i = 0; i < s->vm_count; i++) {
		read_vm(&s->vms[i], &input->vms[i],
			cluster->nodes[input->vms[i].node], prior,
			input->now_us);
	}
	for (size_t i = 0; i < s->node_count; i++) {
		read_node(&s->nodes[i], cluster->nodes[i], prior,
			input->now_us);
		s->nodes[i].exclusion =
			input->exclusions == NULL ? NULL : input->exclusions[i];
	}
	list_vms(s);
	s->has_relations = has_relations(s, goal);
	for (size_t i = 0; i < s->vm_count; i++) {
		/* A migration dies with its source, or with its target. */
		if (input->vms[i].is_leaving && goal->kind != PLAN_NODES_GONE) {
			leave(s, i);
		}
	}
	if (goal->kind == PLAN_NODES_GONE) {
		remove_nodes(s, goal);
	}
	state_order_begin(s);
}

bool state_is_stopped(const struct state *s)
{
	const atomic_bool *stop = s->input->stop;

	return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
}

void state_end(struct state *s)
{
	while (s->step_count > 0) {
		state_undo_step(s);
	}
	while (s->change_count > 0) {
		undo_change(s);
	}
	if (s->cluster->nodes != s->all_nodes) {
		free(s->cluster->nodes);
		s->cluster->nodes = s->all_nodes;
		s->cluster->count = s->node_count;
	}
	for (size_t i = 0; i < s->node_count; i++) {
		node_vms_fini(&s->nodes[i].node->vms);
		s->nodes[i].node->vms = s->nodes[i].vms;
		free(s->nodes[i].vm_list);
	}
	free(s->nodes);
	free(s->vms);
	for (size_t i = 0; i < s->left_count; i++) {
		free(s->left[i].why);
	}
	free(s->left);
	free(s->steps);
	free(s->step_vms);
	free(s->by_name);
	free(s->by_load);
	free(s->changes);
	*s = (struct state){ 0 };
}
