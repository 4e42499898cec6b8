/* A cluster for tests of what fits. */
#pragma once

#include "lib/json.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/make_room/room_fits.h"
#include "scheduler/plan/plan.h"
#include "tests/support/golden.h"
#include "tests/unit/scheduler/given.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

/* The memory of a launcher pod without huge pages beside the guest. */
#define LAUNCHER_BYTES(vcpus) ((280 + 8 * (vcpus)) * MIB + 35000000)

struct room_world {
	struct interner *interner; /* borrowed */
	struct cluster cluster;
	struct filter_options filter;
	struct plan_input input;
};

/* A node's allocatable. */
struct room_node {
	const char *name;
	int64_t cpu_milli, memory_bytes;
	int64_t pages_2mi, pages_1gi; /* bytes */
	bool is_for_dedicated, is_not_for_vms;
	int pods; /* 0: 110 */
};

static inline void world_init(struct room_world *world,
	struct interner *interner)
{
	*world = (struct room_world){ .filter = FILTER_DEFAULTS };
	world->interner = interner;
	cluster_init(&world->cluster, interner);
	world->input = (struct plan_input){
		.cluster = &world->cluster,
		.filter = &world->filter,
		.now_us = 1000000,
		.max_moves = PLAN_MOVES,
		.max_load = PLAN_LOAD_MAX,
	};
}

/* The interner stays. */
static inline void world_fini(struct room_world *world)
{
	cluster_fini(&world->cluster);
}

static inline struct node *world_add(struct room_world *world,
	struct room_node node)
{
	scoped_free char *json = xasprintf(
		"{'metadata':{'name':'%s','labels':{"
		"'kubernetes.io/hostname':'%s','kubevirt.io/schedulable':'%s',"
		"'kubevirt.io/cpumanager':'%s'}},'status':{'allocatable':{"
		"'cpu':'%lldm','memory':'%lld','ephemeral-storage':'1Ti',"
		"'hugepages-2Mi':'%lld','hugepages-1Gi':'%lld','pods':'%d',"
		"'devices.kubevirt.io/kvm':'1k','devices.kubevirt.io/tun':"
		"'1k','devices.kubevirt.io/vhost-net':'1k'}}}",
		node.name, node.name, node.is_not_for_vms ? "false" : "true",
		node.is_for_dedicated ? "true" : "false",
		(long long)node.cpu_milli, (long long)node.memory_bytes,
		(long long)node.pages_2mi, (long long)node.pages_1gi,
		node.pods != 0 ? node.pods : 110);
	struct node *added = given_node(world->interner, json);

	cluster_add_node(&world->cluster, added);
	return added;
}

/* The whole answer, for the golden section of the test. */
static inline void fits_tell(const struct room_fits *fits)
{
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 18);
	struct json j = json_into(&text);

	json_object(&j, NULL);
	room_fits_write(fits, &j);
	json_object_end(&j);
	golden_tell("%s\n", text.data);
}
