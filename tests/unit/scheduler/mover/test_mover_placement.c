/* The mover moves VMs that stand where they may not, with a stand-in for the
 * looks that find them. */
#include "scheduler/mover/mover.h"

#include "scheduler/mover/reach.h"
#include "tests/unit/scheduler/mover/mover_steps.h"

static const char *misplaced[VMS_MAX]; /* uids of pods */
static size_t misplaced_count;

/* ---- stand-ins ---- */

void __wrap_reach_stats(const struct reach *reach, struct reach_stats *out);
void __wrap_reach_stats(const struct reach *reach, struct reach_stats *out)
{
	assert_non_null(reach);
	*out = (struct reach_stats){ .is_known = true,
		.misplaced = misplaced_count };
}

const char *__wrap_reach_misplaced(const struct reach *reach, size_t i);
const char *__wrap_reach_misplaced(const struct reach *reach, size_t i)
{
	assert_non_null(reach);
	assert_true(i < misplaced_count);
	return misplaced[i];
}

/* ---- what is given ---- */

#define ELSEWHERE "'nodeSelector':{'kubernetes.io/hostname':'host-node-2'},"
#define APART                                                                  \
	"'affinity':{'podAntiAffinity':{"                                      \
	"'requiredDuringSchedulingIgnoredDuringExecution':[{"                  \
	"'labelSelector':{'matchLabels':{'app':'g'}},'topologyKey':"           \
	"'kubernetes.io/hostname'}]}},"
#define SPREAD                                                                 \
	"'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':"             \
	"'kubernetes.io/hostname','whenUnsatisfiable':'DoNotSchedule',"        \
	"'labelSelector':{'matchLabels':{'app':'g'}}}],"

/* The VM on node-1 has this in its spec from now on. */
static void change(const char *name, const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-%s','namespace':'vms',"
		"'uid':'pod-%s','labels':{'kubevirt.io':'virt-launcher',"
		"'app':'g','kubevirt.io/created-by':'vmi-%s'},"
		"'annotations':{'kubevirt.io/domain':'%s'}},'spec':{%s"
		"'nodeName':'node-1','schedulerName':'plimsoll-scheduler',"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'800m','memory':'4Gi','devices.kubevirt.io/kvm':'1'}}}]"
		"},'status':{'phase':'Running'}}",
		name, name, name, name, spec);

	cache_put_pod(&scene.cache, given_pod(scene.cache.interner, json),
		-3600 * SECOND_US);
}

static void find(const char *uid)
{
	misplaced[misplaced_count++] = uid;
}

/* No node is short of anything. */
static void look(enum mover_mode mode)
{
	start(mode);
	mover_use_reach(scene.mover, (const struct reach *)&scene);
	run(90, 0.5);
}

static int begin(void **state)
{
	misplaced_count = 0;
	return setup(state);
}

/* ---- tests ---- */

static void a_vm_that_may_not_stand_there_is_moved(void **state)
{
	(void)state;
	change("a", ELSEWHERE);
	find("pod-a");
	look(MOVER_AUTOMATIC);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_int_equal(last_sent()->state, MOVE_ORDERED);
	assert_int_equal(last_sent()->reason, MOVE_FOR_PLACEMENT);
	assert_string_equal(last_sent()->vm, "a");
	assert_string_equal(last_sent()->target, node_2);
	assert_non_null(strstr(last_sent()->sentence,
		"the VM may not stand on node-1: its node selector or node "
		"affinity does not admit the node"));
}

static void such_a_move_is_recommended_and_withdrawn_like_others(void **state)
{
	(void)state;
	change("a", ELSEWHERE);
	find("pod-a");
	look(MOVER_RECOMMEND);
	assert_int_equal(fake_kubevirt.ordered, 0);
	assert_int_equal(last_sent()->state, MOVE_RECOMMENDED);
	change("a", "");
	run(120, 0.5);
	assert_int_equal(last_sent()->state, MOVE_WITHDRAWN);
}

static void one_round_is_not_enough(void **state)
{
	(void)state;
	change("a", ELSEWHERE);
	find("pod-a");
	start(MOVER_AUTOMATIC);
	mover_use_reach(scene.mover, (const struct reach *)&scene);
	run(20, 0.5);
	assert_int_equal(scene.sent_count, 0);
}

static void a_vm_that_may_stand_there_again_stays(void **state)
{
	(void)state;
	find("pod-a");
	find("pod-of-nobody");
	look(MOVER_AUTOMATIC);
	assert_int_equal(scene.sent_count, 0);
}

static void a_vm_without_a_target_stays(void **state)
{
	(void)state;
	change("a", "'nodeSelector':{'disk':'tape'},");
	find("pod-a");
	look(MOVER_AUTOMATIC);
	assert_int_equal(scene.sent_count, 0);
}

