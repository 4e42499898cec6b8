#include "scheduler/forecast/kin.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lib/memory.h"
#include "tests/support/random.h"

static const struct model_prior prior = { 0.2, 0.2 };

enum { FARM_A = 4, FARM_B = 8, OTHERS = 12, DAY = 96 };

/* Between -1 and 1, and the same for the same seed. */
static double random_swing(uint64_t *seed)
{
	return (double)(random_next(seed) >> 11) / 0x1p52 - 1;
}

/* A VM of 4 vCPUs that is known and deviated from its mean. */
static struct model_vm swung(double deviation)
{
	return (struct model_vm){ .vcpus = 4,
		.usage = { .seconds = 20000, .mean_cores = 1 },
		.deviation = deviation };
}

/* So many VMs of a kin, which follow `common` for the part `rho` of their
 * variance. */
struct farm {
	uint32_t namespace;
	uint64_t tie;
	int vms;
	double size, rho;
};

/* Without labels. */
static struct kin_keys keys_of(uint32_t namespace, uint64_t hash)
{
	return (struct kin_keys){ .by = {
					  kin_key_of(namespace, KIN_BY_SIZE,
						  hash),
					  kin_key_of(namespace, KIN_BY_LABELS,
						  hash),
				  } };
}

static struct kin_keys key_of(const struct farm *farm)
{
	return keys_of(farm->namespace, farm->tie);
}

/* The table that is known, and the pass that is under way. */
struct learner {
	struct kin_table known, next;
};

static void begin(struct learner *l)
{
	kin_table_begin(&l->next, &l->known);
}

static void end(struct learner *l)
{
	const struct kin_table old = l->known;

	kin_table_end(&l->next, prior, old.learnt_us + KIN_PASS_US);
	l->known = l->next;
	l->next = old;
}

static void add(struct learner *l, struct kin_keys keys,
	const struct model_vm *vm)
{
	kin_table_add(&l->next, &keys, vm);
}

static void learner_fini(struct learner *l)
{
	kin_table_fini(&l->known);
	kin_table_fini(&l->next);
}

/* A pass over the VMs of a farm. all: what all VMs follow, in cores. */
static void play_farm(struct learner *l, const struct farm *farm, double all,
	uint64_t *seed)
{
	double common = random_swing(seed);

	for (int i = 0; i < farm->vms; i++) {
		const struct model_vm vm = swung(all +
			farm->size *
				(sqrt(farm->rho) * common +
					sqrt(1 - farm->rho) *
						random_swing(seed)));

		add(l, key_of(farm), &vm);
	}
}

/* A day of passes, each with the same farms. fleet: how far all VMs swing
 * together, in cores. */
static void play(struct learner *l, const struct farm *farms, size_t count,
	double fleet)
{
	uint64_t seed = 7;

	for (int pass = 1; pass <= DAY; pass++) {
		double all = fleet * random_swing(&seed);

		begin(l);
		for (size_t f = 0; f < count; f++) {
			play_farm(l, &farms[f], all, &seed);
		}
		end(l);
	}
}

static double rho_of(const struct learner *l, struct kin_keys keys)
{
	return kin_table_figures(&l->known, &keys).rho;
}

static double more_of(const struct learner *l, struct kin_keys keys)
{
	return kin_table_figures(&l->known, &keys).more;
}

static void learns_how_far_kin_move_together(void **state)
{
	static const struct farm farms[] = {
		{ 1, FARM_A, 20, 1, 0.9 },
		{ 2, FARM_A, 20, 1, 0.4 },
		{ 3, FARM_A, 20, 1, 0 },
	};
	struct learner l = { 0 };

	(void)state;
	play(&l, farms, count_of(farms), 0);
	assert_true(fabs(rho_of(&l, key_of(&farms[0])) - 0.9) < 0.1);
	/* An estimate from sums of |r| is too large by up to a third. */
	assert_true(fabs(rho_of(&l, key_of(&farms[1])) - 0.5) < 0.15);
	assert_true(rho_of(&l, key_of(&farms[2])) < 0.05);
	learner_fini(&l);
}

