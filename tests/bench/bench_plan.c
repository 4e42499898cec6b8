/* The time of plans over 1,000 nodes and 30,000 VMs: 200 pods that wait on a
 * nearly full cluster, of several kinds, and nodes to empty. A third of the VMs
 * was migrated before, and their pods have KubeVirt's anti-affinity to the
 * source's. No I/O. */
#include "scheduler/plan/plan.h"

#include "tests/unit/scheduler/given.h"

#include <stdio.h>
#include <time.h>

enum { NODES = 1000, VMS = 30, PODS = 200 };

static struct interner *interner;
static struct cluster cluster;
static struct pod *pods[NODES * VMS];
static struct plan_vm vms[NODES * VMS];
static double took_ms[PODS];

static double now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static unsigned mix(unsigned n)
{
	n = (n ^ 61) ^ (n >> 16);
	n *= 9;
	n ^= n >> 4;
	n *= 0x27d4eb2d;
	return n ^ (n >> 15);
}

/* ---- the cluster ---- */

/* GiB of VM v of a node. The node has as much memory, and what is free. */
static int size_of(int v)
{
	static const int sizes[] = { 2, 2, 4, 4, 4, 4, 4, 8, 8, 16 };

	return sizes[v % 10] == 16 && v > 20 ? 8 : sizes[v % 10];
}

static void add_node(int n, int free_gib)
{
	int gib = free_gib;
	scoped_free char *json = NULL;

	for (int v = 0; v < VMS; v++) {
		gib += size_of(v);
	}
	json = xasprintf(
		"{'metadata':{'name':'node-%04d','labels':{"
		"'kubernetes.io/hostname':'node-%04d','zone':'%d'}},'status':{"
		"'allocatable':{'cpu':'64','memory':'%dGi','pods':'110',"
		"'hugepages-1Gi':'%dGi'}}}",
		n, n, n % 3, gib, n % 4 == 0 ? 17 : 0);
	cluster_add_node(&cluster, given_node(interner, json));
}

static void add_load(int n)
{
	struct node_load load = given_load(24, 0);
	static struct vm_load list[VMS];

	load.name = cluster.nodes[n]->name;
	load.cpu_cores = 64;
	load.memory_total_bytes = 256.0 * (1 << 30);
	load.memory_available_bytes =
		(20.0 + mix((unsigned)n) % 40) * (1 << 30);
	load.cpu_used_cores = 16 + mix((unsigned)n) % 30;
	load.cpu_used_cores_10s = load.cpu_used_cores;
	load.cpu_used_cores_5m = load.cpu_used_cores;
	load.vms = list;
	load.vm_count = VMS;
	for (int v = 0; v < VMS; v++) {
		list[v] = given_vm_load(pods[n * VMS + v],
			0.1 * (mix((unsigned)(n * VMS + v)) % 10));
		list[v].memory_bytes = size_of(v) * 0.75e9;
	}
	node_set_load(cluster.nodes[n], &load, 999000000, 1000000000);
}

static void add_vm(int n, int v, bool was_migrated)
{
	int i = n * VMS + v;
	scoped_free char *affinity = xasprintf(
		"'affinity':{'podAntiAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'labelSelector':{'matchLabels':{'kubevirt.io/created-by':"
		"'vmi-%d'}},'topologyKey':'kubernetes.io/hostname'}]}},",
		i);
	bool has_pages = n % 4 == 0 && v >= 24 && v < 28;
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'l-%d','namespace':'vms','uid':'pod-%d',"
		"'labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%d'%s},'annotations':{"
		"'kubevirt.io/domain':'vm-%d'}},'spec':{%s'priority':%d,"
		"'nodeName':'node-%04d','containers':[{'name':'compute',"
		"'resources':{'requests':{'cpu':'%dm',%s'memory':'%dGi'}}}]}}",
		i, i, i,
		was_migrated ? ",'kubevirt.io/migrationJobUID':'x'" : "", i,
		was_migrated ? affinity : "", v % 15 == 0 ? 100 : 0, n,
		100 * (1 + v % 4), has_pages ? "'hugepages-1Gi':'4Gi'," : "",
		size_of(v));

	pods[i] = given_pod(interner, json);
	pods[i]->node_name[0] = '\0';
	cluster_add_pod(&cluster, cluster.nodes[n], pods[i], 0);
	vms[i] = (struct plan_vm){ .pod = pods[i],
		.node = (size_t)n,
		.why_not =
			v % 11 == 0 ? "cannot be migrated: HostDevice" : NULL };
}

/* tightness: the most GiB that are free on a node. */
static void begin(int tightness, int migrated_percent)
{
	interner = interner_new();
	cluster_init(&cluster, interner);
	for (int n = 0; n < NODES; n++) {
		add_node(n, (int)(mix((unsigned)n) % (unsigned)tightness));
		for (int v = 0; v < VMS; v++) {
			add_vm(n, v,
				(int)(mix((unsigned)(n * VMS + v)) % 100) <
					migrated_percent);
		}
		add_load(n);
	}
}

