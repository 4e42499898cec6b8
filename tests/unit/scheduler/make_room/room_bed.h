/* An urgent pod in a cluster of three nodes with 16 CPUs each: VMs a and b run
 * on node-1, c on node-2 and d on node-3. The pod needs a whole node. */
#pragma once

#include "lib/json.h"
#include "scheduler/cache/queue.h"
#include "scheduler/make_room/make_room.h"
#include "scheduler/mover/journal.h"
#include "scheduler/score/decide.h"
#include "tests/unit/scheduler/make_room/fake_planner.h"

enum { ROOM_TIMEOUT_S = 600, NODES = 3 };

static struct room_scene {
	struct queue queue;
	struct decision decision;
	struct make_room *room;
	unsigned wakes;
	char nominated[64]; /* the last one; "-": none was written */
	unsigned nominations;
	char reason[64], event[1024]; /* the last event of a pod */
	char message[8192];	      /* of the last attempt */
} room;

static const char *const homes[] = { "node-1", "node-1", "node-2", "node-3" };

void events_about_pod(struct events *events, const struct pod *pod,
	const struct events_pod *event, int64_t now_us)
{
	(void)events;
	(void)pod;
	(void)now_us;
	(void)snprintf(room.reason, sizeof(room.reason), "%s", event->reason);
	(void)snprintf(room.event, sizeof(room.event), "%s", event->note);
}

static inline void on_wake(void *owner, const char *pod_uid)
{
	(void)owner;
	room.wakes++;
	queue_hurry(&room.queue, pod_uid);
}

static inline void on_nominate(void *owner, const struct pod *pod,
	const char *node)
{
	(void)owner;
	(void)pod;
	room.nominations++;
	(void)snprintf(room.nominated, sizeof(room.nominated), "%s", node);
}

/* ---- the cluster ---- */

/* The VM of this letter runs on the node in the pod pod-NAME. */
static inline void put_vm_on(const char *vm, const char *name, const char *node)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-%s','namespace':'vms',"
		"'uid':'pod-%s','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%s'},"
		"'annotations':{'kubevirt.io/domain':'%s'}},'spec':{"
		"'nodeName':'%s','schedulerName':'plimsoll-scheduler',"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'800m','memory':'4Gi'}}}]},'status':{'phase':"
		"'Running'}}",
		name, name, vm, vm, node);

	cache_put_pod(&scene.cache, given_pod(scene.cache.interner, json),
		scene.now_us);
}

/* A pod on a node, of another scheduler. */
static inline void put_stranger(const char *name, const char *node,
	const char *cpu)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'other','uid':'%s'},"
		"'spec':{'nodeName':'%s','schedulerName':'default-scheduler',"
		"'containers':[{'name':'c','resources':{'requests':{'cpu':"
		"'%s','memory':'1Gi'}}}]},'status':{'phase':'Running'}}",
		name, name, node, cpu);

	cache_put_pod(&scene.cache, given_pod(scene.cache.interner, json),
		scene.now_us);
}

static inline void room_loads(void)
{
	put_load("node-1", NULL, 0, 0);
	put_load("node-2", NULL, 0, 0);
	put_load("node-3", NULL, 0, 0);
}

/* A pod that waits for a node; more: of its spec. */
static inline struct queued_pod *put_pending_with(const char *name,
	int priority, const char *cpu, const char *more)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},"
		"'spec':{%s'schedulerName':'plimsoll-scheduler','priority':%d,"
		"'containers':[{'name':'c','resources':{'requests':{'cpu':"
		"'%s'}}}]},'status':{'phase':'Pending'}}",
		name, name, more, priority, cpu);

	queue_put(&room.queue, given_pod(scene.cache.interner, json),
		scene.now_us);
	return queue_find(&room.queue, name);
}

static inline struct queued_pod *put_pending(const char *name, int priority,
	const char *cpu)
{
	return put_pending_with(name, priority, cpu, "");
}

/* ---- decisions ---- */

/* As the scheduling loop does: the pod is assumed, or its message is made.
 * Returns the node; NULL: none fits. */
static inline const char *attempt(const char *uid)
{
	struct queued_pod *queued = queue_find(&room.queue, uid);
	scoped_buffer struct buffer message = BUFFER_MAX(8192);
	const struct node *node;

	assert_non_null(queued);
	decide(&room.decision, queued->pod, &scene.cache.cluster,
		&(struct filter_options)FILTER_DEFAULTS, scene.now_us);
	node = decision_chosen(&room.decision);
	if (node != NULL) {
		make_room_placed(room.room, queued->pod);
		queue_set(&room.queue, queued, QUEUED_BINDING);
		cache_assume(&scene.cache, take_ptr(queued->pod), node->name,
			scene.now_us);
		return node->name;
	}
	decision_message(&message, &room.decision);
	make_room_unschedulable(room.room, queued, &room.decision, &message);
	queue_failed(&room.queue, queued, true, scene.now_us);
	(void)snprintf(room.message, sizeof(room.message), "%s", message.data);
	return NULL;
}

/* The API server confirms the binding. */
static inline void confirm(const char *uid)
{
	int64_t bound_us;
	struct pod *pod = cache_take_pod(&scene.cache, uid, &bound_us);

	assert_non_null(pod);
	free(pod->node_name);
	pod->node_name = xstrdup("node-1");
	queue_remove(&room.queue, uid);
	cache_put_pod(&scene.cache, pod, bound_us);
}

