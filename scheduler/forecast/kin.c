#include "scheduler/forecast/kin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"

struct kin {
	kin_key key;
	double weight, share; /* of VMs that are known, as in model_sum */
	/* Sums over the VMs of this pass: r, |r| and r squared. */
	double moved, swing, square;
	double known; /* these VMs */
};

/* A namespace's sums by one tie. */
struct tie {
	/* Over the kin of this pass: the squares of their sums, and the pairs
	 * of VMs. */
	double kin_moved, kin_swing, pairs;
	/* Faded sums over passes: numerators and denominators. */
	double together, apart, strange_together, strange_apart;
	double rho;
};

struct kin_namespace {
	kin_key key;
	size_t vms; /* of this pass */
	/* Sums over the VMs of this pass that are known, and their number. */
	double moved, swing, known;
	struct tie ties[KIN_TIES];
	enum kin_tie best;
};

/* The sums start with this much that is not correlated, in cores squared:
 * hardly anything beside a day of one VM that moves by half a core. */
static const double little = 1;

void kin_table_fini(struct kin_table *table)
{
	free(table->kins);
	free(table->namespaces);
	free(table->slots);
	*table = (struct kin_table){ 0 };
}

/* ---- the index ---- */

static kin_key namespace_of(kin_key key)
{
	return key >> 32 << 32;
}

/* Kin have odd keys, and their namespaces even ones. */
static kin_key key_at(const struct kin_table *table, kin_key like,
	uint32_t place)
{
	return (like & 1) != 0 ? table->kins[place].key
			       : table->namespaces[place].key;
}

/* The slot of the key, or the free one for it. The lowest bit of a slot is that
 * of its key. */
static uint32_t *slot_of(const struct kin_table *table, kin_key key)
{
	size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32);

	for (;; at++) {
		uint32_t *slot = &table->slots[at & (table->slot_count - 1)];

		if (*slot == 0 ||
			((*slot & 1) == (key & 1) &&
				key_at(table, key, (*slot >> 1) - 1) == key)) {
			return slot;
		}
	}
}

static void put_slot(struct kin_table *table, kin_key key, size_t place)
{
	*slot_of(table, key) = (uint32_t)(place + 1) << 1 | (uint32_t)(key & 1);
}

static void fill_slots(struct kin_table *table)
{
	if (table->slot_count > 0) {
		memset(table->slots, 0,
			table->slot_count * sizeof(*table->slots));
	}
	for (size_t i = 0; i < table->kin_count; i++) {
		put_slot(table, table->kins[i].key, i);
	}
	for (size_t i = 0; i < table->namespace_count; i++) {
		put_slot(table, table->namespaces[i].key, i);
	}
}

/* At most half of the slots are in use. */
static void reserve_slots(struct kin_table *table)
{
	const size_t first = 64;
	size_t used = table->kin_count + table->namespace_count;

	if (2 * (used + 1) > table->slot_count) {
		table->slot_count =
			table->slot_count > 0 ? 2 * table->slot_count : first;
		table->slots = xrealloc(table->slots, table->slot_count,
			sizeof(*table->slots));
		fill_slots(table);
	}
}

/* The place of the key, or SIZE_MAX. */
static size_t find(const struct kin_table *table, kin_key key)
{
	uint32_t slot = table->slot_count > 0 ? *slot_of(table, key) : 0;

	return slot == 0 ? SIZE_MAX : (slot >> 1) - 1;
}

static struct kin *kin_of(struct kin_table *table, kin_key key)
{
	size_t at = find(table, key);

	if (at == SIZE_MAX) {
		reserve_slots(table);
		table->kins = xgrow(table->kins, table->kin_count,
			&table->kin_capacity, sizeof(*table->kins));
		at = table->kin_count++;
		table->kins[at] = (struct kin){ .key = key };
		put_slot(table, key, at);
	}
	return &table->kins[at];
}

static struct kin_namespace *namespace_at(struct kin_table *table, kin_key key)
{
	size_t at = find(table, namespace_of(key));

