/* The time of plans over 1,000 nodes and 30,000 VMs: 200 in each of several
 * clusters, most of them nearly full. Pods of several kinds wait, and nodes are
 * to be emptied. VMs that were migrated before have pods with KubeVirt's
 * anti-affinity to the source's. In the last cluster almost every VM has a
 * shape of its own, and the searches end at their limit. No I/O. */
#include "scheduler/plan/plan.h"

#include "tests/unit/scheduler/given.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NODES = 1000, VMS = 30, PLANS = 200, PLANS_MAX = 1000 };

static struct interner *interner;
static struct cluster cluster;
static struct pod *pods[NODES * VMS];
static struct plan_vm vms[NODES * VMS];
static int plans = PLANS; /* of a situation */
static int shapes;	  /* different CPU requests of VMs of equal size */

static double now_ms(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
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
		100 * (1 + v % 4) + i * 7 % shapes,
		has_pages ? "'hugepages-1Gi':'4Gi'," : "", size_of(v));

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

/* CPU of the searches, and time on a clock, which others on the machine
 * prolong. */
struct times {
	double cpu_ms[PLANS_MAX], wall_ms[PLANS_MAX];
	size_t count;
};

struct tally {
	const char *what;
	struct times times;
	size_t found, moves, cut;
	uint64_t work;
	char sentence[160];
};

/* One kind of goal, and all kinds. */
static struct tally kind, all;

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

static void add_time(struct times *times, double cpu_ms, double wall_ms)
{
	if (times->count < PLANS_MAX) {
		times->cpu_ms[times->count] = cpu_ms;
		times->wall_ms[times->count] = wall_ms;
		times->count++;
	}
}

static void add(struct tally *t, const struct plan *plan, double cpu_ms,
	double wall_ms)
{
	add_time(&t->times, cpu_ms, wall_ms);
	t->found += plan->is_found;
	t->moves += plan->moves;
	t->cut += plan->is_cut_off;
	t->work += plan->work;
	(void)snprintf(t->sentence, sizeof(t->sentence), "%.150s",
		plan->sentence);
}

static void search(const struct plan_goal *goal, unsigned max_moves)
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
	double wall_ms = now_ms(CLOCK_MONOTONIC);
	double cpu_ms = now_ms(CLOCK_THREAD_CPUTIME_ID);

	plan_find(&plan, &input, goal);
	cpu_ms = now_ms(CLOCK_THREAD_CPUTIME_ID) - cpu_ms;
	wall_ms = now_ms(CLOCK_MONOTONIC) - wall_ms;
	add(&kind, &plan, cpu_ms, wall_ms);
	add(&all, &plan, cpu_ms, wall_ms);
	plan_fini(&plan);
}

static void print_times(double *ms, size_t count)
{
	qsort(ms, count, sizeof(*ms), compare);
	(void)printf("p50 %5.0f p99 %5.0f max %5.0f ms", ms[count / 2],
		ms[(count * 99 - 1) / 100], ms[count - 1]);
}

static double total_ms(const struct tally *t)
{
	double sum = 0;

	for (size_t i = 0; i < t->times.count; i++) {
		sum += t->times.cpu_ms[i];
	}
	return sum;
}

static void print(struct tally *t)
{
	size_t count = t->times.count;

	(void)printf("plan: %-20s cpu ", t->what);
	print_times(t->times.cpu_ms, count);
	(void)printf("; wall ");
	print_times(t->times.wall_ms, count);
	(void)printf(
		"\n      %zu of %zu found, %.1f moves, %zu cut off, "
		"%.2f M work, %.2f us each\n",
		t->found, count,
		t->found == 0 ? 0 : (double)t->moves / (double)t->found, t->cut,
		(double)t->work / 1e6 / (double)count,
		t->work == 0 ? 0 : total_ms(t) * 1e3 / (double)t->work);
	if (t != &all) {
		(void)printf("      %s\n", t->sentence);
	}
}

static void begin_kind(struct tally *t, const char *what)
{
	*t = (struct tally){ .what = what };
}

struct kind {
	const char *what;
	int part;  /* of the plans of a cluster, in 20 */
	int least; /* GiB; up to a quarter more */
	unsigned max_moves;
	const char *requests, *spec; /* JSON */
};

static struct pod *pod_of(const struct kind *k, int i, int count)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'urgent-%d','namespace':'vms',"
		"'uid':'u-%d','labels':{'app':'urgent',"
		"'kubevirt.io':'virt-launcher'}},'spec':{"
		"'priority':50,%s'containers':[{'name':'compute',"
		"'resources':{'requests':{%s'cpu':'%dm','memory':'%dMi'}}}]}}",
		i, i, k->spec == NULL ? "" : k->spec,
		k->requests == NULL ? "" : k->requests, 500 + 100 * (i % 8),
		k->least * 1024 + i * k->least * 256 / count);

	return given_pod(interner, json);
}

