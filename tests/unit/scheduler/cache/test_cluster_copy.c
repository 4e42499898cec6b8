#include "scheduler/cache/cluster_copy.h"

#include "scheduler/filter/filter.h"
#include "scheduler/filter/nominated_pods.h"
#include "tests/support/random.h"
#include "tests/unit/scheduler/given.h"
#include "tests/unit/scheduler/vm_waits.h"

#include <stdatomic.h>
#include <stdio.h>
#include <uv.h>

enum { NODES = 8, PROBES = 9, CLAIMS = 1500 };

static const int64_t now = INT64_C(1000000000);

struct bed {
	struct cache cache;
	struct cluster_copy copy;
	struct pod *probes[PROBES];
};

/* One verdict of each node on each probe. */
struct verdicts {
	uint64_t of[PROBES][NODES];
};

/* ---- the cluster ---- */

static void put_node(struct bed *bed, int n, const char *more)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'n%d','labels':{'kubernetes.io/hostname':"
		"'n%d','zone':'z%d'}},'spec':{%s},'status':{'allocatable':{"
		"'cpu':'16','memory':'64Gi','pods':'110','example.com/gpu':"
		"'2'}}}",
		n, n, n % 3, more);
	struct json_value *object = given_json(json);
	bool changed;

	assert_int_equal(
		cache_put_node(&bed->cache, &changed, object, now, NULL), 0);
	json_value_free(object);
}

static void put_pod(struct bed *bed, const char *name, int node,
	const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'x','uid':'u-%s',"
		"'labels':{'app':'web'}},'spec':{'nodeName':'n%d',%s}}",
		name, name, node, spec);

	cache_put_pod(&bed->cache, given_pod(bed->cache.interner, json), now);
}

static void put_vm(struct bed *bed, const char *name, int node)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'x','uid':'u-%s','labels'"
		":{'kubevirt.io':'virt-launcher'},'annotations':{"
		"'plimsoll.io/expected-cores':'3'}},'spec':{'nodeName':'n%d',"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'400m','memory':'4Gi'}}}]}}",
		name, name, node);

	cache_put_pod(&bed->cache, given_pod(bed->cache.interner, json), now);
}

static void put_object(struct bed *bed, enum cluster_kind kind,
	const char *text)
{
	struct json_value *object = given_json(text);

	assert_int_equal(
		cluster_put_object(&bed->cache.cluster, kind, object, NULL), 0);
	json_value_free(object);
}

static void put_claim(struct bed *bed, const char *name, const char *notes,
	const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'namespace':'x','name':'%s','uid':'u-%s',"
		"'annotations':{%s}},'spec':{'accessModes':['ReadWriteOnce'],"
		"'resources':{'requests':{'storage':'1Gi'}},%s}}",
		name, name, notes, spec);

	put_object(bed, CLUSTER_STORAGE + STORAGE_CLAIMS, json);
}

static void put_volume(struct bed *bed, const char *name, int zone)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','uid':'u-%s'},'spec':{"
		"'storageClassName':'static','accessModes':['ReadWriteOnce'],"
		"'capacity':{'storage':'2Gi'},'nodeAffinity':{'required':{"
		"'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
		"'operator':'In','values':['z%d']}]}]}}},'status':{'phase':"
		"'Available'}}",
		name, name, zone);

	put_object(bed, CLUSTER_STORAGE + STORAGE_VOLUMES, json);
}

#define BOUND "'pv.kubernetes.io/bind-completed':'yes'"

static void put_storage(struct bed *bed)
{
	struct storage *storage = &bed->cache.cluster.storage;

	put_object(bed, CLUSTER_STORAGE + STORAGE_CLASSES,
		"{'metadata':{'name':'local'},'provisioner':'example.com/disk',"
		"'volumeBindingMode':'WaitForFirstConsumer'}");
	put_object(bed, CLUSTER_STORAGE + STORAGE_CLASSES,
		"{'metadata':{'name':'static'},'provisioner':"
		"'kubernetes.io/no-provisioner','volumeBindingMode':"
		"'WaitForFirstConsumer'}");
	put_volume(bed, "v1", 1);
	put_volume(bed, "v2", 2);
	put_claim(bed, "bound", BOUND, "'volumeName':'v1'");
	put_claim(bed, "late", "", "'storageClassName':'local'");
	put_claim(bed, "chosen", "", "'storageClassName':'static'");
	storage_assume_node(storage, storage_claim(storage, "x", "late"), "n3");
	storage_assume_uid(storage, storage_volume(storage, "v2"), "u-chosen");
}

