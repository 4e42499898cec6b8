#include "scheduler/cache/vm_claims.h"

#include "lib/clock.h"
#include "scheduler/cache/cache.h"
#include "scheduler/score/score.h"
#include "tests/unit/scheduler/given.h"

#include <math.h>

/* A cache with the node n, of 16 cores, and VMIs as a test wants them. */
#define SECOND INT64_C(1000000)
#define NOW (INT64_C(10000) * SECOND)

enum { VMIS_MAX = 4 };

struct known_vmi {
	const char *namespace, *uid;
	struct vm_facts facts;
};

static struct {
	struct cache cache;
	struct known_vmi vmis[VMIS_MAX];
	size_t vmi_count;
	struct pod *newcomer; /* the VM whose score is asked for */
} world;

static bool find(void *owner, struct vm_facts *out, const char *namespace,
	const char *uid)
{
	(void)owner;
	for (size_t i = 0; i < world.vmi_count; i++) {
		if (strcmp(world.vmis[i].uid, uid) == 0 &&
			strcmp(world.vmis[i].namespace, namespace) == 0) {
			*out = world.vmis[i].facts;
			return true;
		}
	}
	return false;
}

static void judge_by(enum vm_claims_basis basis)
{
	cache_judge_by(&world.cache,
		&(struct vm_claims){ .basis = basis, .find = find });
	while (cache_judge_next(&world.cache)) {
	}
}

static int setup(void **state)
{
	struct json_value *object = given_json(
		"{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'16',"
		"'memory':'64Gi','pods':'110'}}}");
	bool changed;

	(void)state;
	memset(&world, 0, sizeof(world));
	cache_init(&world.cache);
	assert_int_equal(
		cache_put_node(&world.cache, &changed, object, NOW, NULL), 0);
	json_value_free(object);
	world.newcomer = given_vm(world.cache.interner, "newcomer", 4);
	judge_by(VM_CLAIMS_VMIS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pod_free(world.newcomer);
	cache_fini(&world.cache);
	return 0;
}

static const struct node *node(void)
{
	return cache_node(&world.cache, "n");
}

static void put_vmi(const char *namespace, const char *uid, double cpus,
	const char *active_pods)
{
	world.vmis[world.vmi_count++] = (struct known_vmi){ namespace, uid,
		{ .cpus = cpus, .active_pods = active_pods } };
	cache_judge_vmi(&world.cache, namespace, uid);
}

static void remove_vmi(void)
{
	const struct known_vmi gone = world.vmis[--world.vmi_count];

	cache_judge_vmi(&world.cache, gone.namespace, gone.uid);
}

/* A pod that was bound at this second of a day, with a launcher's label. */
struct written {
	const char *uid, *vmi, *limits, *meta;
	int bound_s;
};

static struct pod *pod_of(const struct written *written)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'tenant','uid':'%s',"
		"'labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'%s'}%s},'spec':{'nodeName':'n',"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'1m','memory':'1Mi'},'limits':{%s}}}]},'status':{"
		"'phase':'Running','startTime':'2026-01-01T00:00:%02dZ'}}",
		written->uid, written->uid, written->vmi,
		written->meta == NULL ? "" : written->meta, written->limits,
		written->bound_s);

	return given_pod(world.cache.interner, json);
}

#define HUGE_LIMIT "'cpu':'4096'"
#define ANNOUNCES ",'annotations':{'plimsoll.io/expected-cores':'4096'}"

/* Bound a second ago. */
static void put(const char *uid, const char *vmi, int bound_s)
{
	const struct written written = { uid, vmi, HUGE_LIMIT, ANNOUNCES,
		bound_s };

	cache_put_pod(&world.cache, pod_of(&written), NOW - SECOND);
}

static bool is_vm(const char *uid)
{
	return cache_pod(&world.cache, uid)->is_vm;
}

static double score_at(int64_t now_us)
{
	struct score_context context = { .now_us = now_us,
		.prior = { MODEL_SHARE, MODEL_DEVIATION } };

	score_begin(&context, world.newcomer);
	return score_total(node(), &context);
}

/* The load of a node on which the pod of this uid is idle. */
static void measure(const char *uid, int64_t now_us)
{
	struct node_load load = given_load(1, 1 << 30);
	struct vm_load vm;
	bool changed;

	vm_load_init(&vm);
	(void)strncpy(vm.pod_uid, uid, sizeof(vm.pod_uid) - 1);
	vm.used_cores = 0;
	vm.used_cores_5m = 0;
	load.name = xstrdup("n");
	load.vms = xmemdup(&vm, sizeof(vm));
	load.vm_count = 1;
	cache_put_load(&world.cache, &changed, &load, now_us, now_us);
	node_load_fini(&load);
}

