#include "scheduler/filter/volume_match.h"

#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

/* ---- for all nodes ---- */

static bool is_prebound_to(const struct volume *volume,
	const struct claim *claim, const struct storage *storage)
{
	const char *assumed = storage_assumed_uid(storage, volume);

	if (assumed != NULL) {
		return strcmp(assumed, claim->uid) == 0;
	}
	return volume->claim_name != NULL &&
		strcmp(volume->claim_name, claim->name) == 0 &&
		strcmp(volume->claim_namespace, claim->namespace_name) == 0 &&
		(*volume->claim_uid == '\0' ||
			strcmp(volume->claim_uid, claim->uid) == 0);
}

static bool is_free(const struct volume *volume, const struct storage *storage)
{
	return volume->claim_name == NULL &&
		storage_assumed_uid(storage, volume) == NULL;
}

/* Required of every volume, even if prebound. */
static bool has_matching_spec(const struct volume *volume,
	const struct claim *claim)
{
	return strcmp(volume->class_name, claim->class_name) == 0 &&
		strcmp(volume->attributes, claim->attributes) == 0 &&
		volume->is_block == claim->is_block && !volume->is_deleting &&
		quantity_compare(volume->capacity, claim->size) >= 0;
}

static bool is_candidate(const struct volume *volume, const struct claim *claim,
	const struct storage *storage, const struct interner *interner)
{
	if (!has_matching_spec(volume, claim)) {
		return false;
	}
	if (is_prebound_to(volume, claim, storage)) {
		return true;
	}
	return is_free(volume, storage) && volume->is_available &&
		(claim->modes & ~volume->modes) == 0 &&
		(!claim->has_selector ||
			label_selector_matches(&claim->selector, interner,
				&volume->labels));
}

static int compare_volumes(const void *a, const void *b)
{
	const struct volume *x = *(struct volume *const *)a;
	const struct volume *y = *(struct volume *const *)b;
	int order = quantity_compare(x->capacity, y->capacity);

	return order != 0 ? order : strcmp(x->name, y->name);
}

/* Moves volumes that are prebound to the claim to the front. */
static void put_prebound_first(struct delayed_claim *delayed,
	const struct storage *storage)
{
	size_t prebound = 0;

	for (size_t i = 0; i < delayed->count; i++) {
		const struct volume *volume = delayed->candidates[i];

		if (!is_prebound_to(volume, delayed->claim, storage)) {
			continue;
		}
		memmove(&delayed->candidates[prebound + 1],
			&delayed->candidates[prebound],
			(i - prebound) * sizeof(struct volume *));
		delayed->candidates[prebound++] = volume;
	}
	delayed->prebound = prebound;
}

/* The only node affinity of the volume, if that is one label with one value;
 * else NULL. */
static const struct requirement *pin_of(const struct volume *volume)
{
	const struct node_selector *terms = &volume->affinity;
	const struct label_selector *only =
		terms->count == 1 ? &terms->list->all : NULL;

	return only != NULL && only->count == 1 && !only->is_invalid &&
			requirement_is_equality(&only->list[0])
		? &only->list[0]
		: NULL;
}

/* Backwards, so that each list begins with the best volume. */
static void index_candidates(struct delayed_claim *delayed)
{
	delayed->next = xcalloc(delayed->count, sizeof(*delayed->next));
	delayed->unpinned = xcalloc(delayed->count, sizeof(*delayed->unpinned));
	for (size_t i = delayed->prebound; i < delayed->count; i++) {
		if (pin_of(delayed->candidates[i]) == NULL) {
			delayed->unpinned[delayed->unpinned_count++] = i;
		}
	}
	for (size_t i = delayed->count; i > delayed->prebound; i--) {
		const struct requirement *pin =
			pin_of(delayed->candidates[i - 1]);
		int64_t first;

		if (pin != NULL) {
			first = topology_counts_get(&delayed->pinned, pin->key,
				pin->values[0]);
			delayed->next[i - 1] = (size_t)first;
			topology_counts_add(&delayed->pinned, pin->key,
				pin->values[0], (int64_t)i - first);
		}
	}
}

/* The CSIStorageCapacity objects that are large enough for the claim. */
static void find_capacities(struct delayed_claim *delayed,
	const struct storage *storage)
{
	const struct map *map = &storage->maps[STORAGE_CAPACITIES];
	const struct csi_driver *driver =
		storage_csi_driver(storage, delayed->class->provisioner);
	const struct claim *claim = delayed->claim;
	size_t at = 0;
	void *value;

	delayed->needs_capacity =
		claim->has_size && driver != NULL && driver->has_capacity;
	if (!delayed->needs_capacity) {
		return;
	}
	delayed->capacities = xcalloc(map->count, sizeof(struct capacity *));
	while (map_next(map, &at, NULL, &value)) {
		const struct capacity *capacity = value;

		if (capacity->has_limit &&
			strcmp(capacity->class_name, claim->class_name) == 0 &&
			quantity_units(capacity->limit) >=
				quantity_units(claim->size)) {
			delayed->capacities[delayed->capacity_count++] =
				capacity;
		}
	}
}