static void put_cluster(struct bed *bed)
{
	for (int n = 0; n < NODES; n++) {
		put_node(bed, n,
			n == 6 ? "'taints':[{'key':'t','effect':'NoSchedule'}]"
			       : "");
	}
	put_pod(bed, "web", 1,
		"'containers':[{'name':'c','ports':[{'containerPort':80,"
		"'hostPort':80}],'resources':{'requests':{"
		"'example.com/gpu':'2'}}}]");
	put_pod(bed, "alone", 2,
		"'containers':[],'affinity':{'podAntiAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'topologyKey':'kubernetes.io/hostname','labelSelector':{"
		"'matchLabels':{'app':'shy'}},'namespaceSelector':{"
		"'matchLabels':{'team':'a'}}}]}}");
	put_vm(bed, "vm-1", 4);
	put_vm(bed, "vm-2", 4);
	put_object(bed, CLUSTER_NAMESPACES,
		"{'metadata':{'name':'x','labels':{'team':'a'}}}");
	put_storage(bed);
	cache_put_nominated(&bed->cache,
		given_pod(bed->cache.interner,
			"{'metadata':{'name':'next','namespace':'x','uid':"
			"'u-next'},'spec':{'priority':9,'containers':[{'name':"
			"'c','resources':{'requests':{'cpu':'15'}}}]},"
			"'status':{'nominatedNodeName':'n5'}}"));
	vm_failures_add(&bed->cache.cluster.failures, "x", "vm-1", "n7", now);
}

/* ---- what a decision reads ---- */

#define CLAIM(name)                                                            \
	"'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'" name   \
	"'}}]"

static const char *const specs[PROBES] = {
	"'containers':[]", /* the taint, and shy */
	"'containers':[{'name':'c','ports':[{'containerPort':80,'hostPort':"
	"80}]}]",
	"'containers':[{'name':'c','resources':{'requests':{"
	"'example.com/gpu':'1'}}}]",
	"'containers':[],'affinity':{'podAntiAffinity':{"
	"'requiredDuringSchedulingIgnoredDuringExecution':[{'topologyKey':"
	"'zone','labelSelector':{'matchLabels':{'app':'web'}}}]}}",
	"'containers':[],'topologySpreadConstraints':[{'maxSkew':1,"
	"'topologyKey':'zone','whenUnsatisfiable':'DoNotSchedule',"
	"'labelSelector':{'matchLabels':{'app':'web'}}}]",
	"'containers':[]," CLAIM("bound"),
	"'containers':[]," CLAIM("late"),
	"'containers':[]," CLAIM("chosen"),
	"'containers':[{'name':'c','resources':{'requests':{'cpu':'4'}}}]",
};

static struct pod *make_probe(struct bed *bed, int i)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'p%d','namespace':'x','uid':'u-p%d',"
		"'labels':{'app':'%s'}},'spec':{%s}}",
		i, i,
		i == 0		 ? "shy"
			: i == 4 ? "web"
				 : "p",
		specs[i]);

	return given_pod(bed->cache.interner, json);
}

static void judge(struct verdicts *out, const struct cluster *cluster,
	struct pod *const *probes)
{
	static const struct filter_options options = FILTER_DEFAULTS;
	struct prefilter prefilter = { 0 };

	for (int i = 0; i < PROBES; i++) {
		prefilter_run(&prefilter, probes[i], cluster);
		for (size_t n = 0; n < cluster->count; n++) {
			out->of[i][n] = nominated_pods_filter(&prefilter,
				cluster->nodes[n], &options, now);
		}
	}
	prefilter_fini(&prefilter);
}

static int count_fitting(const struct verdicts *verdicts, int probe)
{
	int fitting = 0;

	for (int n = 0; n < NODES; n++) {
		fitting += verdicts->of[probe][n] == 0;
	}
	return fitting;
}

/* Each probe fits somewhere, and something keeps it from another node. */
static void assert_telling(const struct verdicts *verdicts)
{
	for (int i = 0; i < PROBES; i++) {
		int fitting = count_fitting(verdicts, i);

		assert_in_range(fitting, 1, NODES - 1 - (i > 0));
	}
}

static void make_copy(struct bed *bed)
{
	cluster_copy_begin(&bed->copy, &bed->cache);
	while (cluster_copy_next(&bed->copy)) {
	}
}

static void free_copy(struct bed *bed)
{
	while (cluster_copy_free_next(&bed->copy)) {
	}
}