static void a_pod_without_a_vmi_leaves_the_score_of_its_node(void **state)
{
	double before;

	(void)state;
	measure("p", NOW);
	before = score_at(NOW);
	put("p", "", 1);
	put("q", "nobody", 2);
	assert_false(is_vm("p"));
	assert_false(is_vm("q"));
	assert_int_equal(node()->vms.count, 0);
	assert_int_equal(node()->expected_milli, 2);
	assert_true(fabs(score_at(NOW) - before) < 0.1);
}

static void a_vmi_of_another_namespace_makes_no_vm(void **state)
{
	(void)state;
	put_vmi("other", "vmi", 4, "p\n");
	put("p", "vmi", 1);
	assert_false(is_vm("p"));
}

static void a_pod_counts_at_most_its_vmis_vcpus(void **state)
{
	(void)state;
	put_vmi("tenant", "vmi", 4, NULL);
	put("p", "vmi", 1);
	assert_true(is_vm("p"));
	assert_true(cache_pod(&world.cache, "p")->vcpus == 4);
	assert_true(node_vms_sum_announced(&node()->vms,
			    (struct model_prior){ 0 }, NOW)
			    .unseen <= 4);
	/* Hotplugged ones count, too. */
	world.vmis[0].facts.cpus = 8;
	cache_judge_vmi(&world.cache, "tenant", "vmi");
	assert_true(cache_pod(&world.cache, "p")->vcpus == 8);
	assert_true(node()->vms.list[0].model.vcpus == 8);
	assert_int_equal(node()->vms.count, 1);
}

static void a_pod_has_dedicated_cpus_only_if_its_vmi_has(void **state)
{
	static const char spec[] =
		"{'metadata':{'name':'p','namespace':'tenant','uid':'p',"
		"'labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi'}},'spec':{'nodeName':'n',"
		"'nodeSelector':{'cpumanager':'true'},'containers':[{'name':"
		"'compute','resources':{'requests':{'cpu':'1m'},'limits':{"
		"'cpu':'4096'}}}]}}";

	(void)state;
	put_vmi("tenant", "vmi", 4, NULL);
	cache_put_pod(&world.cache, given_pod(world.cache.interner, spec), NOW);
	assert_true(node()->vms.dedicated_cores == 0);
	/* Nor more of them than it requests. */
	world.vmis[0].facts.is_dedicated = true;
	cache_judge_vmi(&world.cache, "tenant", "vmi");
	assert_true(cache_pod(&world.cache, "p")->is_dedicated);
	assert_true(node()->vms.dedicated_cores < 0.01);
}

static void a_vmi_has_two_pods(void **state)
{
	(void)state;
	put_vmi("tenant", "vmi", 4, "r\n");
	put("p", "vmi", 1);
	put("q", "vmi", 2);
	assert_true(is_vm("p"));
	assert_true(is_vm("q"));
	/* The one that KubeVirt names comes before older ones. */
	put("r", "vmi", 3);
	assert_true(is_vm("r"));
	assert_true(is_vm("p"));
	assert_false(is_vm("q"));
	assert_int_equal(node()->vms.count, 2);
	/* Another takes the place of one that goes. */
	assert_true(cache_remove_pod(&world.cache, "p"));
	assert_true(is_vm("q"));
	assert_int_equal(node()->vms.count, 2);
	assert_int_equal(node()->cpu_milli_requested, 2);
}

static void the_oldest_pods_count_in_whatever_order_they_come(void **state)
{
	(void)state;
	put_vmi("tenant", "vmi", 4, NULL);
	put("r", "vmi", 3);
	put("q", "vmi", 2);
	put("p", "vmi", 1);
	assert_true(is_vm("p"));
	assert_true(is_vm("q"));
	assert_false(is_vm("r"));
}

static void a_pod_may_come_before_its_vmi_and_after_it(void **state)
{
	(void)state;
	put("p", "vmi", 1);
	assert_false(is_vm("p"));
	put_vmi("tenant", "vmi", 4, NULL);
	assert_true(is_vm("p"));
	assert_int_equal(node()->vms.count, 1);
	assert_int_equal(node()->expected_milli, 0);
	put("p", "vmi", 1);
	assert_true(is_vm("p"));
	assert_int_equal(node()->vms.count, 1);
}

static void a_vm_ends_with_its_vmi(void **state)
{
	(void)state;
	put_vmi("tenant", "vmi", 4, NULL);
	put("p", "vmi", 1);
	remove_vmi();
	assert_false(is_vm("p"));
	assert_int_equal(node()->vms.count, 0);
	assert_int_equal(node()->cpu_milli_requested, 1);
	put_vmi("tenant", "vmi", 4, NULL);
	assert_true(is_vm("p"));
}