static void fit(const struct kind *k)
{
	int count = plans * k->part / 20;

	begin_kind(&kind, k->what);
	for (int i = 0; i < count; i++) {
		struct pod *pod = pod_of(k, i, count);

		search(&(struct plan_goal){ .kind = PLAN_POD_FITS, .pod = pod },
			k->max_moves);
		pod_free(pod);
	}
	print(&kind);
}

static void empty(const char *what, int count)
{
	begin_kind(&kind, what);
	for (int i = 0; i < count; i++) {
		size_t node = (size_t)(i * 37 % NODES);
		const char *why[VMS];

		for (size_t v = 0; v < VMS; v++) {
			why[v] = vms[node * VMS + v].why_not;
			vms[node * VMS + v].why_not = NULL;
		}
		search(&(struct plan_goal){ .kind = PLAN_NODE_EMPTY,
			       .nodes = &node,
			       .node_count = 1 },
			PLAN_MOVES_MAX);
		for (size_t v = 0; v < VMS; v++) {
			vms[node * VMS + v].why_not = why[v];
		}
	}
	print(&kind);
}

#define TERM_ZONE                                                              \
	"'nodeSelector':{'zone':'1'},'affinity':{'podAntiAffinity':{"          \
	"'requiredDuringSchedulingIgnoredDuringExecution':[{"                  \
	"'labelSelector':{'matchLabels':{'app':'urgent'}},"                    \
	"'topologyKey':'kubernetes.io/hostname'}]}},"

#define TERM_SPREAD                                                            \
	"'topologySpreadConstraints':[{'maxSkew':900,'topologyKey':'zone',"    \
	"'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{" \
	"'kubevirt.io':'virt-launcher'}}}],"

static const struct kind kinds[] = {
	{ "16 GiB", 3, 16, PLAN_MOVES, NULL, NULL },
	{ "24 GiB", 3, 24, PLAN_MOVES, NULL, NULL },
	{ "32 GiB", 2, 32, PLAN_MOVES, NULL, NULL },
	{ "32 GiB, 50 moves", 2, 32, PLAN_MOVES_MAX, NULL, NULL },
	{ "64 GiB: impossible", 1, 64, PLAN_MOVES, NULL, NULL },
	{ "hugepages", 1, 2, PLAN_MOVES, "'hugepages-1Gi':'8Gi',", NULL },
	{ "zone, anti-affinity", 2, 16, PLAN_MOVES, NULL, TERM_ZONE },
	{ "spread over zones", 1, 16, PLAN_MOVES, NULL, TERM_SPREAD },
};

static void measure(int tightness, int migrated)
{
	(void)printf(
		"%d nodes, %d VMs, up to %d GiB free on a node, %d %% of "
		"the VMs migrated before, %d CPU requests\n",
		NODES, NODES * VMS, tightness - 1, migrated, 4 * shapes);
	begin(tightness, migrated);
	begin_kind(&all, "all of this cluster");
	fit(&(struct kind){ "some fit at once", 3,
		tightness > 5 ? tightness - 4 : 1, PLAN_MOVES, NULL, NULL });
	for (size_t i = 0; i < count_of(kinds); i++) {
		fit(&kinds[i]);
	}
	empty("a node of 30 VMs", plans / 10);
	print(&all);
	end();
}

/* The most GiB free on a node, the VMs in 100 that were migrated, `shapes`. */
static const struct {
	int tightness, migrated, shapes;
} situations[] = {
	{ 16, 0, 1 },
	{ 6, 0, 1 },
	{ 2, 0, 1 },
	{ 16, 30, 1 },
	{ 6, 30, 1 },
	{ 2, 30, 1 },
	{ 6, 30, 90 },
	{ 6, 30, 3000 },
};

/* [SITUATION [PLANS]]: one situation alone, fewer plans. */
int main(int argc, char **argv)
{
	long only = argc > 1 ? strtol(argv[1], NULL, 10) : -1;
	long wanted = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (wanted >= 20 && wanted <= PLANS_MAX) {
		plans = (int)wanted;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < (int)count_of(situations); i++) {
		if (only < 0 || only == i) {
			shapes = situations[i].shapes;
			measure(situations[i].tightness,
				situations[i].migrated);
		}
	}
	return 0;
}
