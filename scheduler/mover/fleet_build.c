#include "scheduler/mover/fleet_build.h"

#include "lib/memory.h"
#include "scheduler/forecast/model.h"
#include "scheduler/kubevirt/movability.h"
#include "scheduler/mover/node_exclusion.h"
#include "scheduler/rebalance/budget.h"
#include "scheduler/rebalance/rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_MAX = 1024 };

/* ---- stubs ---- */

static void free_stubs(struct fleet_build *build)
{
	for (size_t i = 0; i < build->node_count; i++) {
		free(build->nodes[i].name);
	}
	for (size_t i = 0; i < build->pod_count; i++) {
		struct pod *pod = build->pods[i];

		free(pod->namespace);
		free(pod->name);
		free(pod->uid);
		free(pod->vm_name);
		free(pod->vmi_uid);
		free(pod);
	}
	free(build->nodes);
	build->nodes = NULL;
	build->node_count = 0;
	build->pod_count = 0;
}

static const struct pod *add_stub(struct fleet_build *build,
	const struct pod *pod)
{
	struct pod *stub = xcalloc(1, sizeof(*stub));

	stub->namespace = xstrdup(pod->namespace);
	stub->name = xstrdup(pod->name);
	stub->uid = xstrdup(pod->uid);
	stub->vm_name = xstrdup(pod->vm_name);
	stub->vmi_uid = xstrdup(pod->vmi_uid);
	build->pods = xgrow(build->pods, build->pod_count, &build->pod_capacity,
		sizeof(struct pod *));
	build->pods[build->pod_count++] = stub;
	return stub;
}

void fleet_build_clear(struct fleet_build *build)
{
	fleet_clear(&build->fleet);
	free_stubs(build);
}

/* ---- a round begins ---- */

/* Something counts the VM on its target: our reservation, or from the handoff
 * on the target pod. A pod before that is found by find_targets(). */
static bool has_target(const struct migration *migration)
{
	return migration_is_on_its_way(migration) || migration->is_ours;
}

static void note_moving(struct fleet_build *build, const char *namespace,
	const char *vm)
{
	scoped_free char *key = xasprintf("%s/%s", namespace, vm);

	(void)map_put(&build->moving, key, build);
}

static void clear_names(struct map *names)
{
	map_fini(names);
	*names = (struct map){ 0 };
}

static void find_busy(struct fleet_build *build,
	const struct fleet_sources *sources)
{
	const struct move_record *record;
	size_t at = 0;

	clear_names(&build->taking);
	clear_names(&build->giving);
	while ((record = move_records_next(sources->records, &at)) != NULL) {
		if (!move_is_open(record)) {
			continue;
		}
		(void)map_put(&build->taking, record->target, build);
		if (kubevirt_migration_of(sources->kubevirt, record->namespace,
			    record->vm) == NULL) {
			(void)map_put(&build->giving, record->source, build);
		}
	}
}

static void find_misplaced(struct fleet_build *build,
	const struct fleet_sources *sources)
{
	struct reach_stats stats = { 0 };

	clear_names(&build->misplaced);
	if (sources->reach != NULL) {
		reach_stats(sources->reach, &stats);
	}
	for (size_t i = 0; i < stats.misplaced; i++) {
		const struct pod *pod = cache_pod(sources->cache,
			reach_misplaced(sources->reach, i));

		if (pod != NULL) {
			(void)map_put(&build->misplaced, pod->node_name, build);
		}
	}
}

/* With more of them no node gives or takes a VM. */
static void find_moving(struct fleet_build *build,
	const struct kubevirt *kubevirt)
{
	const struct migration *migration;
	size_t at = 0;

	clear_names(&build->moving);
	while (build->moving.count < NODE_COUNTERS_MAX &&
		(migration = kubevirt_next_migration(kubevirt, &at)) != NULL) {
		if (!migration_is_finished(migration) &&
			has_target(migration)) {
			note_moving(build, migration->namespace,
				migration->vmi_name);
		}
	}
}

/* VMs whose target pod has this node. */
static void find_targets(struct fleet_build *build, const struct node *node)
{
	for (size_t i = 0; node->vms.arriving_count > 0 && i < node->pod_count;
		i++) {
		const struct pod *pod = node->pods[i].pod;

		if (pod->is_target && build->moving.count < NODE_COUNTERS_MAX) {
			note_moving(build, pod->namespace, pod->vm_name);
		}
	}
}