static void what_was_measured_of_a_vm_outlasts_a_doubt(void **state)
{
	double seconds;

	(void)state;
	put_vmi("tenant", "vmi", 4, NULL);
	put("p", "vmi", 1);
	measure("p", NOW + 200 * SECOND);
	measure("p", NOW + 230 * SECOND);
	seconds = node()->vms.list[0].model.usage.seconds;
	assert_true(seconds > 0);
	remove_vmi();
	put_vmi("tenant", "vmi", 4, NULL);
	assert_true(node()->vms.list[0].model.usage.seconds == seconds);
	assert_true(node()->vms.list[0].charge.is_seen);
}

static void an_assumed_pod_that_is_forgotten_is_what_it_says(void **state)
{
	const struct written written = { "p", "vmi", HUGE_LIMIT, NULL, 1 };
	struct pod *pod;

	(void)state;
	cache_assume(&world.cache, pod_of(&written), "n", NOW);
	assert_false(is_vm("p"));
	pod = cache_forget(&world.cache, "p");
	assert_true(pod->is_vm);
	pod_free(pod);
}

static double expected(int64_t now_us)
{
	const struct model_prior prior = { MODEL_SHARE, MODEL_DEVIATION };

	return node_expected_load(node(), prior, now_us).cores;
}

static void without_vmis_a_measured_pod_counts_by_its_measure(void **state)
{
	double before;

	(void)state;
	judge_by(VM_CLAIMS_UNPROVEN);
	measure("nobody", NOW);
	before = score_at(NOW);
	put("p", "nobody", 1);
	assert_true(is_vm("p"));
	measure("p", NOW + 298 * SECOND);
	assert_true(expected(NOW + 298 * SECOND) > 2);
	assert_true(score_at(NOW + 298 * SECOND) < before - 1);
	measure("p", NOW + 299 * SECOND);
	assert_true(fabs(expected(NOW + 299 * SECOND) - 1) < 1e-9);
	assert_true(fabs(score_at(NOW + 299 * SECOND) - before) < 0.1);
	/* A change of the object does not begin it again. */
	put("p", "nobody", 1);
	assert_true(fabs(expected(NOW + 299 * SECOND) - 1) < 1e-9);
}

static void nothing_expects_more_than_the_cores_of_the_node(void **state)
{
	(void)state;
	judge_by(VM_CLAIMS_UNPROVEN);
	put("p", "nobody", 1);
	measure("nobody", NOW);
	assert_true(expected(NOW) <= 17);
	assert_true(node()->vms.list[0].model.vcpus == 16 / MODEL_SHARE);
	assert_true(node_vms_sum_announced(&node()->vms,
			    (struct model_prior){ 0 }, NOW)
			    .unseen <= 16);
}

static void pods_of_before_are_judged_once_the_vmis_are_known(void **state)
{
	(void)state;
	judge_by(VM_CLAIMS_UNPROVEN);
	put("p", "vmi", 1);
	put("q", "nobody", 2);
	put("r", "", 3);
	put_vmi("tenant", "vmi", 4, NULL);
	assert_true(is_vm("q"));
	judge_by(VM_CLAIMS_VMIS);
	assert_true(is_vm("p"));
	assert_true(cache_pod(&world.cache, "p")->vcpus == 4);
	assert_false(is_vm("q"));
	assert_false(is_vm("r"));
	/* The right is withdrawn. */
	judge_by(VM_CLAIMS_UNPROVEN);
	assert_true(is_vm("q"));
	assert_true(is_vm("r"));
}

static void in_a_file_a_pod_is_what_it_says(void **state)
{
	(void)state;
	judge_by(VM_CLAIMS_STATED);
	put("p", "", 1);
	assert_true(is_vm("p"));
	assert_true(cache_pod(&world.cache, "p")->vcpus == 4096);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pod_without_a_vmi_leaves_the_score_of_its_node),
		TEST(a_vmi_of_another_namespace_makes_no_vm),
		TEST(a_pod_counts_at_most_its_vmis_vcpus),
		TEST(a_pod_has_dedicated_cpus_only_if_its_vmi_has),
		TEST(a_vmi_has_two_pods),
		TEST(the_oldest_pods_count_in_whatever_order_they_come),
		TEST(a_pod_may_come_before_its_vmi_and_after_it),
		TEST(a_vm_ends_with_its_vmi),
		TEST(what_was_measured_of_a_vm_outlasts_a_doubt),
		TEST(an_assumed_pod_that_is_forgotten_is_what_it_says),
		TEST(without_vmis_a_measured_pod_counts_by_its_measure),
		TEST(nothing_expects_more_than_the_cores_of_the_node),
		TEST(pods_of_before_are_judged_once_the_vmis_are_known),
		TEST(in_a_file_a_pod_is_what_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