static int setup(void **state)
{
	struct bed *bed = xcalloc(1, sizeof(*bed));

	cache_init(&bed->cache);
	put_cluster(bed);
	for (int i = 0; i < PROBES; i++) {
		bed->probes[i] = make_probe(bed, i);
	}
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	free_copy(bed);
	for (int i = 0; i < PROBES; i++) {
		pod_free(bed->probes[i]);
	}
	cache_fini(&bed->cache);
	free(bed);
	return 0;
}

/* ---- tests ---- */

static void a_decision_on_the_copy_is_that_on_the_original(void **state)
{
	struct bed *bed = *state;
	struct verdicts original = { 0 }, copied = { 0 };

	judge(&original, &bed->cache.cluster, bed->probes);
	assert_telling(&original);
	make_copy(bed);
	assert_int_equal(bed->copy.cluster.count, NODES);
	judge(&copied, &bed->copy.cluster, bed->probes);
	assert_memory_equal(&copied, &original, sizeof(copied));
	assert_int_equal(
		vm_wait_until(&bed->copy.cluster.failures, "x", "vm-1", "n7"),
		now + VM_FAILURES_WAIT_US);
}

static const struct node *copied_node(const struct bed *bed, const char *name)
{
	for (size_t i = 0; i < bed->copy.cluster.count; i++) {
		if (strcmp(bed->copy.cluster.nodes[i]->name, name) == 0) {
			return bed->copy.cluster.nodes[i];
		}
	}
	fail_msg("%s is not copied", name);
	return NULL;
}

static void a_copied_node_has_the_vms_and_sums_of_the_original(void **state)
{
	struct bed *bed = *state;
	const struct node *node = cache_node(&bed->cache, "n4");
	const struct node *copy;

	make_copy(bed);
	copy = copied_node(bed, "n4");
	assert_int_equal(copy->pod_count, 2);
	assert_int_equal(copy->cpu_milli_requested, 800);
	assert_int_equal(copy->vms.count, 2);
	assert_int_equal(copy->vms.announced_count, 2);
	assert_ptr_not_equal(copy->pods[0].pod, node->pods[0].pod);
	assert_ptr_not_equal(copy->vms.list, node->vms.list);
}

/* Somebody may plan with it: the pod has what its node learnt. */
static void a_copied_pod_has_what_was_observed_of_its_vm(void **state)
{
	struct bed *bed = *state;
	const struct usage usage = { .seconds = 500, .mean_cores = 2 };

	cache_update_profile(&bed->cache, "u-vm-1", &usage);
	make_copy(bed);
	for (size_t i = 0; i < bed->copy.pod_count; i++) {
		if (strcmp(bed->copy.pods[i]->uid, "u-vm-1") == 0) {
			assert_true(bed->copy.pods[i]->usage.seconds == 500);
			return;
		}
	}
	fail_msg("vm-1 is not copied");
}

static void changing_the_copy_leaves_the_original(void **state)
{
	struct bed *bed = *state;
	struct verdicts before = { 0 }, after = { 0 };
	struct cluster *copy = &bed->copy.cluster;

	judge(&before, &bed->cache.cluster, bed->probes);
	make_copy(bed);
	for (size_t n = 0; n < copy->count; n++) {
		while (copy->nodes[n]->pod_count > 0) {
			cluster_remove_pod(copy, copy->nodes[n],
				copy->nodes[n]->pods[0].pod);
		}
		assert_int_equal(copy->nodes[n]->vms.count, 0);
	}
	judge(&after, &bed->cache.cluster, bed->probes);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(cache_node(&bed->cache, "n4")->vms.count, 2);
}

/* Changes, deletes or replaces something. */
static void change(struct bed *bed, uint64_t dice)
{
	int n = (int)(dice / 16 % NODES);
	scoped_free char *name = xasprintf("n%d", n);
	scoped_free char *other = xasprintf("c%d", (int)(dice % CLAIMS));

	switch (dice % 9) {
	case 0:
		put_node(bed, n, "'unschedulable':true");
		break;
	case 1:
		cache_remove_node(&bed->cache, name);
		break;
	case 2:
		(void)cache_remove_pod(&bed->cache, "u-web");
		put_vm(bed, "vm-1", n);
		break;
	case 3:
		put_pod(bed, "web", n, "'containers':[]");
		break;
	case 4:
		put_claim(bed, "late", "", "'storageClassName':'static'");
		cluster_remove_object(&bed->cache.cluster,
			CLUSTER_STORAGE + STORAGE_VOLUMES, "", "v1");
		break;
	case 5:
		put_volume(bed, "v2", n % 3);
		put_object(bed, CLUSTER_NAMESPACES,
			"{'metadata':{'name':'x','labels':{'team':'b'}}}");
		break;
	case 6:
		(void)cache_remove_nominated(&bed->cache, "u-next");
		break;
	default:
		put_claim(bed, other, "", "'storageClassName':'static'");
	}
}