static void end(void)
{
	for (int n = 0; n < NODES; n++) {
		while (cluster.nodes[n]->pod_count > 0) {
			cluster_remove_pod(&cluster, cluster.nodes[n],
				cluster.nodes[n]->pods[0].pod);
		}
	}
	for (size_t i = 0; i < count_of(pods); i++) {
		pod_free(pods[i]);
	}
	cluster_fini(&cluster);
	interner_free(interner);
}

/* ---- plans ---- */

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

struct tally {
	const char *what;
	size_t count, found, moves, cut;
	uint64_t work;
	char sentence[160];
};

static void search(struct tally *t, const struct plan_goal *goal,
	unsigned max_moves)
{
	static const struct filter_options filter = FILTER_DEFAULTS;
	const struct plan_input input = { .cluster = &cluster,
		.filter = &filter,
		.vms = vms,
		.vm_count = count_of(vms),
		.now_us = 1000000000,
		.max_moves = max_moves,
		.max_load = PLAN_LOAD_MAX };
	struct plan plan;
	double began = now_ms();

	plan_find(&plan, &input, goal);
	took_ms[t->count++] = now_ms() - began;
	t->found += plan.is_found;
	t->moves += plan.moves;
	t->cut += plan.is_cut_off;
	t->work += plan.work;
	(void)snprintf(t->sentence, sizeof(t->sentence), "%.150s",
		plan.sentence);
	plan_fini(&plan);
}

static void print(struct tally *t)
{
	qsort(took_ms, t->count, sizeof(*took_ms), compare);
	(void)printf(
		"plan: %-22s p50 %6.0f  p99 %6.0f  max %6.0f ms; "
		"%zu of %zu found, %.1f moves, %zu cut off, %.2f M "
		"filters\n      %s\n",
		t->what, took_ms[t->count / 2],
		took_ms[(t->count * 99 - 1) / 100], took_ms[t->count - 1],
		t->found, t->count,
		t->found == 0 ? 0 : (double)t->moves / (double)t->found, t->cut,
		(double)t->work / 1e6 / (double)t->count, t->sentence);
}

/* Pods of `least` GiB and up to a quarter more. */
static void fit(const char *what, int count, int least, const char *requests,
	const char *spec)
{
	struct tally t = { .what = what };

	for (int i = 0; i < count; i++) {
		scoped_free char *json = xasprintf(
			"{'metadata':{'name':'urgent-%d','namespace':'ns',"
			"'uid':'u-%d','labels':{'app':'urgent'}},'spec':{"
			"'priority':50,%s'containers':[{'name':'compute',"
			"'resources':{'requests':{%s'cpu':'%dm','memory':"
			"'%dMi'}}}]}}",
			i, i, spec, requests, 500 + 100 * (i % 8),
			least * 1024 + i * least * 256 / count);
		struct pod *pod = given_pod(interner, json);

		search(&t,
			&(struct plan_goal){ .kind = PLAN_POD_FITS,
				.pod = pod },
			PLAN_MOVES);
		pod_free(pod);
	}
	print(&t);
}

static void empty(const char *what, int count)
{
	struct tally t = { .what = what };

	for (int i = 0; i < count; i++) {
		size_t node = (size_t)(i * 37 % NODES);
		const char *why[VMS];

		for (size_t v = 0; v < VMS; v++) {
			why[v] = vms[node * VMS + v].why_not;
			vms[node * VMS + v].why_not = NULL;
		}
		search(&t,
			&(struct plan_goal){ .kind = PLAN_NODE_EMPTY,
				.nodes = &node,
				.node_count = 1 },
			PLAN_MOVES_MAX);
		for (size_t v = 0; v < VMS; v++) {
			vms[node * VMS + v].why_not = why[v];
		}
	}
	print(&t);
}

static void measure(int tightness, int migrated)
{
	(void)printf(
		"%d nodes, %d VMs, up to %d GiB free on a node, %d %% of "
		"the VMs migrated before\n",
		NODES, NODES * VMS, tightness - 1, migrated);
	begin(tightness, migrated);
	fit("some fit at once", PODS / 5, tightness - 4, "", "");
	fit("16 GiB", PODS / 5, 16, "", "");
	fit("24 GiB", PODS / 5, 24, "", "");
	fit("32 GiB", PODS / 5, 32, "", "");
	fit("64 GiB: impossible", PODS / 10, 64, "", "");
	fit("hugepages", PODS / 10, 2, "'hugepages-1Gi':'8Gi',", "");
	fit("zone, anti-affinity", PODS / 10, 16, "",
		"'nodeSelector':{'zone':'1'},'affinity':{'podAntiAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'labelSelector':{'matchLabels':{'app':'urgent'}},"
		"'topologyKey':'kubernetes.io/hostname'}]}},");
	empty("a node of 30 VMs", PODS / 10);
	end();
}

int main(int argc, char **argv)
{
	int only = argc > 1 ? argv[1][0] - 48 : -1;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);

	if (only < 0 || only == 0) {
		measure(16, 0);
	}
	if (only < 0 || only == 1) {
		measure(6, 0);
	}
	if (only < 0 || only == 2) {
		measure(2, 0);
	}
	if (only < 0 || only == 3) {
		measure(16, 30);
	}
	if (only < 0 || only == 4) {
		measure(6, 30);
	}
	return 0;
}
