/* The nodes and launcher pods of the cluster in tests of the mover. */
#pragma once

#include "tests/unit/scheduler/mover/mover_world.h"

/* labels: "'zone':'1',". */
static inline void put_labelled_node(const char *name, const char *labels)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','labels':{%s'kubernetes.io/hostname':"
		"'host-%s'}},'status':{'allocatable':{'cpu':'16','memory':"
		"'64Gi','pods':'110','devices.kubevirt.io/kvm':'1k'}}}",
		name, labels, name);
	struct json_value *object = given_json(json);
	bool changed;

	assert_int_equal(
		cache_put_node(&scene.cache, &changed, object, now_us(), NULL),
		0);
	json_value_free(object);
}

static inline void put_node(const char *name)
{
	put_labelled_node(name, "");
}

static inline void put_new_vm(const char *name, const char *node,
	const char *scheduler, int64_t bound_us)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-%s','namespace':'vms',"
		"'uid':'pod-%s','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%s'},"
		"'annotations':{'kubevirt.io/domain':'%s'}},'spec':{"
		"'nodeName':'%s','schedulerName':'%s','containers':[{'name':"
		"'compute','resources':{'requests':{'cpu':'800m','memory':"
		"'4Gi','devices.kubevirt.io/kvm':'1'}}}]},"
		"'status':{'phase':'Running'}}",
		name, name, name, name, node, scheduler);

	cache_put_pod(&scene.cache, given_pod(scene.cache.interner, json),
		bound_us);
}

static inline void put_vm(const char *name, const char *node,
	const char *scheduler)
{
	put_new_vm(name, node, scheduler, -3600 * SECOND_US);
}

/* A target pod of the VM's migration, bound to the node, before the handoff. */
static inline void put_target(const char *name, const char *node)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'target-%s','namespace':'vms',"
		"'uid':'target-%s','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%s',"
		"'kubevirt.io/migrationJobUID':'x'},'annotations':{"
		"'kubevirt.io/domain':'%s'}},'spec':{'nodeName':'%s',"
		"'schedulerName':'plimsoll-scheduler','containers':[{'name':"
		"'compute','resources':{'requests':{'cpu':'800m'}}}]},"
		"'status':{'phase':'Running'}}",
		name, name, name, name, node);

	cache_put_pod(&scene.cache, given_pod(scene.cache.interner, json),
		now_us());
}

/* The same VM in the target pod of an earlier migration to the node. */
static inline void put_migrated(const char *name, const char *node)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'launcher-%s','namespace':'vms',"
		"'uid':'pod-%s','labels':{'kubevirt.io':'virt-launcher',"
		"'kubevirt.io/created-by':'vmi-%s',"
		"'kubevirt.io/migrationJobUID':'x'},'annotations':{"
		"'kubevirt.io/domain':'%s',"
		"'kubevirt.io/migration-target-ready-timestamp':'x'}},"
		"'spec':{'nodeName':'%s','nodeSelector':{"
		"'kubernetes.io/hostname':'host-%s'},'schedulerName':"
		"'plimsoll-scheduler','containers':[{'name':'compute',"
		"'resources':{'requests':{'cpu':'800m'}}}]},"
		"'status':{'phase':'Running'}}",
		name, name, name, name, node, node);

	cache_put_pod(&scene.cache, given_pod(scene.cache.interner, json),
		-3600 * SECOND_US);
}
