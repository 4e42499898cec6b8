/* Pods and nodes for tests, from JSON with single quotes. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lib/files.h"
#include "lib/memory.h"
#include "scheduler/cluster/node.h"
#include "scheduler/objects/pod.h"
#include "tests/support/given_json.h"
#include "tests/unit/scheduler/given_load.h"

#define GIVEN_DIR "tests/fixtures/kubevirt/"

static inline struct json_value *given_file(const char *name)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	struct json_value *value = NULL;
	struct error err;

	if (file_read(&text, name, &err) < 0 ||
		json_value_parse(&value, text.data, text.len, &err) < 0) {
		fail_msg("%s: %s", name, err.text);
	}
	return value;
}

/* Frees value. */
static inline struct pod *given_pod_of(struct interner *interner,
	struct json_value *value)
{
	struct pod *pod = NULL;
	struct error err;

	if (pod_new(&pod, interner, value, POD_UNSCHEDULED, &err) < 0) {
		fail_msg("%s", err.text);
	}
	json_value_free(value);
	return pod;
}

static inline struct pod *given_pod(struct interner *interner, const char *json)
{
	return given_pod_of(interner, given_json(json));
}

/* A pod called p with this spec. */
static inline struct pod *given_spec(struct interner *interner,
	const char *spec)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'p','namespace':'ns','uid':'u'},"
		"'spec':%s}",
		spec);

	return given_pod(interner, json);
}

static inline struct node *given_node(struct interner *interner,
	const char *json)
{
	struct json_value *value = given_json(json);
	struct node *node = NULL;
	struct error err;

	if (node_new(&node, interner, value, &err) < 0) {
		fail_msg("%s", err.text);
	}
	json_value_free(value);
	return node;
}

/* 16 CPUs, 64 GiB, 110 pods and 1000 kvm devices. */
static inline struct node *given_plain_node(struct interner *interner,
	const char *name)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s'},'status':{'allocatable':{"
		"'cpu':'16','memory':'64Gi','pods':'110',"
		"'devices.kubevirt.io/kvm':'1k'}}}",
		name);

	return given_node(interner, json);
}

/* A VM with this number of vCPUs and 4 GiB. */
static inline struct pod *given_vm(struct interner *interner, const char *name,
	int vcpus)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','namespace':'vms','uid':'uid-%s',"
		"'labels':{'kubevirt.io':'virt-launcher'}},'spec':{"
		"'containers':[{'name':'compute','resources':{'requests':{"
		"'cpu':'%dm','memory':'4Gi','devices.kubevirt.io/"
		"kvm':'1'}}}]}}",
		name, name, vcpus * 100);

	return given_pod(interner, json);
}
