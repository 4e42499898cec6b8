/* The score of policy real-load has no jumps: each input passes its range in
 * small steps, in random settings, and no step changes the score by 2 points.
 * States (of KVM, or an unknown pressure) are not among the inputs. */
#include "scheduler/score/score.h"

#include <math.h>

#include "kube/time.h"
#include "scheduler/objects/rejection.h"
#include "tests/support/random.h"
#include "tests/unit/scheduler/given.h"

enum { SETTINGS = 50, STEPS = 2000 };

static const double second = 1e6;
static const double gib = 1 << 30;
static const int64_t now = INT64_C(100000) * 1000000;

#define INPUTS(X)                                                              \
	/* the load of the node, with 16 cores and 64 GiB */                   \
	X(used_10s, 0, 20)                                                     \
	X(used_5m, 0, 20)                                                      \
	X(stdev_5m, 0, 8)                                                      \
	X(contention, 0, 1)                                                    \
	X(memory_pressure, 0, 1)                                               \
	X(io_pressure, 0, 1)                                                   \
	X(available_gib, 0, 64)                                                \
	X(age_s, -5, 320)                                                      \
	X(rejected_s, 0, 3500)                                                 \
	/* a seen VM, an unseen VM, a VM with dedicated CPUs */                \
	X(seen_cores, 0, 8)                                                    \
	X(seen_gib, 0, 4)                                                      \
	X(seen_bound_s, 0, 400)                                                \
	X(seen_usage_s, 0, 1000)                                               \
	X(seen_usage_cores, 0, 8)                                              \
	X(new_bound_s, 0, 400)                                                 \
	X(new_usage_s, 0, 1000)                                                \
	X(new_usage_cores, 0, 8)                                               \
	X(dedicated_vcpus, 0, 4)                                               \
	X(dedicated_cores, 0, 4)                                               \
	/* the incoming pod */                                                 \
	X(vcpus, 1, 16)                                                        \
	X(requested_gib, 0, 16)                                                \
	X(usage_s, 0, 1000)                                                    \
	X(usage_cores, 0, 16)                                                  \
	X(usage_stdev, 0, 8)                                                   \
	/* the cluster */                                                      \
	X(cluster_cpu, 0, 1)                                                   \
	X(prior_share, 0, 1)                                                   \
	X(prior_deviation, 0, 0.5)

#define FIELD(name, min, max) double name;
struct inputs {
	INPUTS(FIELD)
};

