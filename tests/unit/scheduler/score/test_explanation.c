/* The members of a score that explain its points. */
#include "scheduler/score/score.h"

#include <math.h>

#include "kube/time.h"
#include "scheduler/score/sentence.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

static const int64_t second = 1000000;
static const int64_t now = 1000 * INT64_C(1000000);

struct setting {
	const char *title; /* of the test */
	struct interner *interner;
	struct node *node;
	struct pod *pod;
	struct score_context context;
	struct score score;
};

static int setup(void **state)
{
	struct setting *s = xcalloc(1, sizeof(*s));

	s->interner = interner_new();
	s->node = given_plain_node(s->interner, "n");
	s->pod = given_vm(s->interner, "vm", 4);
	s->context = (struct score_context){ .now_us = now,
		.prior = { MODEL_SHARE, MODEL_DEVIATION } };
	s->title = *state;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setting *s = *state;

	assert_golden_told(GOLDEN_PROGRAM, s->title);
	node_free(s->node);
	pod_free(s->pod);
	interner_free(s->interner);
	free(s);
	return 0;
}

static const struct score *score_of(struct setting *s)
{
	score_begin(&s->context, s->pod);
	score_node(&s->score, s->node, &s->context);
	golden_tell(
		"%.6g, cpu %.6g %.6g %.6g, room %.6g, deviation %.6g, "
		"by %.6g %.6g %.6g, announced %.6g %.6g %.6g %.6g %.6g, "
		"memory %.6g %.6g, contention %.6g\n",
		s->score.total, s->score.cpu_measured, s->score.cpu_expected,
		s->score.cpu_by_requests, s->score.cpu_room,
		s->score.cpu_deviation, s->score.cpu_by_pod,
		s->score.cpu_by_starting, s->score.cpu_by_growth,
		s->score.cpu_announced_by_pod, s->score.cpu_announced_by_others,
		s->score.cpu_announced_by_requests, s->score.announced_by_pod,
		s->score.announced_by_others, s->score.memory_expected,
		s->score.memory_by_requests, s->score.contention);
	return &s->score;
}

static const struct score *score_at(struct setting *s, double cores,
	double bytes, int64_t age_us)
{
	struct node_load load = given_load(cores, bytes);

	node_set_load(s->node, &load, now - age_us, now);
	return score_of(s);
}

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9);
}

static void the_cpus_that_a_vm_takes_are_its_own_share(void **state)
{
	struct setting *s = *state;
	const struct score *score;

	s->pod->is_dedicated = true;
	s->pod->vcpus = 8;
	score = score_at(s, 4, 0, 0);
	assert_near(score->cpu_by_growth, 0);
	assert_near(score->cpu_by_pod, 4.0 / 8 - 4.0 / 16);
	assert_near(score->cpu_by_pod, score->cpu_expected);
}

static void room_and_shortage_give_the_points_at_any_trust(void **state)
{
	struct setting *s = *state;

	for (int64_t age_us = 0; age_us <= 400 * second;
		age_us += 20 * second) {
		const struct score *score = score_at(s, 14, 60e9, age_us);

		assert_near(SCORE_CPU *
				(SCORE_ROOM_PART *
						score_headroom(
							score->cpu_room) +
					(1 - SCORE_ROOM_PART) * 300 /
						(300 + score->cpu_shortage_added)),
			score->terms[TERM_CPU]);
		assert_near(SCORE_MEMORY * score_memory(score->memory_expected),
			score->terms[TERM_MEMORY]);
	}
}

static void a_pressure_counts_by_trust(void **state)
{
	(void)state;
	assert_near(score_counted(0.4, 0.1, 1), 0.4);
	assert_near(score_counted(0.1, 0.1, 0.5), 0.1 / 3);
	assert_near(score_counted(0.4, 0.1, 0), 0);
	assert_true(isnan(score_counted(NAN, 0.1, 0.5)));
}

/* The pod owns it. */
static void given_announcement(struct pod *pod, const char *text)
{
	pod->announced = xcalloc(1, sizeof(*pod->announced));
	assert_int_equal(announcement_parse(pod->announced, text, NULL), 0);
}

static void announcements_are_a_part_of_the_shares_before_them(void **state)
{
	struct setting *s = *state;
	struct pod *other = given_vm(s->interner, "other", 4);
	const struct score *score;

	given_announcement(other, "3");
	node_add_pod(s->node, other, now - second);
	score = score_at(s, 4, 0, 0);
	assert_near(score->cpu_announced_by_pod, 0);
	assert_true(score->cpu_announced_by_others > 0.1);
	assert_true(
		score->cpu_announced_by_others <= score->cpu_by_growth + 1e-9);
	node_remove_pod(s->node, other);
	pod_free(other);
}

static void announced_shares_show_without_load_data(void **state)
{
	struct setting *s = *state;
	struct candidate one = { .node = s->node };
	scoped_buffer struct buffer text = BUFFER_MAX(4096);

	given_announcement(s->pod, "3");
	one.score = *score_of(s);
	assert_near(one.score.cpu_announced_by_requests, 2.0 / 16);
	sentence_load(&text, &one, NULL, &s->context);
	assert_string_equal(text.data,
		"no load data, by requests 19 % CPU (13 % announced), 6 % "
		"memory");
}

#define test(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_cpus_that_a_vm_takes_are_its_own_share),
		test(room_and_shortage_give_the_points_at_any_trust),
		test(a_pressure_counts_by_trust),
		test(announcements_are_a_part_of_the_shares_before_them),
		test(announced_shares_show_without_load_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
