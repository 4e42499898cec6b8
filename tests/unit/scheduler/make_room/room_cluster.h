/* Pods and loads of the cluster in tests of making room. */
#pragma once

#include "tests/unit/scheduler/make_room/room_world.h"

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