static void nothing_is_known_before_the_first_hour(void **state)
{
	struct learner l = { 0 };
	const struct kin_keys key = keys_of(1, FARM_A);
	struct model_vm vm = swung(1);
	struct model_vm stranger = swung(0);

	(void)state;
	assert_true(rho_of(&l, key) <= 0);
	vm.usage.seconds = stranger.usage.seconds = KIN_KNOWN_S - 1;
	for (int pass = 1; pass < 5; pass++) {
		begin(&l);
		add(&l, key, &vm);
		add(&l, key, &vm);
		add(&l, keys_of(2, OTHERS), &stranger);
		end(&l);
		assert_true(rho_of(&l, key) <= 0);
	}
	learner_fini(&l);
}

/* Spreading does not help against it. */
static void a_swing_of_all_vms_is_not_kin(void **state)
{
	static const struct farm farms[] = {
		{ 1, FARM_A, 20, 1, 0 },
		{ 1, FARM_B, 20, 1, 0 },
		{ 2, FARM_A, 20, 1, 0 },
	};
	struct learner l = { 0 };

	(void)state;
	play(&l, farms, count_of(farms), 2);
	for (size_t i = 0; i < count_of(farms); i++) {
		assert_true(rho_of(&l, key_of(&farms[i])) < 0.1);
	}
	learner_fini(&l);
}

/* Its ten VMs swing a hundred times as far as others, which all follow one
 * swing. Without a limit it would hide that swing, and change rho by 0.6. */
static void a_tenant_in_lockstep_hardly_changes_others_correlation(void **state)
{
	static const struct farm farms[] = {
		{ 1, FARM_A, 12, 1, 0.5 },
		{ 1, FARM_B, 12, 1, 0 },
		{ 2, FARM_A, 12, 1, 0 },
		{ 3, OTHERS, 12, 1, 0.5 },
		{ 4, OTHERS, 12, 1, 0 },
		{ 5, OTHERS, 12, 1, 0 },
		{ 6, OTHERS, 12, 1, 0 },
		{ 9, FARM_A, 10, 100, 1 },
	};
	struct learner with = { 0 }, without = { 0 };

	(void)state;
	play(&with, farms, count_of(farms), 1);
	play(&without, farms, count_of(farms) - 1, 1);
	for (size_t i = 0; i + 1 < count_of(farms); i++) {
		assert_true(fabs(rho_of(&with, key_of(&farms[i])) -
				    rho_of(&without, key_of(&farms[i]))) < 0.2);
	}
	assert_true(rho_of(&with, key_of(&farms[7])) > 0.8);
	learner_fini(&with);
	learner_fini(&without);
}

/* Labels that all VMs have, or one size: nothing tells kin from strangers. */
static void a_fleet_that_is_one_kin_shows_nothing(void **state)
{
	static const struct farm farm = { 1, FARM_A, 20, 1, 0.9 };
	struct learner l = { 0 };

	(void)state;
	play(&l, &farm, 1, 0);
	assert_true(rho_of(&l, key_of(&farm)) <= 0);
	learner_fini(&l);
}

static void kin_never_cross_a_namespace(void **state)
{
	struct learner l = { 0 };
	const struct model_vm up = swung(1);

	(void)state;
	for (int pass = 1; pass <= DAY; pass++) {
		begin(&l);
		add(&l, keys_of(1, FARM_A), &up);
		add(&l, keys_of(2, FARM_A), &up);
		end(&l);
	}
	assert_true(rho_of(&l, keys_of(1, FARM_A)) <= 0);
	assert_true(rho_of(&l, keys_of(2, FARM_A)) <= 0);
	learner_fini(&l);
}

/* Ten VMs of two farms each: by one tie all VMs of a farm, by the other pairs
 * of both, or all as one, or each alone. */
