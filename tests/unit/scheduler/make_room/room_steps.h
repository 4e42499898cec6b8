/* Decisions, seconds that pass, and moves that end, in tests of making room. */
#pragma once

#include "tests/unit/scheduler/make_room/room_cluster.h"

/* ---- decisions ---- */

/* As the scheduling loop does: the pod is assumed, or its message is made.
 * Returns the node; NULL: none fits. */
static inline const char *attempt(const char *uid)
{
	struct queued_pod *queued = queue_find(&room.queue, uid);
	scoped_buffer struct buffer message = BUFFER_MAX(8192);
	scoped_buffer struct buffer record = BUFFER_MAX(8192);
	const struct node *node;

	assert_non_null(queued);
	decide(&room.decision, queued->pod, &scene.cache.cluster,
		&(struct filter_options)FILTER_DEFAULTS, now_us());
	node = decision_chosen(&room.decision);
	if (node != NULL) {
		make_room_placed(room.room, queued->pod, node->name);
		queue_set(&room.queue, queued, QUEUED_BINDING);
		cache_assume(&scene.cache, take_ptr(queued->pod), node->name,
			now_us());
		return node->name;
	}
	decision_message(&message, &room.decision);
	buffer_text(&record, message.data);
	make_room_unschedulable(room.room, queued, &room.decision, &message,
		&record);
	queue_failed(&room.queue, queued, true, now_us());
	(void)snprintf(room.message, sizeof(room.message), "%s", message.data);
	(void)snprintf(room.record, sizeof(room.record), "%s", record.data);
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
	fake_clock_move(SECOND_US);
	if (now_us() / SECOND_US % 5 == 0) {
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
		count = queue_next(&room.queue, next, 8, now_us());
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
