#include "scheduler/plan/plan.h"

#include "tests/unit/scheduler/plan/random_world.h"

/* Cases of one goal. Those in which no move is needed do not count. */
struct tally {
	int possible, found, fewest, impossible;
	int moves[PLAN_MOVES + 1];
};

static size_t find_vm(const struct world *w, const char *uid)
{
	size_t i = 0;

	while (strcmp(w->vms[i].pod->uid, uid) != 0) {
		i++;
	}
	return i;
}

static bool is_legal(const struct judge *j, const struct plan_step *step,
	size_t vm)
{
	struct world *w = j->world;

	return step->kind == PLAN_MOVE && w->vms[vm].node == step->source &&
		step->target != step->source && judge_may_move(j, vm) &&
		judge_admits(w, w->vms[vm].pod, step->target);
}

/* Plays the plan on the judge's own cluster. */
static void check_steps(struct judge *j, const struct plan *plan, uint64_t seed)
{
	scoped_free char *text = xasprintf(
		"case %d: a step is not legal, or the goal is not "
		"reached: %s",
		(int)seed, plan->sentence);
	struct world *w = j->world;

	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_step *step = &plan->steps[i];
		size_t vm = find_vm(w, step->pod->uid);

		given_check(is_legal(j, step, vm), text);
		judge_move(w, vm, step->target);
	}
	given_check(judge_reached(j) &&
			(j->goal->kind != PLAN_POD_FITS ||
				judge_admits(w, j->goal->pod,
					(size_t)plan->node)),
		text);
}

static void put_back(struct world *w)
{
	for (size_t i = 0; i < w->vm_count; i++) {
		judge_move(w, i, (size_t)w->vms[i].pod->generation);
	}
}

static void compare(struct world *w, struct judge *j,
	const struct plan_goal *goal, uint64_t seed, struct tally *tally)
{
	const struct plan *plan = world_plan(w, goal);

	assert_true(strlen(plan->sentence) > 0);
	if (!plan->is_found) {
		bool is_possible = judge_finds(j, PLAN_MOVES);

		tally->possible += is_possible;
		tally->impossible += !is_possible;
		return;
	}
	assert_true(plan->moves <= PLAN_MOVES);
	check_steps(j, plan, seed);
	put_back(j->world);
	tally->moves[plan->moves]++;
	if (plan->moves > 0) {
		tally->possible++;
		tally->found++;
		tally->fewest += !judge_finds(j, (int)plan->moves - 1);
	}
}

static void run_case(enum plan_goal_kind kind, uint64_t seed,
	struct tally *tally)
{
	struct world ours;
	struct world judges;
	size_t node = 0;
	struct plan_goal goal = { .kind = kind,
		.nodes = &node,
		.node_count = 1 };
	struct plan_goal same = goal;
	struct judge judge = { .world = &judges, .goal = &same };

	goal.pod = random_world(&ours, seed);
	same.pod = random_world(&judges, seed);
	if (kind == PLAN_VM_ELSEWHERE && ours.vm_count > 0) {
		goal.pod = ours.vms[0].pod;
		same.pod = judges.vms[0].pod;
	}
	compare(&ours, &judge, &goal, seed, tally);
	world_end(&ours);
	world_end(&judges);
}

static void report(const char *what, const struct tally *t)
{
	print_message(
		"%s: %d of %d plans found (%.1f %%), %d with the fewest "
		"moves: %d of 1, %d of 2, %d of 3; %d have none\n",
		what, t->found, t->possible,
		100.0 * t->found / (t->possible > 0 ? t->possible : 1),
		t->fewest, t->moves[1], t->moves[2], t->moves[3],
		t->impossible);
}

static void finds_98_of_100_plans_that_make_a_pod_fit(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < 1000; seed++) {
		run_case(PLAN_POD_FITS, seed, &tally);
	}
	report("a pod fits", &tally);
	assert_true(tally.possible > 150 && tally.impossible > 100);
	assert_true(tally.found * 100 >= tally.possible * 98);
	assert_true(tally.fewest * 100 >= tally.found * 98);
}

static void finds_98_of_100_plans_that_empty_a_node(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		run_case(PLAN_NODE_EMPTY, seed, &tally);
	}
	report("a node is empty", &tally);
	assert_true(tally.possible > 100 && tally.impossible > 50);
	assert_true(tally.found * 100 >= tally.possible * 98);
	assert_true(tally.fewest * 100 >= tally.found * 95);
}

static void finds_98_of_100_plans_that_move_a_vm(void **state)
{
	struct tally tally = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		run_case(PLAN_VM_ELSEWHERE, seed, &tally);
	}
	report("a VM is elsewhere", &tally);
	assert_true(tally.possible > 100 && tally.impossible > 50);
	assert_true(tally.found * 100 >= tally.possible * 98);
	assert_true(tally.fewest * 100 >= tally.found * 98);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_98_of_100_plans_that_make_a_pod_fit),
		cmocka_unit_test(finds_98_of_100_plans_that_empty_a_node),
		cmocka_unit_test(finds_98_of_100_plans_that_move_a_vm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
