#include "scheduler/plan/classes.h"

#include "lib/memory.h"
#include "scheduler/plan/state_order.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) +
		(hash >> 2);
	return hash * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Sums, because slots have no order. */
static uint64_t hash_selector(const struct labels *labels)
{
	uint64_t sum = labels->count;

	for (size_t i = 0; labels->shift != 0 &&
		i < (size_t)(UINT64_C(1) << (32 - labels->shift));
		i++) {
		const struct label *slot = &labels->slots[i];

		if (slot->key != 0) {
			sum += mix(slot->key, slot->value);
		}
	}
	return sum;
}

static uint64_t hash_pod(const struct pod *pod)
{
	const struct resources *r = &pod->requests;
	uint64_t hash = mix((uint64_t)(int64_t)pod->priority,
		pod->requests_kvm ? 1 : 0);

	hash = mix(hash, (uint64_t)r->cpu_milli);
	hash = mix(hash, (uint64_t)r->memory_bytes);
	hash = mix(hash, (uint64_t)r->ephemeral_bytes);
	for (size_t i = 0; i < r->scalar_count; i++) {
		hash = mix(hash, r->scalars[i].resource);
		hash = mix(hash, (uint64_t)r->scalars[i].value);
	}
	/* Such a pod is a class of its own. */
	hash = mix(hash, pod->has_required ? (uint64_t)(uintptr_t)pod : 0);
	return mix(hash, hash_selector(&pod->node_selector));
}

static bool have_equal_requests(const struct resources *a,
	const struct resources *b)
{
	if (a->cpu_milli != b->cpu_milli ||
		a->memory_bytes != b->memory_bytes ||
		a->ephemeral_bytes != b->ephemeral_bytes ||
		a->scalar_count != b->scalar_count) {
		return false;
	}
	for (size_t i = 0; i < a->scalar_count; i++) {
		if (a->scalars[i].resource != b->scalars[i].resource ||
			a->scalars[i].value != b->scalars[i].value) {
			return false;
		}
	}
	return true;
}

static bool have_equal_tolerations(const struct tolerations *a,
	const struct tolerations *b)
{
	if (a->count != b->count ||
		a->has_unschedulable != b->has_unschedulable) {
		return false;
	}
	for (size_t i = 0; i < a->count; i++) {
		const struct toleration *x = &a->list[i];
		const struct toleration *y = &b->list[i];

		if (x->operator!= y->operator|| x->taint.key !=
			y->taint.key || x->taint.value != y->taint.value ||
			x->taint.effect != y->taint.effect) {
			return false;
		}
	}
	return true;
}

static bool are_equal(const struct pod *a, const struct pod *b)
{
	return a == b ||
		(!a->has_required && !b->has_required &&
			a->unsupported == NULL && b->unsupported == NULL &&
			a->priority == b->priority &&
			a->requests_kvm == b->requests_kvm &&
			a->features == b->features &&
			have_equal_requests(&a->requests, &b->requests) &&
			a->node_selector.count == b->node_selector.count &&
			labels_include(&a->node_selector, &b->node_selector) &&
			have_equal_tolerations(&a->tolerations,
				&b->tolerations));
}

static struct class *add(struct classes *c, size_t vm, const struct pod *pod)
{
	struct class *added;

	c->list = xgrow(c->list, c->count, &c->capacity, sizeof(*c->list));
	added = &c->list[c->count++];
	*added = (struct class){ .vm = vm, .pod = *pod };
	added->pod.migrated = NULL;
	added->pod.restarted = NULL;
	added->pod.affinity = (struct pod_affinity){ 0 };
	added->pod.spread = (struct spread_constraints){ 0 };
	added->pod.ports = (struct host_ports){ 0 };
	added->pod.volumes = (struct pod_volumes){ 0 };
	return added;
}

/* A migration requires no less than a start. */
static const struct pod *next_of(const struct classes *c,
	const struct state *state, size_t vm)
{
	const struct pod *pod = state->vms[vm].vm->pod;
	const struct pod *next = c->starts ? pod->restarted : pod->migrated;

	return next != NULL ? next : pod;
}

static size_t find_or_add(struct classes *c, const struct state *state,
	size_t vm)
{
	const struct pod *pod = next_of(c, state, vm);
	size_t at = (size_t)hash_pod(pod) & (c->slot_count - 1);

	for (; c->slots[at] != 0; at = (at + 1) & (c->slot_count - 1)) {
		size_t index = c->slots[at] - 1;

		if (are_equal(next_of(c, state, c->list[index].vm), pod)) {
			return index;
		}
	}
	(void)add(c, vm, pod);
	c->slots[at] = c->count;
	return c->count - 1;
}

void classes_begin(struct classes *classes, struct state *state, bool starts)
{
	size_t slots = 16;

	*classes = (struct classes){ .plain = *state->cluster,
		.order = state->version,
		.starts = starts };
	classes->plain.affinity_pods = NULL;
	classes->plain.affinity_pod_count = 0;
	while (slots < 2 * state->vm_count) {
		slots *= 2;
	}
	classes->slots = xcalloc(slots, sizeof(size_t));
	classes->slot_count = slots;
	for (size_t i = 0; i < state->vm_count; i++) {
		state->vms[i].class = find_or_add(classes, state, i);
	}
}

void classes_end(struct classes *classes)
{
	for (size_t i = 0; i < classes->count; i++) {
		struct class *class = &classes->list[i];

		free(class->direct.list);
		for (size_t k = 0; k < CLASSES_PUSHES; k++) {
			free(class->pushed[k].list);
		}
	}
	free(classes->list);
	free(classes->slots);
	*classes = (struct classes){ 0 };
}

void classes_order(struct classes *classes, struct state *state)
{
	if (classes->order != state->version) {
		state_order_by_load(state);
		classes->order = state->version;
	}
}

bool classes_is_plain(const struct state *state, const struct pod *pod)
{
	return !state->has_relations && pod->ports.count == 0 &&
		pod->volumes.claim_count == 0 && pod->volumes.disk_count == 0;
}