/* A second passes, and nothing is decided. */
static inline void pass_idly(void)
{
	scene.now_us += SECOND_US;
	if (scene.now_us / SECOND_US % 5 == 0) {
		room_loads();
	}
	for (size_t t = 0; t < scene.timer_count; t++) {
		fire(&scene.timers[t]);
	}
}

/* Seconds pass; searches end within one. Pods that are ready are tried. */
static inline void pass(unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		struct queued_pod *next[8];
		size_t count;

		pass_idly();
		fake_search(true);
		count = queue_next(&room.queue, next, 8, scene.now_us);
		for (size_t k = 0; k < count; k++) {
			(void)attempt(next[k]->pod->uid);
		}
	}
}

/* ---- KubeVirt ---- */

static char node_3[] = "node-3";

/* KubeVirt takes the last order, copies the VM and ends in this phase. */
static inline void finish_move(size_t vm, enum migration_phase phase,
	char *node)
{
	struct migration *migration;
	scoped_free char *target = xasprintf("%s-moved", names[vm]);
	scoped_free char *uid = xasprintf("pod-%s", names[vm]);

	fake_kubevirt.migration_count = 0;
	migration = fake_migration(namespace, names[vm], MIGRATION_RUNNING);
	fake_kubevirt.options.on_ordered(fake_kubevirt.options.owner,
		fake_kubevirt.move_id, migration->name, "");
	tell(migration, &fake_kubevirt.vmis[vm]);
	migration->phase = phase;
	if (phase == MIGRATION_SUCCEEDED) {
		fake_kubevirt.vmis[vm].node = node;
		put_vm_on(names[vm], target, node);
		(void)cache_remove_pod(&scene.cache, uid);
	}
	tell(migration, &fake_kubevirt.vmis[vm]);
}

/* ---- life ---- */

static inline void room_start(enum mover_mode mode)
{
	scene.timer_count = 0;
	scene.mover = mover_new(&(struct mover_options){
		.cache = &scene.cache,
		.reservations = &scene.reservations,
		.upload = (struct record_upload *)&scene,
		.events = (struct events *)&scene,
		.scheduler_name = "plimsoll-scheduler",
		.mode = MOVER_OFF,
		.room_mode = mode,
		.price = 0.2,
		.windows = &scene.windows,
		.windows_text = "",
		.is_synced = always,
		.leads = leads,
	});
	room.room = make_room_new(&(struct make_room_options){
		.cache = &scene.cache,
		.queue = &room.queue,
		.reservations = &scene.reservations,
		.mover = scene.mover,
		.planner = &fake_planner,
		.mode = mode,
		.timeout_us = ROOM_TIMEOUT_S * SECOND_US,
		.leads = leads,
		.wake = on_wake,
		.nominate = on_nominate,
	});
}

static inline void room_stop(void)
{
	fake_search(false);
	make_room_close(room.room);
	mover_close(scene.mover);
}

static inline int room_setup(void **state)
{
	char *const nodes[] = { node_1, node_1, node_2, node_3 };

	(void)state;
	log_setup(LOG_TEXT, LOG_ERROR);
	fake_reset();
	scene = (struct scene){ .now_us = 1000 * SECOND_US,
		.has_history = true,
		.leads = true };
	room = (struct room_scene){ .nominated = "-" };
	fake_planner = (struct planner){ .sentence = "" };
	queue_init(&room.queue);
	cache_init(&scene.cache);
	reservations_init(&scene.reservations, &scene.cache);
	assert_int_equal(windows_parse(&scene.windows, "", NULL), 0);
	put_node("node-1");
	put_node("node-2");
	put_node("node-3");
	for (size_t i = 0; i < count_of(homes); i++) {
		put_vm_on(names[i], names[i], homes[i]);
		fake_vmi(names[i], uids[i], nodes[i])->namespace = namespace;
	}
	room_loads();
	return 0;
}

static inline int room_teardown(void **state)
{
	(void)state;
	room_stop();
	decision_fini(&room.decision);
	queue_fini(&room.queue);
	reservations_fini(&scene.reservations);
	cache_fini(&scene.cache);
	return 0;
}

/* Two steps after which node-1 is empty. */
static inline void plan_two(void)
{
	plan_for("node-1", "moving vms/a and vms/b");
	plan_step("a", "node-1", "node-2");
	plan_step("b", "node-1", "node-3");
}

/* ---- what can be seen ---- */

static inline struct make_room_stats stats(void)
{
	struct make_room_stats out;

	make_room_stats(room.room, &out);
	return out;
}

static inline void assert_in(const char *text, const char *part)
{
	given_check(strstr(text, part) != NULL, text);
}

static inline void assert_not_in(const char *text, const char *part)
{
	given_check(strstr(text, part) == NULL, text);
}

static inline void assert_listed(const char *part)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct json j = json_into(&out);

	json_object(&j, NULL);
	make_room_describe(room.room, &j);
	json_object_end(&j);
	assert_in(out.data, part);
}

static inline size_t count_records(enum move_state state)
{
	const struct move_book *book =
		&mover_parts(scene.mover).journal->book;
	const struct move_record *record;
	size_t count = 0;
	size_t at = 0;

	while ((record = move_book_next(book, &at)) != NULL) {
		count += record->state == state;
	}
	return count;
}

static inline bool is_held(const char *uid)
{
	return map_get(&scene.cache.nominated_pods, uid) != NULL;
}