	if (at == SIZE_MAX) {
		reserve_slots(table);
		table->namespaces = xgrow(table->namespaces,
			table->namespace_count, &table->namespace_capacity,
			sizeof(*table->namespaces));
		at = table->namespace_count++;
		table->namespaces[at] =
			(struct kin_namespace){ .key = namespace_of(key) };
		put_slot(table, namespace_of(key), at);
	}
	return &table->namespaces[at];
}

/* ---- a pass ---- */

void kin_table_begin(struct kin_table *table, const struct kin_table *last)
{
	table->kin_count = 0;
	table->namespace_count = 0;
	table->learnt_us = last->learnt_us;
	table->prior = last->prior;
	fill_slots(table);
	for (size_t i = 0; i < last->namespace_count; i++) {
		struct kin_namespace *n =
			namespace_at(table, last->namespaces[i].key);

		*n = last->namespaces[i];
		n->vms = 0;
		n->moved = n->swing = n->known = 0;
		for (int k = 0; k < KIN_TIES; k++) {
			struct tie *tie = &n->ties[k];

			tie->kin_moved = tie->kin_swing = tie->pairs = 0;
		}
	}
}

static void add_to_kin(struct kin *kin, const struct model_vm *vm)
{
	if (vm->vcpus > 0) {
		double weight = model_weight(vm);

		kin->weight += weight;
		kin->share +=
			weight * fmin(vm->usage.mean_cores / vm->vcpus, 1);
	}
	if (vm->usage.seconds > KIN_KNOWN_S) {
		double r = vm->deviation;

		kin->moved += r;
		kin->swing += fabs(r);
		kin->square += r * r;
		kin->known++;
	}
}

void kin_table_add(struct kin_table *table, const struct kin_keys *keys,
	const struct model_vm *vm)
{
	for (int i = 0; i < KIN_TIES; i++) {
		add_to_kin(kin_of(table, keys->by[i]), vm);
	}
	namespace_at(table, keys->by[0])->vms++;
}

static enum kin_tie tie_of(kin_key key)
{
	return (enum kin_tie)(key >> 1 & 1);
}

static void add_kin(struct kin_namespace *n, const struct kin *kin)
{
	enum kin_tie by = tie_of(kin->key);
	struct tie *tie = &n->ties[by];

	tie->together += kin->moved * kin->moved - kin->square;
	tie->apart += kin->swing * kin->swing - kin->square;
	tie->kin_moved += kin->moved * kin->moved;
	tie->kin_swing += kin->swing * kin->swing;
	tie->pairs += kin->known * (kin->known - 1);
	if (by == KIN_BY_SIZE) { /* every VM once */
		n->moved += kin->moved;
		n->swing += kin->swing;
		n->known += kin->known;
	}
}

enum { LARGEST = 5 };

/* Into the list of the largest, in order; the smallest drops out. */
static void insert(double *largest, double swing)
{
	for (int i = 0; i < LARGEST; i++) {
		if (swing > largest[i]) {
			double smaller = largest[i];

			largest[i] = swing;
			swing = smaller;
		}
	}
}

/* The swing to which namespaces are scaled down, so that none has more than a
 * fifth of the sum: with the largest m at the limit, the limit is the sum of
 * the rest / (5 - m). With fewer namespaces they all get the same. */
static double swing_limit(const struct kin_table *table)
{
	double largest[LARGEST] = { 0 };
	double rest = 0;
	double limit = INFINITY;

	for (size_t i = 0; i < table->namespace_count; i++) {
		rest += table->namespaces[i].swing;
		insert(largest, table->namespaces[i].swing);
	}
	for (int m = 0; m < LARGEST && largest[m] > 0; m++) {
		limit = rest / (LARGEST - m);
		if (largest[m] <= limit) {
			return limit;
		}
		rest -= largest[m];
		limit = largest[m];
	}
	return limit;
}

static double scale_of(const struct kin_namespace *n, double limit)
{
	return n->swing > limit ? limit / n->swing : 1;
}

