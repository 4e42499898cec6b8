/* Namespaces with and without the label, for tests. */
#pragma once

#include "scheduler/cluster/cluster.h"
#include "tests/unit/scheduler/given.h"

static inline void given_namespace(struct cluster *cluster, const char *name,
	const char *label)
{
	scoped_free char *text =
		xasprintf("{'metadata':{'name':'%s','labels':{'a':'b'%s%s%s}}}",
			name, label == NULL ? "" : ",'plimsoll.io/schedule':'",
			label == NULL ? "" : label, label == NULL ? "" : "'");
	struct json_value *object = given_json(text);
	struct error err = { 0 };

	given_check(cluster_put_object(cluster, CLUSTER_NAMESPACES, object,
			    &err) == 0,
		err.text);
	json_value_free(object);
}

/* A VM's pod with this scheduler and these further labels. */
static inline struct json_value *given_launcher(const char *scheduler,
	const char *labels)
{
	scoped_free char *text = xasprintf(
		"{'metadata':{'name':'p','labels':{'kubevirt.io':"
		"'virt-launcher'%s}},'spec':{'schedulerName':'%s'}}",
		labels, scheduler);

	return given_json(text);
}

/* A VM's pod with default-scheduler and a resource claim. */
static inline struct json_value *given_claiming(void)
{
	return given_json(
		"{'metadata':{'name':'p','labels':{'kubevirt.io':"
		"'virt-launcher'}},'spec':{'schedulerName':"
		"'default-scheduler','resourceClaims':[{'name':'gpu'}]}}");
}
