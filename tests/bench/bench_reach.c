/* The work of one look at how many nodes VMs can reach, over a cache of 1,000
 * nodes and 30,000 VMs, and its longest slice: VMs of few shapes, VMs that all
 * differ, and VMs with volumes that are in a zone. KubeVirt's watches are
 * arrays. No I/O. */
#include "scheduler/mover/reach.h"

#include "scheduler/cache/cache.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "tests/bench/cpu.h"
#include "tests/unit/scheduler/given.h"

#include <stdio.h>

enum { NODES = 1000, VMS = 30 };

/* VMs ask for one of few things, each for another one, or have a volume. */
enum scene { FEW_SHAPES, ALL_DIFFER, VOLUMES, SCENES };

static struct cache cache;
static struct launcher_templates templates;
static struct vmi vmis[NODES][VMS];

static void add_node(int n)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'node-%d','labels':{"
		"'kubernetes.io/hostname':'node-%d','kubernetes.io/arch':"
		"'amd64','kubevirt.io/schedulable':'true',"
		"'topology.kubernetes.io/zone':'zone-%d','cpu-vendor.node."
		"kubevirt.io/Intel':'true','host-model-cpu.node.kubevirt.io/"
		"Icelake-Server':'true','cpu-model-migration.node.kubevirt.io/"
		"Icelake-Server':'true'}},'status':{'allocatable':{'cpu':'16',"
		"'memory':'256Gi','pods':'110','ephemeral-storage':'1Ti',"
		"'devices.kubevirt.io/kvm':'1k','devices.kubevirt.io/"
		"vhost-net':'1k'}}}",
		n, n, n % 3);
	struct json_value *object = given_json(json);
	bool changed;

	assert_int_equal(cache_put_node(&cache, &changed, object, 0, NULL), 0);
	json_value_free(object);
}

static void add_pod(enum scene scene, int n, int v)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'l-%d-%d','namespace':'vms','uid':"
		"'pod-%d-%d','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%d-%d'},'annotations':{"
		"'kubevirt.io/domain':'vm-%d-%d'}},'spec':{%s'nodeName':"
		"'node-%d','containers':[{'name':'compute','resources':{"
		"'requests':{'cpu':'200m','memory':'4Gi','ephemeral-storage':"
		"'50M','devices.kubevirt.io/kvm':'1'}}}]},'status':{'phase':"
		"'Running'}}",
		n, v, n, v, n, v, n, v,
		scene == VOLUMES ? "'volumes':[{'name':'d',"
				   "'persistentVolumeClaim':{'claimName':"
				   "'disk'}}],"
				 : "",
		n);

	cache_put_pod(&cache, given_pod(cache.interner, json), 0);
}

static void add_vmi(enum scene scene, int n, int v)
{
	struct vmi *vmi = &vmis[n][v];
	scoped_free char *json = xasprintf(
		"{'spec':{'architecture':'amd64','nodeSelector':{"
		"'kubernetes.io/arch':'amd64'},'domain':{'cpu':{'cores':%d},"
		"'memory':{'guest':'%dMi'}}}}",
		1 + v % 4, scene == ALL_DIFFER ? 2048 + n * VMS + v : 4096);
	struct json_value *object = given_json(json);

	*vmi = (struct vmi){ .namespace = xstrdup("vms"),
		.name = xasprintf("vm-%d-%d", n, v),
		.node = xasprintf("node-%d", n),
		.is_running = true };
	launcher_vm_read(&vmi->launcher, cache.interner, object);
	json_value_free(object);
}

static void remove_vmi(struct vmi *vmi)
{
	launcher_vm_fini(&vmi->launcher, cache.interner);
	free(vmi->namespace);
	free(vmi->name);
	free(vmi->node);
}

static void add_volume(void)
{
	static const struct {
		enum storage_kind kind;
		const char *json;
	} objects[] = {
		{ STORAGE_VOLUMES,
			"{'metadata':{'name':'pv'},'spec':{'capacity':{"
			"'storage':'1Gi'},'nodeAffinity':{'required':{"
			"'nodeSelectorTerms':[{'matchExpressions':[{'key':"
			"'topology.kubernetes.io/zone','operator':'In',"
			"'values':['zone-0','zone-1']}]}]}}}}" },
		{ STORAGE_CLAIMS,
			"{'metadata':{'name':'disk','namespace':'vms',"
			"'annotations':{'pv.kubernetes.io/bind-completed':"
			"'yes'}},'spec':{'volumeName':'pv'}}" },
	};

	for (size_t i = 0; i < count_of(objects); i++) {
		struct json_value *object = given_json(objects[i].json);

		assert_int_equal(
			storage_put(&cache.cluster.storage, objects[i].kind,
				cache.interner, object, NULL),
			0);
		json_value_free(object);
	}
}

/* The watch finds a VMI by a hash of its UID, "vmi-N-V". */
const struct vmi *kubevirt_vmi(const struct kubevirt *kubevirt, const char *uid)
{
	char *end;
	long n = strtol(uid + 4, &end, 10);

	(void)kubevirt;
	return &vmis[n][strtol(end + 1, NULL, 10)];
}

bool kubevirt_next_pod(const struct kubevirt *kubevirt, struct next_pod *out,
	const struct pod *running, const struct labels *source,
	struct buffer *why)
{
	const struct vmi *vmi = kubevirt_vmi(kubevirt, running->vmi_uid);

	return next_pod_derive(out, &templates,
		&(const struct next_pod_question){ .vm = &vmi->launcher,
			.settings = &launcher_settings_default,
			.running = running,
			.source = source },
		why);
}

static bool is_ready(void *owner)
{
	(void)owner;
	return true;
}

static void measure(const char *what)
{
	struct reach_stats stats = { 0 };
	double began_us = cpu_us(RUSAGE_SELF);
	struct reach *reach;
	uv_loop_t loop;

	assert_int_equal(uv_loop_init(&loop), 0);
	reach = reach_new(&(const struct reach_options){ .loop = &loop,
		.cache = &cache,
		.is_ready = is_ready });
	while (!stats.is_known) {
		(void)uv_run(&loop, UV_RUN_ONCE);
		reach_stats(reach, &stats);
	}
	assert_int_equal(stats.count, NODES * VMS);
	(void)printf(
		"%s: the look took %.1f ms, %.1f ms of CPU time, its "
		"longest slice %.2f ms\n",
		what, 1e3 * stats.work_s,
		(cpu_us(RUSAGE_SELF) - began_us) / 1e3,
		1e3 * stats.longest_slice_s);
	reach_close(reach);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void run(enum scene scene, const char *what)
{
	cache_init(&cache);
	templates = (struct launcher_templates){ .interner = cache.interner };
	add_volume();
	for (int n = 0; n < NODES; n++) {
		add_node(n);
		for (int v = 0; v < VMS; v++) {
			add_pod(scene, n, v);
			add_vmi(scene, n, v);
		}
	}
	measure(what);
	for (int i = 0; i < NODES * VMS; i++) {
		remove_vmi(&vmis[i / VMS][i % VMS]);
	}
	launcher_templates_fini(&templates);
	cache_fini(&cache);
}

int main(void)
{
	static const char *const names[SCENES] = {
		[FEW_SHAPES] = "4 shapes",
		[ALL_DIFFER] = "30,000 shapes",
		[VOLUMES] = "volumes in zones",
	};

	(void)printf("%d nodes, %d VMs\n", NODES, NODES * VMS);
	for (int scene = 0; scene < SCENES; scene++) {
		run((enum scene)scene, names[scene]);
	}
	return 0;
}