static void consents_count(void **state)
{
	(void)state;
	change("a", ELSEWHERE);
	fake_kubevirt.vmis[0].consent = CONSENT_NEVER;
	find("pod-a");
	look(MOVER_AUTOMATIC);
	assert_int_equal(scene.sent_count, 0);
}

static void of_two_that_keep_apart_one_moves(void **state)
{
	(void)state;
	change("a", APART);
	change("b", APART);
	(void)cache_remove_pod(&scene.cache, "pod-c");
	find("pod-a");
	find("pod-b");
	look(MOVER_AUTOMATIC);
	assert_int_equal(fake_kubevirt.ordered, 1);
	/* It still stands beside the other one, which need not move. */
	answer("");
	(void)fake_migration(namespace, names[last_sent()->vm[0] - 'a'],
		MIGRATION_SCHEDULING);
	run(300, 0.5);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

/* It may be the one that is in the way. */
static void while_a_vm_of_the_namespace_migrates_others_do_not_count(
	void **state)
{
	static char stranger[] = "stranger";
	struct migration *migration;

	(void)state;
	change("a", APART);
	change("b", "");
	find("pod-a");
	migration = fake_migration(namespace, stranger, MIGRATION_SCHEDULING);
	migration->is_ours = false;
	look(MOVER_AUTOMATIC);
	assert_int_equal(scene.sent_count, 0);
	migration->phase = MIGRATION_SUCCEEDED;
	run(90, 0.5);
	assert_int_equal(fake_kubevirt.ordered, 1);
}

/* A pod of the group that is no VM. */
static void put_pod_of_group(const char *node)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'g','namespace':'vms','uid':'g','labels':"
		"{'app':'g'}},'spec':{'nodeName':'%s','containers':[{}]},"
		"'status':{'phase':'Running'}}",
		node);

	cache_put_pod(&scene.cache, given_pod(scene.cache.interner, json),
		-3600 * SECOND_US);
}

static void taint_node_1(void)
{
	struct json_value *object = given_json(
		"{'metadata':{'name':'node-1','labels':{"
		"'kubernetes.io/hostname':'host-node-1'}},'spec':{'taints':[{"
		"'key':'team','effect':'NoSchedule'}]},'status':{"
		"'allocatable':{'cpu':'16','memory':'64Gi','pods':'110',"
		"'devices.kubevirt.io/kvm':'1k'}}}");
	bool changed;

	assert_int_equal(
		cache_put_node(&scene.cache, &changed, object, now_us(), NULL),
		0);
	json_value_free(object);
}

static void a_taint_that_people_set_moves_a_vm(void **state)
{
	(void)state;
	change("a", "");
	taint_node_1();
	find("pod-a");
	look(MOVER_AUTOMATIC);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_non_null(strstr(last_sent()->sentence,
		"it does not tolerate a taint of the node"));
}

/* The target admits the VM while it runs on its node, and not afterwards. */
static void a_move_that_leaves_the_spread_exceeded_is_not_made(void **state)
{
	(void)state;
	change("a", SPREAD);
	put_pod_of_group("node-2");
	taint_node_1();
	find("pod-a");
	look(MOVER_AUTOMATIC);
	assert_int_equal(scene.sent_count, 0);
}

static void a_spread_is_repaired_while_that_leaves_it_satisfied(void **state)
{
	(void)state;
	change("a", SPREAD);
	change("b", "");
	find("pod-a");
	look(MOVER_AUTOMATIC);
	assert_int_equal(fake_kubevirt.ordered, 1);
	assert_int_equal(last_sent()->reason, MOVE_FOR_PLACEMENT);
	assert_non_null(strstr(last_sent()->sentence,
		"its topology spread is exceeded there"));
}

static void preferences_move_nothing(void **state)
{
	(void)state;
	change("a",
		"'affinity':{'nodeAffinity':{"
		"'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':"
		"100,'preference':{'matchExpressions':[{'key':"
		"'kubernetes.io/hostname','operator':'In','values':["
		"'host-node-2']}]}}]}},");
	find("pod-a");
	look(MOVER_AUTOMATIC);
	assert_int_equal(scene.sent_count, 0);
}

#define test(name) golden_test(name, begin, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_vm_that_may_not_stand_there_is_moved),
		test(such_a_move_is_recommended_and_withdrawn_like_others),
		test(one_round_is_not_enough),
		test(a_vm_that_may_stand_there_again_stays),
		test(a_vm_without_a_target_stays),
		test(consents_count),
		test(of_two_that_keep_apart_one_moves),
		test(while_a_vm_of_the_namespace_migrates_others_do_not_count),
		test(a_taint_that_people_set_moves_a_vm),
		test(a_spread_is_repaired_while_that_leaves_it_satisfied),
		test(a_move_that_leaves_the_spread_exceeded_is_not_made),
		test(preferences_move_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