static void add_strangers(struct kin_table *table)
{
	double limit = swing_limit(table);
	double moved = 0, swing = 0;

	for (size_t i = 0; i < table->namespace_count; i++) {
		const struct kin_namespace *n = &table->namespaces[i];
		double scale = scale_of(n, limit);

		moved += scale * n->moved;
		swing += scale * n->swing;
	}
	for (size_t i = 0; i < table->namespace_count; i++) {
		struct kin_namespace *n = &table->namespaces[i];
		double scale = scale_of(n, limit);

		for (int k = 0; k < KIN_TIES; k++) {
			struct tie *tie = &n->ties[k];

			tie->strange_together += n->moved * n->moved -
				tie->kin_moved +
				n->moved * (moved - scale * n->moved);
			tie->strange_apart += n->swing * n->swing -
				tie->kin_swing +
				n->swing * (swing - scale * n->swing);
		}
	}
}

/* strange_pairs: of a VM of the namespace and one that is not its kin. */
static double rho_of(const struct tie *tie, double strange_pairs)
{
	double kin = tie->together / (tie->apart + little);
	double strangers =
		tie->strange_together / (tie->strange_apart + little);
	double seen =
		strange_pairs < tie->pairs ? strange_pairs / tie->pairs : 1;

	return seen * fmin(fmax(kin - fmax(strangers, 0), 0), 1);
}

/* The size is chosen among equals: without labels both are the same. */
static void choose_tie(struct kin_namespace *n, double others)
{
	double explained[KIN_TIES];
	double pairs = n->known * (n->known - 1 + others);

	for (int i = 0; i < KIN_TIES; i++) {
		n->ties[i].rho = rho_of(&n->ties[i], pairs - n->ties[i].pairs);
		explained[i] = n->ties[i].rho * n->ties[i].together;
	}
	n->best = explained[KIN_BY_LABELS] > explained[KIN_BY_SIZE]
		? KIN_BY_LABELS
		: KIN_BY_SIZE;
}

static void fade(struct tie *tie, double kept)
{
	tie->together *= kept;
	tie->apart *= kept;
	tie->strange_together *= kept;
	tie->strange_apart *= kept;
}

static void forget_empty(struct kin_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->namespace_count; i++) {
		if (table->namespaces[i].vms > 0) {
			table->namespaces[kept++] = table->namespaces[i];
		}
	}
	table->namespace_count = kept;
	fill_slots(table);
}

void kin_table_end(struct kin_table *table, struct model_prior prior,
	int64_t now_us)
{
	double seconds = (double)(now_us - table->learnt_us) / 1e6;
	double kept = table->learnt_us > 0 ? exp(-seconds / USAGE_MEMORY_S) : 0;
	double known = 0;

	for (size_t i = 0; i < table->namespace_count; i++) {
		for (int k = 0; k < KIN_TIES; k++) {
			fade(&table->namespaces[i].ties[k], kept);
		}
	}
	for (size_t i = 0; i < table->kin_count; i++) {
		add_kin(namespace_at(table, table->kins[i].key),
			&table->kins[i]);
	}
	add_strangers(table);
	for (size_t i = 0; i < table->namespace_count; i++) {
		known += table->namespaces[i].known;
	}
	for (size_t i = 0; i < table->namespace_count; i++) {
		struct kin_namespace *n = &table->namespaces[i];

		choose_tie(n, known - n->known);
	}
	forget_empty(table);
	table->prior = prior;
	table->learnt_us = now_us;
}

struct kin_figures kin_table_figures(const struct kin_table *table,
	const struct kin_keys *keys)
{
	struct kin_figures out = { .kin = keys->by[KIN_BY_SIZE] };
	size_t namespace = find(table, namespace_of(out.kin));
	size_t at;

	if (namespace != SIZE_MAX) {
		const struct kin_namespace *n = &table->namespaces[namespace];

		out.kin = keys->by[n->best];
		out.rho = n->ties[n->best].rho;
	}
	at = find(table, out.kin);
	if (at != SIZE_MAX) {
		const struct kin *kin = &table->kins[at];
		double share = (kin->share + KIN_PEERS * table->prior.share) /
			(kin->weight + KIN_PEERS);

		out.more = share - table->prior.share;
	}
	return out;
}
