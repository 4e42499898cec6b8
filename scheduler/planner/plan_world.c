#include "scheduler/planner/plan_world.h"

#include "lib/memory.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/kubevirt/movability.h"
#include "scheduler/mover/conflicts.h"
#include "scheduler/mover/fleet_build.h"
#include "scheduler/mover/node_exclusion.h"
#include "scheduler/rebalance/move_records.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_STEP = 256, WORDS_MAX = 1024 };

static const char not_known[] =
	"cannot be moved, because its next pod is not known: %s";

static void note_move(struct plan_world *world,
	const struct move_record *record)
{
	scoped_free char *key = xasprintf("%s/%s %s", record->namespace,
		record->vm, record->source);

	(void)map_put(&world->leaving, key, world);
}

static void begin(struct plan_world *world,
	const struct planner_options *options, int64_t now_us, uint64_t wall_us)
{
	const struct move_record *record;
	size_t at = 0;

	*world = (struct plan_world){ .options = options,
		.now_us = now_us,
		.wall_us = wall_us };
	while ((record = move_records_next(options->records, &at)) != NULL) {
		if (move_is_open(record)) {
			note_move(world, record);
		}
	}
}

void plan_world_begin(struct plan_world *world,
	const struct planner_options *options, int64_t now_us, uint64_t wall_us)
{
	begin(world, options, now_us, wall_us);
	cluster_copy_begin(&world->copy, options->cache);
}

/* ---- a VM ---- */

/* A VM on a node. */
struct subject {
	const struct pod *pod;
	const struct node *node;
	const struct vmi *vmi;	      /* NULL: not known */
	const char *namespace, *name; /* of the VMI */
};

static struct subject subject_of(const struct plan_world *world,
	const struct pod *pod, const struct node *node)
{
	const struct vmi *vmi = kubevirt_vmi_of(world->options->kubevirt, pod);

	return (struct subject){ .pod = pod,
		.node = node,
		.vmi = vmi,
		.namespace = pod->namespace,
		.name = vmi != NULL ? vmi->name : pod->vm_name };
}

enum stay { STAYS, IS_MIGRATED, LEAVES };

static bool has_open_move(const struct plan_world *world,
	const struct subject *vm)
{
	scoped_free char *key = NULL;

	if (world->leaving.count == 0) {
		return false;
	}
	key = xasprintf("%s/%s %s", vm->namespace, vm->name, vm->node->name);
	return map_get(&world->leaving, key) != NULL;
}

/* A VM leaves if something counts on its target: the target pod, or the
 * reservation of our order. From the handoff on it runs in the target pod,
 * which stays. */
static enum stay stay_of(const struct plan_world *world,
	const struct subject *vm)
{
	const struct migration *migration = kubevirt_migration_of(
		world->options->kubevirt, vm->namespace, vm->name);

	if (migration != NULL && migration_is_on_its_way(migration)) {
		return strcmp(migration->target, vm->node->name) == 0
			? IS_MIGRATED
			: LEAVES;
	}
	if (has_open_move(world, vm)) {
		return LEAVES;
	}
	return migration != NULL ? IS_MIGRATED : STAYS;
}

static bool was_watched(const struct subject *vm)
{
	const struct model_vm *model =
		node_vms_model(&vm->node->vms, vm->pod->uid);

	return model != NULL &&
		model->usage.recent_seconds > FLEET_BUILD_SEEN_S;
}

/* NULL: it may be moved, as far as we are concerned. */
static const char *why_not_by_us(const struct plan_world *world,
	const struct subject *vm)
{
	const struct planner_options *o = world->options;

	if (strcmp(vm->pod->scheduler_name, o->scheduler_name) != 0) {
		return "is placed by another scheduler";
	}
	if (move_records_cooling_until(o->records, vm->namespace, vm->name) >
		world->wall_us) {
		return "is in the cooldown after a move";
	}
	if (conflicts_until(o->conflicts, vm->namespace, vm->name,
		    world->wall_us) != 0) {
		return "is in a cooldown, because another controller "
		       "moved it after plimsoll did";
	}
	return was_watched(vm) ? NULL
			       : "has run here for less than about a minute, "
				 "so its use is not known yet";
}

/* The samples of a VM count from its boot on, a minute after its binding. */
_Static_assert((int)FLEET_BUILD_SEEN_S <= 10, "the words say a minute");

/* Appends nothing: the VM may be moved. */
static void judge(const struct plan_world *world, const struct subject *vm,
	enum stay stay, struct buffer *why)
{
	const char *words;

	if (stay != STAYS) {
		buffer_text(why,
			stay == LEAVES ? "is on its way to another node"
				       : "is being migrated");
		return;
	}
	if (!movability_check(vm->vmi, vm->pod, vm->node,
		    &world->options->cache->cluster, why)) {
		return;
	}
	words = world->is_asked ? NULL : why_not_by_us(world, vm);
	if (words != NULL) {
		buffer_text(why, words);
	}
}

/* Appends nothing: KubeVirt's next pod of the VM is known. */
static void check_pod(const struct kubevirt *kubevirt,
	const struct pod_on_node *pod, struct buffer *why)
{
	scoped_buffer struct buffer words = BUFFER_MAX(WORDS_MAX);
	struct next_pod next;

	if (!kubevirt_next_pod(kubevirt, &next, pod->pod, &pod->node->labels,
		    &words)) {
		buffer_printf(why, not_known, words.data);
	}
	next_pod_fini(&next);
}