static void the_cluster_may_change_between_all_steps(void **state)
{
	struct bed *bed = *state;
	struct verdicts verdicts = { 0 };
	uint64_t seed = 7;
	int steps = 0;

	for (int i = 0; i < CLAIMS / 2; i++) {
		change(bed, 8 + 9 * random_next(&seed));
	}
	cluster_copy_begin(&bed->copy, &bed->cache);
	while (cluster_copy_next(&bed->copy)) {
		for (int i = 0; i < 100; i++) {
			change(bed, random_next(&seed));
		}
		steps++;
		assert_true(steps < 1000);
	}
	judge(&verdicts, &bed->copy.cluster, bed->probes);
	cluster_copy_free_next(&bed->copy);
	while (cluster_copy_free_next(&bed->copy)) {
		change(bed, random_next(&seed));
	}
}

static void a_copy_may_be_freed_before_it_is_complete(void **state)
{
	struct bed *bed = *state;

	for (int steps = 0; steps < 24; steps++) {
		cluster_copy_begin(&bed->copy, &bed->cache);
		for (int i = 0; i < steps; i++) {
			(void)cluster_copy_next(&bed->copy);
		}
		free_copy(bed);
		assert_null(bed->copy.cluster.nodes);
	}
}

static void originals_may_go_before_the_copy(void **state)
{
	struct bed *bed = *state;
	struct verdicts before = { 0 }, after = { 0 };
	uint64_t seed = 3;

	make_copy(bed);
	judge(&before, &bed->copy.cluster, bed->probes);
	for (int i = 0; i < 500; i++) {
		change(bed, random_next(&seed));
	}
	judge(&after, &bed->copy.cluster, bed->probes);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void no_step_copies_or_frees_many_objects(void **state)
{
	struct bed *bed = *state;
	const struct cluster *copy = &bed->copy.cluster;
	size_t before = 0;

	for (int i = 0; i < CLAIMS; i++) {
		change(bed, 8 + 9 * (uint64_t)i);
	}
	cluster_copy_begin(&bed->copy, &bed->cache);
	while (cluster_copy_next(&bed->copy)) {
		size_t count = copy->storage.maps[STORAGE_CLAIMS].count;

		assert_true(count - before <= SHARED_MAP_STEP);
		before = count;
	}
	assert_int_equal(before,
		bed->cache.cluster.storage.maps[STORAGE_CLAIMS].count);
	while (cluster_copy_free_next(&bed->copy)) {
		size_t count = copy->storage.maps[STORAGE_CLAIMS].count;

		assert_true(before - count <= SHARED_MAP_STEP);
		before = count;
	}
}

/* ---- with a thread ---- */

struct reader {
	struct bed *bed;
	struct verdicts first, last;
	atomic_bool stop, has_begun;
};

static void read_copy(void *arg)
{
	struct reader *reader = arg;
	const struct cluster *copy = &reader->bed->copy.cluster;

	judge(&reader->first, copy, reader->bed->probes);
	atomic_store(&reader->has_begun, true);
	do {
		judge(&reader->last, copy, reader->bed->probes);
	} while (!atomic_load(&reader->stop));
}

static void a_thread_reads_the_copy_while_the_cluster_changes(void **state)
{
	struct bed *bed = *state;
	struct reader reader = { .bed = bed };
	uint64_t seed = 11;
	uv_thread_t thread;

	make_copy(bed);
	assert_int_equal(uv_thread_create(&thread, read_copy, &reader), 0);
	for (int i = 0; i < 300 || !atomic_load(&reader.has_begun); i++) {
		change(bed, random_next(&seed));
	}
	atomic_store(&reader.stop, true);
	assert_int_equal(uv_thread_join(&thread), 0);
	assert_telling(&reader.first);
	assert_memory_equal(&reader.first, &reader.last, sizeof(reader.first));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_decision_on_the_copy_is_that_on_the_original),
		CASE(a_copied_node_has_the_vms_and_sums_of_the_original),
		CASE(a_copied_pod_has_what_was_observed_of_its_vm),
		CASE(changing_the_copy_leaves_the_original),
		CASE(the_cluster_may_change_between_all_steps),
		CASE(a_copy_may_be_freed_before_it_is_complete),
		CASE(originals_may_go_before_the_copy),
		CASE(no_step_copies_or_frees_many_objects),
		CASE(a_thread_reads_the_copy_while_the_cluster_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
