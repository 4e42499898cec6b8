/* Pods and loads of the cluster in tests of making room. */
#pragma once

#include "tests/unit/scheduler/make_room/room_world.h"

/* The VM of this letter runs on the node in the pod pod-NAME. */
static inline void put_vm_since(const char *vm, const char *name,
	const char *node, int64_t bound_us)
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
		bound_us);
}

static inline void put_vm_on(const char *vm, const char *name, const char *node)
{
	put_vm_since(vm, name, node, now_us());
}

/* The VM has run for long. */
static inline void put_old_vm(size_t vm, char *node)
{
	put_vm_since(names[vm], names[vm], node, -3600 * SECOND_US);
	fake_vmi(names[vm], uids[vm], node)->namespace = namespace;
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
		now_us());
}

/* Agents see the VMs of pods called pod-NAME. */
static inline void room_load(const char *name)
{
	const struct node *node = cache_node(&scene.cache, name);
	const char *vms[VMS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < node->vms.count && count < VMS_MAX; i++) {
		const char *uid = node->vms.list[i].uid;

		if (strncmp(uid, "pod-", 4) == 0) {
			vms[count++] = uid + 4;
		}
	}
	put_load(name, vms, count, 0.1);
}

static inline void room_loads(void)
{
	room_load("node-1");
	room_load("node-2");
	room_load("node-3");
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

	queue_put(&room.queue, given_pod(scene.cache.interner, json), now_us());
	return queue_find(&room.queue, name);
}

static inline struct queued_pod *put_pending(const char *name, int priority,
	const char *cpu)
{
	return put_pending_with(name, priority, cpu, "");
}
