/* The scheduler's memory for VirtualMachineInstances: 150,000 of 5,000 nodes,
 * before and after each was migrated once. No I/O. */
#include "lib/memory.h"
#include "scheduler/kubevirt/inventory.h"
#include "tests/bench/heap.h"
#include "tests/unit/scheduler/given.h"

enum { NODES = 5000, VMS = 150000 };

/* As virt-controller has it, but for the parts that nobody keeps. */
static const char vmi_text[] =
	"{'metadata':{'namespace':'tenant-%d','name':'vm-%d','uid':"
	"'5b99336b-6d2a-4afd-9a3d-%012d','labels':{'app':'app-%d',"
	"'kubevirt.io/nodeName':'node-%d','kubevirt.io/vm':'vm-%d'}},"
	"'spec':{'architecture':'amd64','domain':{'cpu':{'cores':4,"
	"'model':'host-model'},'memory':{'guest':'8Gi'},'machine':{'type':"
	"'q35'},'devices':{'disks':[{'name':'root','disk':{'bus':'virtio'}}],"
	"'interfaces':[{'name':'default','masquerade':{}}]}},'networks':[{"
	"'name':'default','pod':{}}],'volumes':[{'name':'root',"
	"'dataVolume':{'name':'root-%d'}}],'evictionStrategy':'LiveMigrate'},"
	"'status':{'phase':'Running','nodeName':'node-%d','conditions':[{"
	"'type':'LiveMigratable','status':'True'}],'migrationMethod':"
	"'LiveMigration','activePods':{'01f28597-e908-4564-917f-%012d':"
	"'node-%d'}%s}}";

static const char migrated_text[] =
	",'migrationState':{'completed':true,'migrationUid':"
	"'6b641e05-19bc-45d0-afe0-59506461f626','sourceNode':'node-1234',"
	"'targetNode':'node-2345','startTimestamp':'2026-11-20T10:51:32Z',"
	"'endTimestamp':'2026-11-20T10:51:42Z'}";

static void on_change(void *owner, const char *namespace, const char *uid)
{
	(void)owner;
	(void)namespace;
	(void)uid;
}

static void put(struct inventory *inventory, int i, const char *state)
{
	int node = i % NODES;
	scoped_free char *text = xasprintf(vmi_text, i % 300, i, i, i % 2000,
		node, i, i, node, i, node, state);
	struct json_value *object = given_json(text);

	assert_int_equal(inventory_put_vmi(inventory, object, 1, NULL), 0);
	json_value_free(object);
}

static void measure(struct inventory *inventory, const char *state,
	const char *what, size_t before)
{
	double bytes;

	for (int i = 0; i < VMS; i++) {
		put(inventory, i, state);
	}
	bytes = (double)(heap_bytes() - before);
	(void)printf("%d VMIs %s: %.1f MB, %.0f bytes each\n", VMS, what,
		bytes / 1e6, bytes / VMS);
}

int main(void)
{
	struct interner *interner = interner_new();
	struct cluster cluster;
	struct inventory inventory;
	const struct inventory_handler handler = { .on_vmi = on_change };
	size_t before;

	cluster_init(&cluster, interner);
	inventory_init(&inventory, &cluster, &handler);
	before = heap_bytes();
	measure(&inventory, "", "that never migrated", before);
	measure(&inventory, migrated_text, "that migrated once", before);
	inventory_fini(&inventory);
	cluster_fini(&cluster);
	interner_free(interner);
	return 0;
}
