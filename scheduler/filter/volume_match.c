#include "scheduler/filter/volume_match.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

/* ---- whatever the node ---- */

static bool is_meant_for(const struct volume *volume, const struct claim *claim)
{
	if (volume->assumed_uid != NULL) {
		return strcmp(volume->assumed_uid, claim->uid) == 0;
	}
	return volume->claim_name != NULL &&
		strcmp(volume->claim_name, claim->name) == 0 &&
		strcmp(volume->claim_namespace, claim->namespace_name) == 0 &&
		(*volume->claim_uid == '\0' ||
			strcmp(volume->claim_uid, claim->uid) == 0);
}

static bool is_free(const struct volume *volume)
{
	return volume->assumed_uid == NULL && volume->claim_name == NULL;
}

/* What is asked of any volume, even one that was made for the claim. */
static bool is_like(const struct volume *volume, const struct claim *claim)
{
	return strcmp(volume->class_name, claim->class_name) == 0 &&
		strcmp(volume->attributes, claim->attributes) == 0 &&
		volume->is_block == claim->is_block && !volume->is_deleting &&
		quantity_compare(volume->capacity, claim->size) >= 0;
}

static bool is_candidate(const struct volume *volume, const struct claim *claim,
	const struct names *names)
{
	if (!is_like(volume, claim)) {
		return false;
	}
	if (is_meant_for(volume, claim)) {
		return true;
	}
	return is_free(volume) && volume->is_available &&
		(claim->modes & ~volume->modes) == 0 &&
		(!claim->has_selector ||
			label_selector_matches(&claim->selector, names,
				&volume->labels));
}

static int compare_volumes(const void *a, const void *b)
{
	const struct volume *x = *(struct volume *const *)a;
	const struct volume *y = *(struct volume *const *)b;
	int order = quantity_compare(x->capacity, y->capacity);

	return order != 0 ? order : strcmp(x->name, y->name);
}

/* Those meant for the claim go before the others. */
static void put_meant_first(struct delayed_claim *delayed)
{
	size_t meant = 0;

	for (size_t i = 0; i < delayed->count; i++) {
		struct volume *volume = delayed->candidates[i];

		if (!is_meant_for(volume, delayed->claim)) {
			continue;
		}
		memmove(&delayed->candidates[meant + 1],
			&delayed->candidates[meant],
			(i - meant) * sizeof(struct volume *));
		delayed->candidates[meant++] = volume;
	}
	delayed->meant = meant;
}

/* The only thing the volume asks of a node: one label with one value. NULL: it
 * asks something else, or nothing. */
static const struct requirement *pin_of(const struct volume *volume)
{
	const struct terms *terms = &volume->affinity;
	const struct requirement *r;

	if (terms->count != 1 || terms->list[0].count != 1 ||
		terms->list[0].is_broken) {
		return NULL;
	}
	r = &terms->list[0].requirements[0];
	return r->operator== SELECTOR_IN && !r->is_field && r->value_count == 1
		? r
		: NULL;
}

/* From the last to the first, so that each list begins with the best. */
static void index_candidates(struct delayed_claim *delayed)
{
	delayed->next = xcalloc(delayed->count, sizeof(*delayed->next));
	delayed->loose = xcalloc(delayed->count, sizeof(*delayed->loose));
	for (size_t i = delayed->meant; i < delayed->count; i++) {
		if (pin_of(delayed->candidates[i]) == NULL) {
			delayed->loose[delayed->loose_count++] = i;
		}
	}
	for (size_t i = delayed->count; i > delayed->meant; i--) {
		const struct requirement *pin =
			pin_of(delayed->candidates[i - 1]);
		int64_t first;

		if (pin != NULL) {
			first = pairs_get(&delayed->pinned, pin->key,
				pin->values[0]);
			delayed->next[i - 1] = (size_t)first;
			pairs_add(&delayed->pinned, pin->key, pin->values[0],
				(int64_t)i - first);
		}
	}
}

/* Where there is room for the claim, as far as its driver says. */
static void find_rooms(struct delayed_claim *delayed,
	const struct storage *storage)
{
	const struct map *map = &storage->maps[STORAGE_CAPACITIES];
	const struct csi_driver *driver =
		storage_csi_driver(storage, delayed->class->provisioner);
	const struct claim *claim = delayed->claim;
	size_t at = 0;
	void *value;

	delayed->needs_room =
		claim->has_size && driver != NULL && driver->has_capacity;
	if (!delayed->needs_room) {
		return;
	}
	delayed->rooms = xcalloc(map->count, sizeof(struct capacity *));
	while (map_next(map, &at, NULL, &value)) {
		const struct capacity *capacity = value;

		if (capacity->has_limit &&
			strcmp(capacity->class_name, claim->class_name) == 0 &&
			quantity_units(capacity->limit) >=
				quantity_units(claim->size)) {
			delayed->rooms[delayed->room_count++] = capacity;
		}
	}
}

void volume_match_candidates(struct delayed_claim *delayed,
	const struct storage *storage, const struct names *names)
{
	const struct map *map = &storage->maps[STORAGE_VOLUMES];
	size_t at = 0;
	void *value;

	delayed->candidates = xcalloc(map->count, sizeof(struct volume *));
	while (map_next(map, &at, NULL, &value)) {
		if (is_candidate(value, delayed->claim, names)) {
			delayed->candidates[delayed->count++] = value;
		}
	}
	qsort(delayed->candidates, delayed->count, sizeof(struct volume *),
		compare_volumes);
	put_meant_first(delayed);
	index_candidates(delayed);
	find_rooms(delayed, storage);
}