void fleet_build_begin(struct fleet_build *build,
	const struct fleet_sources *sources)
{
	const struct cluster *cluster = &sources->cache->cluster;
	struct model_sum vms = { 0 };

	fleet_build_clear(build);
	build->next = 0;
	*build->exclusion = '\0';
	*build->exclusion_names = '\0';
	build->not_movable.count = 0;
	build->node_count = cluster->count;
	build->nodes = xcalloc(cluster->count + 1, sizeof(*build->nodes));
	for (size_t i = 0; i < cluster->count; i++) {
		build->nodes[i].name = xstrdup(cluster->nodes[i]->name);
		model_add_peers(&vms, &cluster->nodes[i]->vms.seen);
		model_add_peers(&vms, &cluster->nodes[i]->vms.unseen);
	}
	build->prior = model_prior(&vms);
	kubevirt_cluster_limits(sources->kubevirt, &build->limits);
	find_moving(build, sources->kubevirt);
	for (size_t i = 0; i < cluster->count; i++) {
		find_targets(build, cluster->nodes[i]);
	}
	find_busy(build, sources);
	find_misplaced(build, sources);
}

/* ---- a node ---- */

/* The use of the shared cores outside VMs: its mean, because a backup of a
 * minute must not move VMs. Without one, the newest sample. */
static double base_cores(const struct node *node,
	const struct node_watches *watches)
{
	double vms = node->vms.seen.seen_cores + node->vms.dedicated_used;
	double used = node->metrics.used_cores_latest - vms;
	double mean = node_watches_outside_vms(watches, node->name);

	used = isnan(mean) ? used : mean;
	return used > 0 ? used : 0;
}

static void set_permissions(struct fleet_node *added, const struct node *node,
	const struct fleet_build *build, const struct fleet_sources *sources)
{
	struct kubevirt_node work;
	bool takes_part;

	kubevirt_node(sources->kubevirt, node->name, &work);
	takes_part = node_exclusion(node, &work, sources->now_us) == NULL;
	added->may_give = takes_part &&
		map_get(&build->giving, node->name) == NULL &&
		work.out < budget_out_of_node(build->limits.out_of_node,
				   work.drains);
	added->may_take = takes_part && work.in == 0 &&
		map_get(&build->taking, node->name) == NULL;
}

/* False: the VM is on its way and counts on its target, or has dedicated CPUs:
 * these are not shared, and such a VM relieves nobody. */
static bool counts(const struct fleet_build *build, const struct cache *cache,
	const struct node_vm *vm)
{
	scoped_free char *key = NULL;
	const struct pod *pod;

	/* Nearly always no VM is on its way: 30,000 look-ups less. */
	if (vm->is_dedicated || build->moving.count == 0) {
		return !vm->is_dedicated;
	}
	pod = cache_pod(cache, vm->uid);
	if (pod == NULL || pod->is_target || pod->original != NULL) {
		return pod != NULL;
	}
	key = xasprintf("%s/%s", pod->namespace, pod->vm_name);
	return map_get(&build->moving, key) == NULL;
}

static struct fleet_vm figures_of(const struct node_vms *vms,
	const struct node_vm *vm, struct model_prior prior, int64_t now_us)
{
	struct fleet_vm out = {
		.vcpus = vm->model.vcpus,
		.used_cores = vm->charge.is_seen ? vm->model.seen_cores : 0,
		.memory_bytes =
			vm->charge.is_seen && vm->charge.seen_memory_bytes > 0
			? vm->charge.seen_memory_bytes
			: vm->charge.memory_bytes,
	};
	struct model_forecast forecast =
		model_forecast(&vm->model, node_vm_prior(vm, prior));
	double share =
		vm->charge.is_seen ? 1 : forecast_unseen(&vm->charge, now_us);

	out.kin = vm->kin.kin;
	out.rho = vm->kin.rho;
	if (vm->announced != NULL) {
		double before = forecast.cores;

		(void)node_vms_forecast(vms, vm->uid, prior, now_us, &forecast);
		out.announced_cores = share * (forecast.cores - before);
	}
	out.cores = share * forecast.cores;
	out.variance = share * forecast.variance;
	out.third = share * forecast.third;
	return out;
}

static bool next_is_known(const struct fleet_sources *sources,
	const struct pod *pod, const struct node *node)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);
	struct next_pod next;
	bool is_known = kubevirt_next_pod(sources->kubevirt, &next, pod,
		&node->labels, &why);

	next_pod_fini(&next);
	return is_known;
}

static bool may_move(const struct node_vm *vm, const struct pod *pod,
	const struct node *node, const struct fleet_sources *sources)
{
	const struct vmi *vmi = kubevirt_vmi_of(sources->kubevirt, pod);

	return pod->original == NULL &&
		movability_check(vmi, pod, node, &sources->cache->cluster,
			NULL) &&
		vm->charge.is_seen &&
		vm->model.usage.recent_seconds > FLEET_BUILD_SEEN_S &&
		kubevirt_migration_of(sources->kubevirt, vmi->namespace,
			vmi->name) == NULL &&
		move_records_cooling_until(sources->records, vmi->namespace,
			vmi->name) <= sources->wall_us &&
		conflicts_until(sources->conflicts, vmi->namespace, vmi->name,
			sources->wall_us) == 0 &&
		next_is_known(sources, pod, node);
}

