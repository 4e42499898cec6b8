#include "scheduler/plan/relations.h"

#include "lib/memory.h"

#include <stdlib.h>

/* ---- tables ---- */

static struct relation_slot *slot_of(const struct relation_table *t,
	uint32_t key, uint32_t value)
{
	uint64_t hash =
		((uint64_t)key << 32 | value) * UINT64_C(0x9e3779b97f4a7c15);
	size_t mask = t->slot_count - 1;
	size_t at = (size_t)(hash >> 32) & mask;

	while (t->slots[at].key != 0 &&
		(t->slots[at].key != key || t->slots[at].value != value)) {
		at = (at + 1) & mask;
	}
	return &t->slots[at];
}

static void grow(struct relation_table *t)
{
	struct relation_table old = *t;

	t->slot_count = old.slot_count > 0 ? old.slot_count * 2 : 64;
	t->slots = xcalloc(t->slot_count, sizeof(*t->slots));
	for (size_t i = 0; i < old.slot_count; i++) {
		if (old.slots[i].key != 0) {
			*slot_of(t, old.slots[i].key, old.slots[i].value) =
				old.slots[i];
		}
	}
	free(old.slots);
}

static struct relation_slot *add_slot(struct relation_table *t, uint32_t key,
	uint32_t value)
{
	struct relation_slot *slot;

	if ((t->used + 1) * 2 > t->slot_count) {
		grow(t);
	}
	slot = slot_of(t, key, value);
	if (slot->key == 0) {
		*slot = (struct relation_slot){ .key = key, .value = value };
		t->used++;
	}
	return slot;
}

/* NULL: no term requires the label. */
static struct relation_slot *find_slot(const struct relation_table *t,
	uint32_t key, uint32_t value)
{
	struct relation_slot *slot =
		t->used == 0 ? NULL : slot_of(t, key, value);

	return slot == NULL || slot->key == 0 ? NULL : slot;
}

static void add_link(struct relation_table *t, struct relation_slot *slot,
	size_t pod)
{
	if (t->link_count == 0) {
		t->link_count = 1;
	}
	t->links = xgrow(t->links, t->link_count, &t->link_capacity,
		sizeof(*t->links));
	t->links[t->link_count] =
		(struct relation_link){ .pod = pod, .next = slot->first };
	slot->first = t->link_count++;
}

static void fini_table(struct relation_table *t)
{
	free(t->slots);
	free(t->links);
}

/* ---- begin ---- */

/* A label with this value is required; NULL: no single label is. */
static const struct requirement *label_of(const struct pod_affinity_term *term)
{
	const struct label_selector *selector = &term->label_selector;

	for (size_t i = 0; i < selector->count; i++) {
		if (requirement_is_equality(&selector->list[i])) {
			return &selector->list[i];
		}
	}
	return NULL;
}

static void add_open(struct relations *r, size_t pod)
{
	r->open = xgrow(r->open, r->open_count, &r->open_capacity,
		sizeof(*r->open));
	r->open[r->open_count++] = pod;
}

static void add_anti(struct relations *r, size_t index)
{
	const struct pod_affinity_terms *terms =
		&r->pods[index].pod->affinity.required_anti;

	for (size_t i = 0; i < terms->count; i++) {
		const struct requirement *label = label_of(&terms->list[i]);

		if (label == NULL) {
			add_open(r, index);
		} else {
			add_link(&r->terms,
				add_slot(&r->terms, label->key,
					label->values[0]),
				index);
		}
	}
}

static void add_pod(struct relations *r, const struct pod *pod, size_t vm,
	const struct node *node)
{
	r->pods = xgrow(r->pods, r->count, &r->capacity, sizeof(*r->pods));
	r->pods[r->count] =
		(struct relation_pod){ .pod = pod, .node = node, .vm = vm };
	add_anti(r, r->count++);
}

static bool is_vm(const struct state *state, const struct state_node *at,
	const struct pod *pod)
{
	for (size_t i = 0; i < at->vm_count; i++) {
		if (state->vms[at->vm_list[i]].vm->pod == pod) {
			return true;
		}
	}
	return false;
}

static void add_others(struct relations *r, const struct state_node *at)
{
	for (size_t i = 0; i < at->node->pod_count; i++) {
		const struct pod *pod = at->node->pods[i].pod;

		if (!is_vm(r->state, at, pod)) {
			add_pod(r, pod, STATE_NONE, at->node);
		}
	}
}

static void want_labels(struct relations *r,
	const struct pod_affinity_terms *terms)
{
	for (size_t i = 0; i < terms->count; i++) {
		const struct requirement *label = label_of(&terms->list[i]);

		if (label != NULL) {
			(void)add_slot(&r->labels, label->key,
				label->values[0]);
		}
	}
}