bool plan_world_may_move(const struct planner_options *options,
	const struct pod_on_node *pod, int64_t now_us, uint64_t wall_us,
	struct buffer *why)
{
	size_t before = why->len;
	struct plan_world world;
	struct subject vm;

	begin(&world, options, now_us, wall_us);
	vm = subject_of(&world, pod->pod, pod->node);
	judge(&world, &vm, stay_of(&world, &vm), why);
	map_fini(&world.leaving);
	if (why->len == before) {
		check_pod(options->kubevirt, pod, why);
	}
	return why->len == before;
}

static const char *keep_words(struct plan_world *world,
	const struct buffer *why)
{
	if (why->len == 0) {
		return NULL;
	}
	world->words = xgrow(world->words, world->word_count,
		&world->word_capacity, sizeof(char *));
	world->words[world->word_count] = xstrndup(why->data, why->len);
	return world->words[world->word_count++];
}

/* The VM itself, not the room that is kept for it. */
static bool runs_vm(const struct plan_world *world, const struct pod *pod)
{
	const struct pod *cached;

	if (!pod->is_vm || pod->is_target || pod->is_provisional) {
		return false;
	}
	cached = cache_pod(world->options->cache, pod->uid);
	return cached != NULL && cached->original == NULL;
}

/* The pod of the copy gets the pods that KubeVirt would create next: the target
 * of a migration, unless `why` says already that the VM stays, and the pod of a
 * start, for which people alone ask. Appends why the target is not known. */
static void add_pods(struct plan_world *world, struct pod *pod,
	const struct node *node, struct buffer *why)
{
	scoped_buffer struct buffer words = BUFFER_MAX(WORDS_MAX);
	const struct kubevirt *kubevirt = world->options->kubevirt;
	struct plan_world_pods *pods = xcalloc(1, sizeof(*pods));

	world->pods = xgrow(world->pods, world->pods_count,
		&world->pods_capacity, sizeof(struct plan_world_pods *));
	world->pods[world->pods_count++] = pods;
	if (why->len == 0) {
		if (kubevirt_next_pod(kubevirt, &pods->migrated, pod,
			    &node->labels, &words)) {
			pod->migrated = &pods->migrated.pod;
		} else {
			buffer_printf(why, not_known, words.data);
		}
	}
	if (world->is_asked &&
		kubevirt_next_pod(kubevirt, &pods->restarted, pod, NULL,
			&words)) {
		pod->restarted = &pods->restarted.pod;
	}
}

static void add_vm(struct plan_world *world, struct pod *pod, size_t node)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WORDS_MAX);
	const struct node *at = world->copy.cluster.nodes[node];
	struct subject vm = subject_of(world, pod, at);
	enum stay stay = stay_of(world, &vm);

	judge(world, &vm, stay, &why);
	add_pods(world, pod, at, &why);
	world->vms = xgrow(world->vms, world->vm_count, &world->vm_capacity,
		sizeof(*world->vms));
	world->vms[world->vm_count++] = (struct plan_vm){ .pod = pod,
		.node = node,
		.why_not = keep_words(world, &why),
		.is_leaving = stay == LEAVES };
}

/* ---- a node ---- */

static void add_exclusion(struct plan_world *world, const struct node *node)
{
	struct kubevirt_node work;

	kubevirt_node(world->options->kubevirt, node->name, &work);
	world->exclusions = xgrow(world->exclusions, world->exclusion_count,
		&world->exclusion_capacity, sizeof(char *));
	world->exclusions[world->exclusion_count++] =
		node_exclusion(node, &work, world->now_us);
}

bool plan_world_next(struct plan_world *world)
{
	struct cluster_copy *copy = &world->copy;
	size_t node = copy->cluster.count;
	size_t first_pod = copy->pod_count;

	if (!cluster_copy_next(copy)) {
		return false;
	}
	if (copy->cluster.count == node) {
		return true;
	}
	add_exclusion(world, copy->cluster.nodes[node]);
	for (size_t i = first_pod; i < copy->pod_count; i++) {
		if (runs_vm(world, copy->pods[i])) {
			add_vm(world, copy->pods[i], node);
		}
	}
	return true;
}

struct plan_input plan_world_input(struct plan_world *world)
{
	static const struct filter_options filter = FILTER_DEFAULTS;

	return (struct plan_input){ .cluster = &world->copy.cluster,
		.filter = &filter,
		.vms = world->vms,
		.vm_count = world->vm_count,
		.exclusions = world->exclusions,
		.now_us = world->now_us,
		.max_moves = PLAN_MOVES,
		.max_load = PLAN_LOAD_MAX };
}

static bool free_words(struct plan_world *world)
{
	for (int i = 0; i < WORDS_STEP && world->word_count > 0; i++) {
		free(world->words[--world->word_count]);
	}
	return world->word_count > 0;
}

static bool free_pods(struct plan_world *world)
{
	for (int i = 0; i < WORDS_STEP && world->pods_count > 0; i++) {
		struct plan_world_pods *pods = world->pods[--world->pods_count];

		next_pod_fini(&pods->migrated);
		next_pod_fini(&pods->restarted);
		free(pods);
	}
	return world->pods_count > 0;
}

bool plan_world_free_next(struct plan_world *world)
{
	if (free_words(world) || free_pods(world) ||
		cluster_copy_free_next(&world->copy)) {
		return true;
	}
	free(world->vms);
	free(world->pods);
	free(world->words);
	free(world->exclusions);
	map_fini(&world->leaving);
	*world = (struct plan_world){ 0 };
	return false;
}