static void add_vms(struct fleet_build *build, const struct node *node,
	const struct fleet_sources *sources)
{
	static const struct pod nameless = { 0 };

	for (size_t i = 0; i < node->vms.count; i++) {
		const struct node_vm *vm = &node->vms.list[i];
		struct fleet_vm figures;

		if (!counts(build, sources->cache, vm)) {
			continue;
		}
		figures = figures_of(&node->vms, vm, build->prior,
			sources->now_us);
		figures.pod = &nameless;
		(void)fleet_add_vm(&build->fleet, &figures);
	}
}

/* The launcher's memory may hold more than the guest's, which alone is
 * copied. */
static void limit_copy(struct fleet_vm *at, const struct vmi *vmi)
{
	if (vmi->guest_bytes > 0 && vmi->guest_bytes < at->memory_bytes) {
		at->memory_bytes = vmi->guest_bytes;
	}
}

/* Once the node's shortage is known: nearly all nodes give no VM, and their VMs
 * need no look at KubeVirt's objects. The order is that of add_vms(). */
static void find_movable(struct fleet_build *build, struct fleet_node *added,
	const struct node *node, const struct fleet_sources *sources)
{
	struct fleet_vm *at = &build->fleet.vms[added->first_vm];

	for (size_t i = 0; i < node->vms.count; i++) {
		const struct node_vm *vm = &node->vms.list[i];
		const struct pod *pod;

		if (!counts(build, sources->cache, vm)) {
			continue;
		}
		pod = cache_pod(sources->cache, vm->uid);
		at->may_move = pod != NULL && may_move(vm, pod, node, sources);
		if (at->may_move) {
			at->pod = add_stub(build, pod);
			limit_copy(at, kubevirt_vmi_of(sources->kubevirt, pod));
		} else if (pod != NULL) {
			not_movable_note(&build->not_movable,
				kubevirt_vmi_of(sources->kubevirt, pod),
				sources->cache);
		}
		at++;
	}
}

/* Keeps the first one: one sentence is enough. */
static void note_exclusion(struct fleet_build *build, const struct node *node,
	const struct fleet_sources *sources)
{
	struct kubevirt_node work;
	scoped_buffer struct buffer names = BUFFER_MAX(FLEET_BUILD_NAMES_MAX);
	const char *exclusion;

	kubevirt_node(sources->kubevirt, node->name, &work);
	exclusion = node_exclusion(node, &work, sources->now_us);
	if (exclusion == NULL || *build->exclusion != '\0') {
		return;
	}
	(void)snprintf(build->exclusion, sizeof(build->exclusion),
		"%s is short of CPU time, but it %s", node->name, exclusion);
	buffer_text(&names, "");
	node_exclusion_name(&names, exclusion, &work);
	(void)snprintf(build->exclusion_names, sizeof(build->exclusion_names),
		"%s", names.data);
}

/* It is short of something, or a VM may not stand there. */
static bool should_give(const struct fleet_build *build,
	const struct fleet_node *added, const struct fleet_sources *sources)
{
	return RULE_STEPS * added->shortage > sources->price ||
		node_watches_is_sustained(sources->watches, added->node->name,
			sources->now_us) ||
		map_get(&build->misplaced, added->node->name) != NULL;
}

static void add_node(struct fleet_build *build, struct node *stub,
	const struct fleet_sources *sources)
{
	const struct node *node = cache_node(sources->cache, stub->name);
	struct fleet_node *added;
	size_t index = build->fleet.node_count;

	if (node == NULL || !(node_shared_cores(node) > 0)) {
		return;
	}
	stub->metrics = node->metrics;
	stub->metrics.memory_available -=
		node_vms_memory(&node->vms, sources->now_us);
	(void)fleet_add_node(&build->fleet, stub, node_shared_cores(node),
		base_cores(node, sources->watches));
	add_vms(build, node, sources);
	added = &build->fleet.nodes[index];
	set_permissions(added, node, build, sources);
	if (added->vm_count == 0 || !should_give(build, added, sources)) {
		return;
	}
	if (added->may_give) {
		find_movable(build, added, node, sources);
	} else {
		note_exclusion(build, node, sources);
	}
}

bool fleet_build_next(struct fleet_build *build,
	const struct fleet_sources *sources)
{
	if (build->next == build->node_count) {
		return false;
	}
	add_node(build, &build->nodes[build->next++], sources);
	return true;
}

void fleet_build_fini(struct fleet_build *build)
{
	free_stubs(build);
	free(build->pods);
	map_fini(&build->moving);
	map_fini(&build->taking);
	map_fini(&build->giving);
	map_fini(&build->misplaced);
	fleet_fini(&build->fleet);
}