static void want_labels_of(struct relations *r, const struct pod *pod)
{
	want_labels(r, &pod->affinity.required);
	want_labels(r, &pod->affinity.required_anti);
}

static void want_labels_of_vm(struct relations *r, const struct pod *pod)
{
	want_labels_of(r, pod);
	if (pod->migrated != NULL) {
		want_labels_of(r, pod->migrated);
	}
	if (pod->restarted != NULL) {
		want_labels_of(r, pod->restarted);
	}
}

static void add_labels(struct relations *r, size_t index)
{
	const struct labels *labels = &r->pods[index].pod->labels;

	for (size_t i = 0; i < labels_slot_count(labels); i++) {
		struct relation_slot *slot = labels->slots[i].key == 0
			? NULL
			: find_slot(&r->labels, labels->slots[i].key,
				  labels->slots[i].value);

		if (slot != NULL) {
			add_link(&r->labels, slot, index);
		}
	}
}

void relations_begin(struct relations *r, const struct state *state,
	const struct pod *goal)
{
	*r = (struct relations){ .state = state };
	for (size_t i = 0; i < state->vm_count; i++) {
		add_pod(r, state->vms[i].vm->pod, i, NULL);
		want_labels_of_vm(r, state->vms[i].vm->pod);
	}
	for (size_t i = 0; i < state->node_count; i++) {
		if (!state->nodes[i].is_gone) {
			add_others(r, &state->nodes[i]);
		}
	}
	if (goal != NULL) {
		want_labels_of(r, goal);
	}
	for (size_t i = 0; i < r->count && r->labels.used > 0; i++) {
		add_labels(r, i);
	}
	r->found = xcalloc(r->count + 1, sizeof(*r->found));
}

void relations_end(struct relations *r)
{
	fini_table(&r->terms);
	fini_table(&r->labels);
	free(r->pods);
	free(r->found);
	free(r->open);
	*r = (struct relations){ 0 };
}

/* ---- questions ---- */

static void find(struct relations *r, size_t pod)
{
	if (r->pods[pod].seen != r->question) {
		r->pods[pod].seen = r->question;
		r->found[r->found_count++] = pod;
	}
}

static void find_linked(struct relations *r, const struct relation_table *t,
	const struct relation_slot *slot)
{
	for (size_t i = slot->first; i != 0; i = t->links[i].next) {
		find(r, t->links[i].pod);
	}
}

/* Pods whose terms may be about this one. */
static void find_owners(struct relations *r, const struct pod *pod)
{
	for (size_t i = 0; i < labels_slot_count(&pod->labels); i++) {
		const struct label *label = &pod->labels.slots[i];
		const struct relation_slot *slot = label->key == 0
			? NULL
			: find_slot(&r->terms, label->key, label->value);

		if (slot != NULL) {
			find_linked(r, &r->terms, slot);
		}
	}
	for (size_t i = 0; i < r->open_count; i++) {
		find(r, r->open[i]);
	}
}

/* Pods that the term may be about: all, if it requires no label that the index
 * knows. */
static void find_subjects_of(struct relations *r,
	const struct pod_affinity_term *term)
{
	const struct requirement *label = label_of(term);
	const struct relation_slot *slot = label == NULL
		? NULL
		: find_slot(&r->labels, label->key, label->values[0]);

	if (slot != NULL) {
		find_linked(r, &r->labels, slot);
		return;
	}
	for (size_t i = 0; i < r->count; i++) {
		find(r, i);
	}
}

static void find_subjects(struct relations *r,
	const struct pod_affinity_terms *terms)
{
	for (size_t i = 0; i < terms->count; i++) {
		find_subjects_of(r, &terms->list[i]);
	}
}

static void find_all(struct relations *r, const struct pod *pod)
{
	r->question++;
	r->found_count = 0;
	find_owners(r, pod);
	find_subjects(r, &pod->affinity.required);
	find_subjects(r, &pod->affinity.required_anti);
}

static const struct node *node_of(const struct relations *r,
	const struct relation_pod *pod)
{
	size_t node;

	if (pod->vm == STATE_NONE) {
		return pod->node;
	}
	node = r->state->vms[pod->vm].node;
	return node == STATE_NONE ? NULL : r->state->nodes[node].node;
}

size_t relations_count(struct relations *r, struct move_filter *filter)
{
	move_filter_begin_counts(filter);
	find_all(r, &filter->pod);
	for (size_t i = 0; i < r->found_count; i++) {
		const struct relation_pod *pod = &r->pods[r->found[i]];
		const struct node *node = node_of(r, pod);

		if (node != NULL) {
			move_filter_count(filter,
				&(struct pod_on_node){ pod->pod, node });
		}
	}
	move_filter_settle(filter);
	return r->found_count;
}