static const char *selected_node(const struct storage *storage,
	const struct claim *claim)
{
	const char *assumed = storage_assumed_node(storage, claim);

	return assumed != NULL ? assumed : claim->selected_node;
}

void volume_match_candidates(struct delayed_claim *delayed,
	const struct storage *storage, const struct interner *interner)
{
	const struct map *map = &storage->maps[STORAGE_VOLUMES];
	size_t at = 0;
	void *value;

	delayed->selected = selected_node(storage, delayed->claim);
	delayed->candidates = xcalloc(map->count, sizeof(struct volume *));
	while (map_next(map, &at, NULL, &value)) {
		if (is_candidate(value, delayed->claim, storage, interner)) {
			delayed->candidates[delayed->count++] = value;
		}
	}
	qsort(delayed->candidates, delayed->count, sizeof(struct volume *),
		compare_volumes);
	put_prebound_first(delayed, storage);
	index_candidates(delayed);
	find_capacities(delayed, storage);
}

/* ---- one node ---- */

bool volume_match_node(const struct volume *volume, const struct node *node)
{
	/* Upstream matches only labels here, so the name stays 0. */
	const struct requirement_subject selected = {
		.interner = node->interner,
		.labels = &node->labels,
	};

	return !volume->has_affinity ||
		node_selector_matches(&volume->affinity, &selected);
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

/* The best free volume pinned to this label; delayed->count: none. */
static size_t first_pinned(const struct volumes *v,
	const struct delayed_claim *delayed, uint32_t key, uint32_t value)
{
	size_t at = (size_t)topology_counts_get(&delayed->pinned, key, value);

	while (at > 0 && is_chosen(v, delayed->candidates[at - 1])) {
		at = delayed->next[at - 1];
	}
	return at > 0 ? at - 1 : delayed->count;
}

static size_t first_unpinned(const struct volumes *v,
	const struct delayed_claim *delayed, const struct node *node)
{
	for (size_t i = 0; i < delayed->unpinned_count; i++) {
		const struct volume *volume =
			delayed->candidates[delayed->unpinned[i]];

		if (!is_chosen(v, volume) && volume_match_node(volume, node)) {
			return delayed->unpinned[i];
		}
	}
	return delayed->count;
}

/* A claim with a prebound volume gets no other volume, even if the node does
 * not match. */
static const struct volume *choose(const struct volumes *v,
	const struct delayed_claim *delayed, const struct node *node)
{
	size_t best;

	for (size_t i = 0; i < delayed->prebound; i++) {
		const struct volume *volume = delayed->candidates[i];

		if (!is_chosen(v, volume)) {
			return volume_match_node(volume, node) ? volume : NULL;
		}
	}
	best = first_unpinned(v, delayed, node);
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

static bool has_capacity_on(const struct delayed_claim *delayed,
	const struct node *node)
{
	for (size_t i = 0; i < delayed->capacity_count; i++) {
		if (label_selector_matches(&delayed->capacities[i]->nodes,
			    node->interner, &node->labels)) {
			return true;
		}
	}
	return !delayed->needs_capacity;
}

/* 0, or the bit of the reason against provisioning. */
static uint32_t provision(const struct delayed_claim *delayed,
	struct volume_plan *plan, const struct node *node)
{
	const struct storage_class *class = delayed->class;
	const struct requirement_subject selected = node_subject(node);

	if (*class->provisioner == '\0' ||
		strcmp(class->provisioner, "kubernetes.io/no-provisioner") ==
			0 ||
		(class->has_topologies &&
			!node_selector_matches(&class->topologies,
				&selected))) {
		return 1U << VOLUMES_NONE;
	}
	if (!has_capacity_on(delayed, node)) {
		return 1U << VOLUMES_SPACE;
	}
	if (plan != NULL) {
		volume_plan_add(plan, delayed->claim, NULL);
	}
	return 0;
}

/* Claims whose node was selected before, in the pod's order. */
static uint32_t match_selected_nodes(const struct volumes *v,
	struct volume_plan *plan, const struct node *node)
{
	uint32_t reasons = 0;

	for (size_t i = 0; i < v->delayed_count; i++) {
		const char *selected = v->delayed[i].selected;

		if (selected != NULL && strcmp(selected, node->name) != 0) {
			return 1U << VOLUMES_NONE;
		}
	}
	for (size_t i = 0; i < v->delayed_count && reasons == 0; i++) {
		if (v->delayed[i].selected != NULL) {
			reasons = provision(&v->delayed[i], plan, node);
		}
	}
	return reasons;
}

uint32_t volume_match_delayed(struct volumes *volumes, struct volume_plan *plan,
	const struct node *node)
{
	struct volumes *v = volumes;
	uint32_t reasons = match_selected_nodes(v, plan, node);

	v->chosen_count = 0;
	for (size_t i = 0; i < v->delayed_count && reasons == 0; i++) {
		const struct delayed_claim *delayed = v->by_size[i];
		const struct volume *volume;

		if (delayed->selected != NULL) {
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