static void play_ties(struct learner *l, enum kin_tie right, int wrong)
{
	uint64_t seed = 3;

	for (int pass = 1; pass <= DAY; pass++) {
		double common[] = { random_swing(&seed), random_swing(&seed) };

		begin(l);
		for (uint64_t i = 0; i < 20; i++) {
			const struct model_vm vm =
				swung(common[i % 2] + random_swing(&seed) / 4);
			uint64_t mistaken = wrong == 0 ? 0
				: wrong == 1	       ? i / 2
						       : i;
			struct kin_keys keys;

			keys.by[right] = kin_key_of(1, right, (1 + i % 2) * 4);
			keys.by[!right] =
				kin_key_of(1, !right, (1 + mistaken) * 4);
			add(l, keys, &vm);
		}
		end(l);
	}
}

static void the_tie_that_explains_more_counts(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		const enum kin_tie right =
			i % 2 == 0 ? KIN_BY_SIZE : KIN_BY_LABELS;
		struct learner l = { 0 };
		struct kin_keys keys = { 0 };
		struct kin_figures figures;

		play_ties(&l, right, i / 2);
		keys.by[right] = kin_key_of(1, right, 4);
		keys.by[!right] = kin_key_of(1, !right, 4);
		figures = kin_table_figures(&l.known, &keys);
		assert_true(figures.kin == keys.by[right]);
		assert_true(figures.rho > 0.7);
		learner_fini(&l);
	}
}

static void a_new_vm_is_expected_to_use_what_its_kin_use(void **state)
{
	struct learner l = { 0 };
	struct model_vm busy = swung(0);

	(void)state;
	busy.usage.mean_cores = 4;
	begin(&l);
	for (int i = 0; i < 6; i++) {
		add(&l, keys_of(1, FARM_A), &busy);
	}
	end(&l);
	/* (6 x 1 + 3 x 0.2) / 9, less the 0.2 of an average VM */
	assert_true(fabs(more_of(&l, keys_of(1, FARM_A)) - (6.6 / 9 - 0.2)) <
		1e-12);
	assert_true(more_of(&l, keys_of(1, FARM_B)) <= 0);
	learner_fini(&l);
}

/* A replica that started later learns the same. */
static void a_replica_that_learns_later_agrees_after_a_day(void **state)
{
	static const struct farm farms[] = {
		{ 1, FARM_A, 20, 1, 0.7 },
		{ 2, FARM_A, 20, 1, 0 },
	};
	struct learner old = { 0 }, new = { 0 };

	(void)state;
	for (int day = 0; day < 3; day++) {
		play(&old, farms, count_of(farms), 0);
	}
	play(&new, farms, count_of(farms), 0);
	assert_true(fabs(rho_of(&old, key_of(&farms[0])) -
			    rho_of(&new, key_of(&farms[0]))) < 0.05);
	learner_fini(&old);
	learner_fini(&new);
}

static void forgets_namespaces_and_kin_without_vms(void **state)
{
	struct learner l = { 0 };
	const struct model_vm vm = swung(1);

	(void)state;
	for (uint32_t pass = 1; pass <= 50; pass++) {
		begin(&l);
		for (uint32_t i = 0; i < 100; i++) {
			add(&l, keys_of(pass * 1000 + i, i), &vm);
		}
		end(&l);
	}
	assert_int_equal(l.known.kin_count, 200); /* by each tie */
	assert_int_equal(l.known.namespace_count, 100);
	assert_true(l.known.slot_count <= 1024);
	learner_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learns_how_far_kin_move_together),
		cmocka_unit_test(nothing_is_known_before_the_first_hour),
		cmocka_unit_test(a_swing_of_all_vms_is_not_kin),
		cmocka_unit_test(
			a_tenant_in_lockstep_hardly_changes_others_correlation),
		cmocka_unit_test(a_fleet_that_is_one_kin_shows_nothing),
		cmocka_unit_test(kin_never_cross_a_namespace),
		cmocka_unit_test(the_tie_that_explains_more_counts),
		cmocka_unit_test(a_new_vm_is_expected_to_use_what_its_kin_use),
		cmocka_unit_test(
			a_replica_that_learns_later_agrees_after_a_day),
		cmocka_unit_test(forgets_namespaces_and_kin_without_vms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
