/* The copy of a cluster of 1,000 nodes and 30,000 VMs, each with a claim and a
 * volume, on which a thread plans: its time, its longest step, its memory; and
 * the planner's slices with it. KubeVirt's watches are arrays. No I/O. */
#include "scheduler/planner/planner.h"

#include "lib/clock.h"
#include "scheduler/mover/conflicts.h"
#include "scheduler/planner/plan_world.h"
#include "scheduler/rebalance/move_records.h"
#include "tests/bench/heap.h"
#include "tests/unit/scheduler/given.h"
#define FAKE_OWN_VMIS
#include "tests/unit/scheduler/mover/fake_counts.h"

#include <math.h>
#include <time.h>

enum { NODES = 1000, VMS = 30, ROUNDS = 5 };

static struct cache cache;
static int64_t now;

static void add_node(int n)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'node-%d','labels':{'zone':'%d',"
		"'kubernetes.io/hostname':'node-%d','a':'b','c':'d','e':'f',"
		"'g':'h','i':'j','k':'l','m':'n','o':'p'}},'status':{"
		"'allocatable':{'cpu':'16','memory':'256Gi','pods':'110',"
		"'devices.kubevirt.io/kvm':'1k'}}}",
		n, n % 3, n);
	struct json_value *object = given_json(json);
	bool changed;

	assert_int_equal(cache_put_node(&cache, &changed, object, now, NULL),
		0);
	json_value_free(object);
}

static void add_vm(int n, int v)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'l-%d-%d','namespace':'vms','uid':"
		"'pod-%d-%d','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%d-%d'},'annotations':{"
		"'kubevirt.io/domain':'vm-%d-%d'}},'spec':{'nodeName':"
		"'node-%d','nodeSelector':{'a':'b'},'volumes':[{'name':'d',"
		"'persistentVolumeClaim':{'claimName':'c-%d-%d'}}],"
		"'containers':[{'name':'compute','resources':{"
		"'requests':{'cpu':'200m','memory':'4Gi'}}}]},'status':{"
		"'phase':'Running'}}",
		n, v, n, v, n, v, n, v, n, n, v);

	cache_put_pod(&cache, given_pod(cache.interner, json),
		now - INT64_C(3600000000));
}

static void put(enum cluster_kind kind, const char *text)
{
	struct json_value *object = given_json(text);

	assert_int_equal(cluster_put_object(&cache.cluster, kind, object, NULL),
		0);
	json_value_free(object);
}

static void add_disk(int n, int v)
{
	scoped_free char *claim = xasprintf(
		"{'metadata':{'namespace':'vms','name':'c-%d-%d','uid':"
		"'u-%d-%d'},'spec':{'volumeName':'v-%d-%d'}}",
		n, v, n, v, n, v);
	scoped_free char *volume = xasprintf(
		"{'metadata':{'name':'v-%d-%d','uid':'w-%d-%d'},'spec':{"
		"'csi':{'driver':'d','volumeHandle':'h-%d-%d'}}}",
		n, v, n, v, n, v);

	put(CLUSTER_STORAGE + STORAGE_CLAIMS, claim);
	put(CLUSTER_STORAGE + STORAGE_VOLUMES, volume);
}

static void fill(void)
{
	for (int n = 0; n < NODES; n++) {
		add_node(n);
		for (int v = 0; v < VMS; v++) {
			add_vm(n, v);
			add_disk(n, v);
		}
	}
	cache_set_complete(&cache);
}

const struct vmi *kubevirt_vmi(const struct kubevirt *kubevirt, const char *uid)
{
	(void)kubevirt;
	(void)uid;
	return NULL; /* each VM gets words why it stays */
}

static double cpu_us(void)
{
	return (double)clock() * 1e6 / CLOCKS_PER_SEC;
}

/* All clocks are CPU time, because other programs may run beside this one.
 * getrusage() would give whole ticks of the kernel. */
uint64_t __wrap_clock_monotonic_us(void);
uint64_t __wrap_clock_monotonic_us(void)
{
	return (uint64_t)(INT64_C(10000000000) + (int64_t)cpu_us());
}

struct times {
	double all_us, longest_us;
};

static struct times run_steps(bool (*step)(struct plan_world *world),
	struct plan_world *world)
{
	struct times times = { 0 };
	bool is_last = false;

	while (!is_last) {
		double begun_us = cpu_us();
		double spent_us;

		is_last = !step(world);
		spent_us = cpu_us() - begun_us;
		times.all_us += spent_us;
		times.longest_us = fmax(times.longest_us, spent_us);
	}
	return times;
}

static void keep_best(struct times *best, struct times times)
{
	best->all_us = fmin(best->all_us, times.all_us);
	best->longest_us = fmin(best->longest_us, times.longest_us);
}

static void measure_copy(const struct planner_options *options)
{
	struct times made = { INFINITY, INFINITY };
	struct times freed = made;
	struct plan_world world;
	size_t before = heap_bytes();
	size_t bytes = 0;

	for (int i = 0; i < ROUNDS; i++) {
		plan_world_begin(&world, options, now, 0);
		keep_best(&made, run_steps(plan_world_next, &world));
		bytes = heap_bytes() - before;
		keep_best(&freed, run_steps(plan_world_free_next, &world));
	}
	(void)printf(
		"copy: %d nodes, %d VMs: made in %.1f ms of CPU, longest step "
		"%.2f ms; freed in %.1f ms, longest step %.2f ms; %.1f MB\n",
		NODES, NODES * VMS, made.all_us / 1e3, made.longest_us / 1e3,
		freed.all_us / 1e3, freed.longest_us / 1e3,
		(double)bytes / 1e6);
}

static void do_nothing(void *owner, struct plan_input *input)
{
	(void)owner;
	(void)input;
}

static void note_done(void *owner, const struct plan_input *input, bool is_done)
{
	assert_true(is_done);
	*(size_t *)owner = input->vm_count;
}

static void measure_planner(const struct planner_options *options)
{
	struct planner *planner = planner_new(options);
	struct planner_stats stats;
	size_t vms = 0;

	for (int i = 0; i < ROUNDS; i++) {
		assert_true(planner_start(planner,
			&(struct planner_job){ .work = do_nothing,
				.done = note_done,
				.owner = &vms }));
	}
	(void)uv_run(options->loop, UV_RUN_DEFAULT);
	planner_stats(planner, &stats);
	(void)printf(
		"planner: %zu VMs: copied in %.1f ms, longest slice of %d "
		"copies %.2f ms of CPU\n",
		vms, stats.copy_s * 1e3, ROUNDS, stats.longest_slice_s * 1e3);
	planner_close(planner);
	(void)uv_run(options->loop, UV_RUN_DEFAULT);
}

int main(void)
{
	struct move_records records = { 0 };
	struct conflicts conflicts = { 0 };
	uv_loop_t loop;
	const struct planner_options options = { .loop = &loop,
		.cache = &cache,
		.kubevirt = &fake_kubevirt,
		.records = &records,
		.conflicts = &conflicts,
		.scheduler_name = "" };

	now = (int64_t)clock_monotonic_us();
	fake_reset();
	cache_init(&cache);
	assert_int_equal(uv_loop_init(&loop), 0);
	fill();
	measure_copy(&options);
	measure_planner(&options);
	(void)uv_loop_close(&loop);
	cache_fini(&cache);
	return 0;
}