/* ---- one node ---- */

bool volume_match_node(const struct volume *volume, const struct node *node)
{
	/* Upstream asks about labels alone: the node has no name here. */
	const struct selected selected = {
		.names = node->names,
		.labels = &node->labels,
	};

	return !volume->has_affinity ||
		terms_match(&volume->affinity, &selected);
}

static bool is_chosen(const struct volumes *v, const struct volume *volume)
{
	for (size_t i = 0; i < v->chosen_count; i++) {
		if (v->chosen[i] == volume) {
			return true;
		}
	}
	return false;
}

/* The first of the pinned ones with this pair; delayed->count: none. */
static size_t first_pinned(const struct volumes *v,
	const struct delayed_claim *delayed, uint32_t key, uint32_t value)
{
	size_t at = (size_t)pairs_get(&delayed->pinned, key, value);

	while (at > 0 && is_chosen(v, delayed->candidates[at - 1])) {
		at = delayed->next[at - 1];
	}
	return at > 0 ? at - 1 : delayed->count;
}

static size_t first_loose(const struct volumes *v,
	const struct delayed_claim *delayed, const struct node *node)
{
	for (size_t i = 0; i < delayed->loose_count; i++) {
		const struct volume *volume =
			delayed->candidates[delayed->loose[i]];

		if (!is_chosen(v, volume) && volume_match_node(volume, node)) {
			return delayed->loose[i];
		}
	}
	return delayed->count;
}

/* A volume that is meant for the claim is the only one, even if it cannot be
 * used on this node. */
static struct volume *choose(const struct volumes *v,
	const struct delayed_claim *delayed, const struct node *node)
{
	size_t best;

	for (size_t i = 0; i < delayed->meant; i++) {
		struct volume *volume = delayed->candidates[i];

		if (!is_chosen(v, volume)) {
			return volume_match_node(volume, node) ? volume : NULL;
		}
	}
	best = first_loose(v, delayed, node);
	for (size_t i = 0; i < delayed->pinned.key_count; i++) {
		uint32_t key = delayed->pinned.keys[i];
		uint32_t value = labels_get(&node->labels, key);
		size_t first = value == 0
			? delayed->count
			: first_pinned(v, delayed, key, value);

		best = first < best ? first : best;
	}
	return best < delayed->count ? delayed->candidates[best] : NULL;
}

static bool has_room(const struct delayed_claim *delayed,
	const struct node *node)
{
	for (size_t i = 0; i < delayed->room_count; i++) {
		if (label_selector_matches(&delayed->rooms[i]->nodes,
			    node->names, &node->labels)) {
			return true;
		}
	}
	return !delayed->needs_room;
}

/* 0, or a bit that says why nothing can be provisioned. */
static uint32_t provision(const struct delayed_claim *delayed,
	struct volume_plan *plan, const struct node *node)
{
	const struct storage_class *class = delayed->class;
	const struct selected selected = {
		.names = node->names,
		.labels = &node->labels,
		.name = node->name_id,
	};

	if (*class->provisioner == '\0' ||
		strcmp(class->provisioner, "kubernetes.io/no-provisioner") ==
			0 ||
		(class->has_topologies &&
			!terms_match(&class->topologies, &selected))) {
		return 1U << VOLUMES_NONE;
	}
	if (!has_room(delayed, node)) {
		return 1U << VOLUMES_SPACE;
	}
	if (plan != NULL) {
		volume_plan_add(plan, delayed->claim, NULL);
	}
	return 0;
}

static const char *selected_node(const struct claim *claim)
{
	return claim->assumed_node != NULL ? claim->assumed_node
					   : claim->selected_node;
}

/* Claims that were promised to a node already, in the pod's order. */
static uint32_t keep_promises(const struct volumes *v, struct volume_plan *plan,
	const struct node *node)
{
	uint32_t reasons = 0;

	for (size_t i = 0; i < v->delayed_count; i++) {
		const char *selected = selected_node(v->delayed[i].claim);

		if (selected != NULL && strcmp(selected, node->name) != 0) {
			return 1U << VOLUMES_NONE;
		}
	}
	for (size_t i = 0; i < v->delayed_count && reasons == 0; i++) {
		if (selected_node(v->delayed[i].claim) != NULL) {
			reasons = provision(&v->delayed[i], plan, node);
		}
	}
	return reasons;
}

uint32_t volume_match_delayed(struct volumes *volumes, struct volume_plan *plan,
	const struct node *node)
{
	struct volumes *v = volumes;
	uint32_t reasons = keep_promises(v, plan, node);

	v->chosen_count = 0;
	for (size_t i = 0; i < v->delayed_count && reasons == 0; i++) {
		const struct delayed_claim *delayed = v->by_size[i];
		struct volume *volume;

		if (selected_node(delayed->claim) != NULL) {
			continue;
		}
		volume = choose(v, delayed, node);
		if (volume == NULL) {
			reasons = provision(delayed, plan, node);
			continue;
		}
		v->chosen[v->chosen_count++] = volume;
		if (plan != NULL) {
			volume_plan_add(plan, delayed->claim, volume);
		}
	}
	return reasons;
}
