/* The work of one round of the mover over a cache of 1,000 nodes and 30,000
 * VMs, from the fleet to the moves, and its longest slice. A tenth of the nodes
 * is hot, or none. KubeVirt's watches are arrays. No I/O. */
#include "scheduler/mover/round.h"

#include "lib/clock.h"
#include "tests/unit/scheduler/given.h"
#define FAKE_OWN_VMIS
#include "tests/unit/scheduler/mover/fake_counts.h"

#include <math.h>

enum { NODES = 1000, VMS = 30, ROUNDS = 11 };

static struct cache cache;
static int64_t now;

static void add_node(int n)
{
	struct node_load load;
	struct vm_load vms[VMS];
	scoped_free char *name = xasprintf("node-%d", n);
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'node-%d'},'status':{'allocatable':{'cpu':"
		"'16','memory':'256Gi','pods':'110','devices.kubevirt.io/kvm':"
		"'1k'}}}",
		n);
	struct json_value *object = given_json(json);
	bool changed;

	assert_int_equal(cache_put_node(&cache, &changed, object, now, NULL),
		0);
	json_value_free(object);
	load = given_load(8, 8e9);
	load.name = name;
	load.vms = vms;
	load.vm_count = VMS;
	for (int v = 0; v < VMS; v++) {
		vm_load_init(&vms[v]);
		(void)snprintf(vms[v].pod_uid, sizeof(vms[v].pod_uid),
			"pod-%d-%d", n, v);
		vms[v].used_cores = 0.25;
		vms[v].used_cores_5m = 0.25;
		vms[v].memory_bytes = 2e9;
	}
	cache_put_load(&cache, &changed, &load, now, now);
}

static void add_vm(int n, int v, double cores)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'l-%d-%d','namespace':'vms','uid':"
		"'pod-%d-%d','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%d-%d'},'annotations':{"
		"'kubevirt.io/domain':'vm-%d-%d'}},'spec':{'nodeName':"
		"'node-%d','containers':[{'name':'compute','resources':{"
		"'requests':{'cpu':'200m','memory':'4Gi'}}}]},'status':{"
		"'phase':'Running'}}",
		n, v, n, v, n, v, n, v, n);
	struct pod *pod = given_pod(cache.interner, json);

	pod->usage = (struct usage){ .seconds = USAGE_MEMORY_S,
		.mean_cores = cores,
		.recent_seconds = USAGE_RECENT_S,
		.recent_cores = cores,
		.square_cores = cores * cores + 0.01 };
	cache_put_pod(&cache, pod, now - INT64_C(3600000000));
}

/* The cores of each VM: a tenth of the nodes is hot; these VMs are equal; all
 * nodes are at 75 %; they differ, and most are hot; all are full. */
enum scene { TENTH_HOT, EQUAL_HOT, ALL_BUSY, UNEVEN, ALL_FULL, SCENES };

static double cores_of(enum scene scene, int n, int v)
{
	double varied = 0.5 + (double)((n * 7 + v * 13) % 101) / 101;

	switch (scene) {
	case TENTH_HOT:
		return (n % 10 == 0 ? 1 : 0.25) * varied;
	case EQUAL_HOT:
		return n % 10 == 0 ? 0.7 : 0.2;
	case ALL_BUSY:
		return 0.4 * varied;
	case UNEVEN:
		return (0.3 + 0.04 * (n % 10)) * varied;
	default:
		return 0.55 * varied;
	}
}

/* Every VM is known, and runs where its pod says. */
static struct vmi vmis[NODES][VMS];

static void make_vmis(void)
{
	static char node_names[NODES][16], names[NODES][VMS][16];
	static char space[] = "vms", nothing[1];

	for (int n = 0; n < NODES; n++) {
		(void)snprintf(node_names[n], sizeof(node_names[n]), "node-%d",
			n);
		for (int v = 0; v < VMS; v++) {
			(void)snprintf(names[n][v], sizeof(names[n][v]),
				"vm-%d-%d", n, v);
			vmis[n][v] = (struct vmi){ .namespace = space,
				.name = names[n][v],
				.node = node_names[n],
				.evacuating = nothing,
				.is_running = true,
				.is_migratable = true };
		}
	}
}

static int read_number(const char **text)
{
	int number = 0;

	while (**text >= '0' && **text <= '9') {
		number = number * 10 + *(*text)++ - '0';
	}
	return number;
}

/* The watch finds a VMI by a hash of its UID, "vmi-N-V". */
const struct vmi *kubevirt_vmi(const struct kubevirt *kubevirt, const char *uid)
{
	const char *at = strchr(uid, '-') + 1;
	int n = read_number(&at);

	(void)kubevirt;
	at++;
	return &vmis[n][read_number(&at)];
}

static void measure(const char *what, struct round *round)
{
	struct proposals proposals = { 0 };
	int64_t best_us = INT64_MAX;
	int64_t slice_us = INT64_MAX;

	round->proposals = &proposals;
	for (int i = 0; i < ROUNDS; i++) {
		round->longest_slice_us = 0;
		round_begin(round);
		while (!round_work(round)) {
		}
		best_us = round->work_us < best_us ? round->work_us : best_us;
		slice_us = round->longest_slice_us < slice_us
			? round->longest_slice_us
			: slice_us;
	}
	(void)printf(
		"mover: %s, %zu nodes, %zu VMs: a round %.1f ms, its longest "
		"slice %.2f ms, %zu moves found\n",
		what, round->nodes, round->vms, (double)best_us / 1e3,
		(double)slice_us / 1e3, proposals.count);
}

static void fill(enum scene scene)
{
	for (int n = 0; n < NODES; n++) {
		for (int v = 0; v < VMS; v++) {
			add_vm(n, v, cores_of(scene, n, v));
		}
		add_node(n);
	}
}

static void measure_scene(enum scene scene, const char *name)
{
	struct move_records records = { 0 };
	struct conflicts conflicts = { 0 };
	struct round round = { .price = RULE_PRICE, .copy_pace = NAN };

	now = (int64_t)clock_monotonic_us();
	cache_init(&cache);
	fill(scene);
	round.sources = (struct fleet_sources){ .cache = &cache,
		.kubevirt = &fake_kubevirt,
		.records = &records,
		.conflicts = &conflicts,
		.scheduler_name = "",
		.now_us = now };
	measure(name, &round);
	round_fini(&round);
	cache_fini(&cache);
}

int main(void)
{
	static const char *const names[SCENES] = { "a tenth hot",
		"a tenth hot with equal VMs", "all at 75 %", "most hot",
		"all full" };

	fake_reset();
	make_vmis();
	for (int scene = 0; scene < SCENES; scene++) {
		measure_scene((enum scene)scene, names[scene]);
	}
	return 0;
}
