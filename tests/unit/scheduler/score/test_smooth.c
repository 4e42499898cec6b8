/* No cliff anywhere in the score of policy real-load: each input goes through
 * all of its range in small steps, in settings made up at random, and no step
 * moves the score by a point. States (of KVM, of a pressure that is not known)
 * are no such inputs. */
#include "scheduler/score/score.h"

#include <math.h>

#include "kube/time.h"
#include "scheduler/objects/rejection.h"
#include "tests/support/random.h"
#include "tests/unit/scheduler/given.h"

enum { SETTINGS = 50, STEPS = 1000 };

static const double second = 1e6;
static const double gib = 1 << 30;
static const int64_t now = INT64_C(100000) * 1000000;

#define INPUTS(X)                                                                \
	/* what is measured on the node of 16 cores and 64 GiB */                \
	X(used_10s, 0, 20)                                                       \
	X(used_5m, 0, 20)                                                        \
	X(stdev_5m, 0, 8)                                                        \
	X(contention, 0, 1)                                                      \
	X(memory_pressure, 0, 1)                                                 \
	X(io_pressure, 0, 1)                                                     \
	X(available_gib, 0, 64)                                                  \
	X(age_s, -5, 320)                                                        \
	X(rejected_s, 0, 700)                                                    \
	/* a VM that its load lists, one that it does not, one with CPUs of    \
	 * its own */ \
	X(seen_cores, 0, 8)                                                      \
	X(seen_gib, 0, 4)                                                        \
	X(seen_bound_s, 0, 400)                                                  \
	X(seen_past_s, 0, 1000)                                                  \
	X(seen_past_cores, 0, 8)                                                 \
	X(new_bound_s, 0, 400)                                                   \
	X(new_past_s, 0, 1000)                                                   \
	X(new_past_cores, 0, 8)                                                  \
	X(dedicated_vcpus, 0, 4)                                                 \
	X(dedicated_cores, 0, 4)                                                 \
	/* the pod in question */                                                \
	X(vcpus, 1, 16)                                                          \
	X(requested_gib, 0, 16)                                                  \
	X(past_s, 0, 1000)                                                       \
	X(past_cores, 0, 16)                                                     \
	X(past_stdev, 0, 8)                                                      \
	/* the fleet */                                                          \
	X(fleet_cpu, 0, 1)                                                       \
	X(prior_share, 0, 1)                                                     \
	X(prior_spread, 0, 0.5)

#define FIELD(name, least, most) double name;
struct inputs {
	INPUTS(FIELD)
};

static const struct {
	const char *name;
	size_t offset;
	double least, most;
} inputs[] = {
#define ENTRY(name, least, most)                                               \
	{ #name, offsetof(struct inputs, name), least, most },
	INPUTS(ENTRY)
};

static double *input(struct inputs *in, size_t i)
{
	return (double *)(void *)((char *)in + inputs[i].offset);
}

/* The same settings in every run. */
static void make_up(struct inputs *out, uint64_t *seed)
{
	for (size_t i = 0; i < count_of(inputs); i++) {
		double share = (double)(random_next(seed) >> 11) / 0x1p53;

		*input(out, i) = inputs[i].least +
			share * (inputs[i].most - inputs[i].least);
	}
}

/* A node, three VMs on it, and the pod. */
struct setting {
	struct names *names;
	struct node *node;
	struct pod *seen, *new, *dedicated, *pod;
};

static int setup(void **state)
{
	static struct setting s;

	s.names = names_new();
	s.node = given_plain_node(s.names, "n");
	s.seen = given_vm(s.names, "seen", 8);
	s.new = given_vm(s.names, "new", 8);
	s.dedicated = given_vm(s.names, "dedicated", 4);
	s.dedicated->is_dedicated = true;
	s.pod = given_vm(s.names, "vm", 4);
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
	names_free(s->names);
	return 0;
}

static struct vm_profile past(double seconds, double cores, double stdev)
{
	return (struct vm_profile){ seconds, cores,
		cores * cores + stdev * stdev };
}

static void measure_node(struct setting *s, const struct inputs *in)
{
	struct vm_load vms[] = {
		given_seen(s->seen, in->seen_cores),
		given_seen(s->dedicated, in->dedicated_cores),
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
	s->node->rejected_us = now - (int64_t)(in->rejected_s * second);
}

static double score_of(struct setting *s, const struct inputs *in)
{
	struct score_context context = { .now_us = now,
		.prior = { in->prior_share, in->prior_spread },
		.fleet_cpu = in->fleet_cpu };
	double total;

	s->seen->past = past(in->seen_past_s, in->seen_past_cores, 0.5);
	s->new->past = past(in->new_past_s, in->new_past_cores, 0.5);
	s->dedicated->vcpus = in->dedicated_vcpus;
	s->pod->vcpus = in->vcpus;
	s->pod->past = past(in->past_s, in->past_cores, in->past_stdev);
	s->pod->requests.memory_bytes = (int64_t)(in->requested_gib * gib);
	node_add_pod(s->node, s->seen,
		now - (int64_t)(in->seen_bound_s * second));
	node_add_pod(s->node, s->new,
		now - (int64_t)(in->new_bound_s * second));
	node_add_pod(s->node, s->dedicated, MOMENT_LONG_AGO);
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
		score >= 0 && score <= 100 && !(fabs(score - before) >= 1);

	if (!is_smooth) {
		fail_msg("%s = %g: from %g to %g points", inputs[i].name, at,
			before, score);
	}
}

static void sweep(struct setting *s, const struct inputs *from, size_t i)
{
	double width = inputs[i].most - inputs[i].least;
	double before = NAN;

	for (int step = 0; step <= STEPS; step++) {
		struct inputs in = *from;
		double at = inputs[i].least + width * step / STEPS;
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

		make_up(&in, &seed);
		for (size_t i = 0; i < count_of(inputs); i++) {
			sweep(*state, &in, i);
		}
	}
}

/* The sweeps would miss a cliff where nothing moves at all. */
static void every_input_moves_some_score(void **state)
{
	bool has_moved[count_of(inputs)] = { false };
	uint64_t seed = 20261121;

	for (int setting = 0; setting < SETTINGS; setting++) {
		struct inputs at;

		make_up(&at, &seed);
		for (size_t i = 0; i < count_of(inputs); i++) {
			struct inputs low = at;
			struct inputs high = at;

			*input(&low, i) = inputs[i].least;
			*input(&high, i) = inputs[i].most;
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