static const struct {
	const char *name;
	size_t offset;
	double min, max;
} inputs[] = {
#define ENTRY(name, min, max)                                                  \
	{ #name, offsetof(struct inputs, name), min, max },
	INPUTS(ENTRY)
};

static double *input(struct inputs *in, size_t i)
{
	return (double *)(void *)((char *)in + inputs[i].offset);
}

/* Reproducible: the seed is fixed. */
static void randomise(struct inputs *out, uint64_t *seed)
{
	for (size_t i = 0; i < count_of(inputs); i++) {
		double share = (double)(random_next(seed) >> 11) / 0x1p53;

		*input(out, i) =
			inputs[i].min + share * (inputs[i].max - inputs[i].min);
	}
}

/* A node, three VMs on it, and the pod. */
struct setting {
	struct interner *interner;
	struct node *node;
	struct pod *seen, *new, *dedicated, *pod;
};

static int setup(void **state)
{
	static struct setting s;

	s.interner = interner_new();
	s.node = given_plain_node(s.interner, "n");
	s.seen = given_vm(s.interner, "seen", 8);
	s.new = given_vm(s.interner, "new", 8);
	s.dedicated = given_vm(s.interner, "dedicated", 4);
	s.dedicated->is_dedicated = true;
	s.pod = given_vm(s.interner, "vm", 4);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct setting *s = *state;

	node_free(s->node);
	pod_free(s->seen);
	pod_free(s->new);
	pod_free(s->dedicated);
	pod_free(s->pod);
	interner_free(s->interner);
	return 0;
}

static struct usage usage_of(double seconds, double cores, double stdev)
{
	return (struct usage){ .seconds = seconds,
		.mean_cores = cores,
		.square_cores = cores * cores + stdev * stdev };
}

static void measure_node(struct setting *s, const struct inputs *in)
{
	struct vm_load vms[] = {
		given_vm_load(s->seen, in->seen_cores),
		given_vm_load(s->dedicated, in->dedicated_cores),
	};
	struct node_load load = given_load(in->used_10s, 0);

	vms[0].memory_bytes = in->seen_gib * gib;
	load.cpu_used_cores_5m = in->used_5m;
	load.cpu_stdev_cores_5m = in->stdev_5m;
	load.cpu_contention = in->contention;
	load.memory_pressure_some = in->memory_pressure;
	load.io_pressure_some = in->io_pressure;
	load.memory_available_bytes = in->available_gib * gib;
	load.vms = vms;
	load.vm_count = count_of(vms);
	node_set_load(s->node, &load, now - (int64_t)(in->age_s * second), now);
	s->node->rejections = (struct rejections){
		.count = REJECTION_COUNT_MAX,
		.at_us = now - (int64_t)(in->rejected_s * second),
	};
}

static double score_of(struct setting *s, const struct inputs *in)
{
	struct score_context context = { .now_us = now,
		.prior = { in->prior_share, in->prior_deviation },
		.cluster_cpu = in->cluster_cpu };
	double total;

	s->seen->usage = usage_of(in->seen_usage_s, in->seen_usage_cores, 0.5);
	s->new->usage = usage_of(in->new_usage_s, in->new_usage_cores, 0.5);
	s->dedicated->vcpus = in->dedicated_vcpus;
	s->pod->vcpus = in->vcpus;
	s->pod->usage = usage_of(in->usage_s, in->usage_cores, in->usage_stdev);
	s->pod->requests.memory_bytes = (int64_t)(in->requested_gib * gib);
	node_add_pod(s->node, s->seen,
		now - (int64_t)(in->seen_bound_s * second));
	node_add_pod(s->node, s->new,
		now - (int64_t)(in->new_bound_s * second));
	node_add_pod(s->node, s->dedicated, TIME_LONG_AGO);
	measure_node(s, in);
	score_begin(&context, s->pod);
	total = score_total(s->node, &context);
	node_remove_pod(s->node, s->dedicated);
	node_remove_pod(s->node, s->new);
	node_remove_pod(s->node, s->seen);
	return total;
}

static void check_step(size_t i, double at, double before, double score)
{
	bool is_smooth =
		score >= 0 && score <= 100 && !(fabs(score - before) >= 2);

	if (!is_smooth) {
		fail_msg("%s = %g: from %g to %g points", inputs[i].name, at,
			before, score);
	}
}

static void sweep(struct setting *s, const struct inputs *from, size_t i)
{
	double width = inputs[i].max - inputs[i].min;
	double before = NAN;

	for (int step = 0; step <= STEPS; step++) {
		struct inputs in = *from;
		double at = inputs[i].min + width * step / STEPS;
		double score;

		*input(&in, i) = at;
		score = score_of(s, &in);
		check_step(i, at, before, score);
		before = score;
	}
}

static void a_small_change_of_any_input_is_one_of_the_score(void **state)
{
	uint64_t seed = 20261121;

	for (int setting = 0; setting < SETTINGS; setting++) {
		struct inputs in;

		randomise(&in, &seed);
		for (size_t i = 0; i < count_of(inputs); i++) {
			sweep(*state, &in, i);
		}
	}
}

/* The sweeps would prove nothing if an input had no effect. */
static void every_input_moves_some_score(void **state)
{
	bool has_moved[count_of(inputs)] = { false };
	uint64_t seed = 20261121;

	for (int setting = 0; setting < SETTINGS; setting++) {
		struct inputs at;

		randomise(&at, &seed);
		for (size_t i = 0; i < count_of(inputs); i++) {
			struct inputs low = at;
			struct inputs high = at;

			*input(&low, i) = inputs[i].min;
			*input(&high, i) = inputs[i].max;
			has_moved[i] |= fabs(score_of(*state, &low) -
						score_of(*state, &high)) > 0.01;
		}
	}
	for (size_t i = 0; i < count_of(inputs); i++) {
		given_check(has_moved[i], inputs[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_small_change_of_any_input_is_one_of_the_score, setup,
			teardown),
		cmocka_unit_test_setup_teardown(every_input_moves_some_score,
			setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
