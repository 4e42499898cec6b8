/* Objects of KubeVirt, as an array. Each element is a state of an object, in
 * the order of a watch; {"gone": UID} ends one. */
#include "kube/json_value.h"
#include "lib/buffer.h"
#include "scheduler/kubevirt/inventory.h"
#include "scheduler/kubevirt/kubevirt_version.h"
#include "scheduler/kubevirt/migration_policies.h"
#include "scheduler/objects/consent.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct interner *interner;
	struct cluster cluster;
	struct inventory inventory;
	struct migration_policies policies;
	size_t told;
};

static void on_migration(void *owner, const struct migration *migration,
	const struct vmi *vmi)
{
	struct world *world = owner;

	assert(*migration->name != '\0' && *migration->vmi_name != '\0');
	assert(migration->is_ours == (*migration->move_id != '\0'));
	world->told += strlen(migration->source) + strlen(migration->target) +
		(vmi == NULL ? 0
			     : strlen(vmi_last_migration(vmi)->failure_reason));
}

static void on_gone(void *owner, const struct migration *migration)
{
	struct world *world = owner;

	world->told += strlen(migration->uid);
}

static void check_version(const struct json_value *object)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);
	struct kubevirt_version version;
	bool may_order;

	kubevirt_version_read(&version, object);
	may_order = kubevirt_version_may_order(&version, &why);
	assert(may_order == (why.len == 0) && !why.overflowed);
	(void)may_order;
	assert(version.limits.bytes_per_second >= 0);
}

static void check_limits(struct world *world)
{
	struct migration_limits limits = migration_limits_default;
	size_t at = 0;
	void *value;

	while (map_next(&world->inventory.vmis, &at, NULL, &value)) {
		const struct vmi *vmi = value;

		migration_policies_apply(&world->policies, &limits,
			&vmi->labels, &vmi->labels);
		assert(limits.per_cluster == 5 && limits.out_of_node == 2);
	}
}

/* Every unfinished migration is found by its VMI. Ours are counted, and those
 * that have begun. */
static void check_counts(struct world *world)
{
	const struct migration *migration;
	size_t at = 0, count = 0, out = 0;
	void *value;

	while ((migration = inventory_next_migration(&world->inventory, &at)) !=
		NULL) {
		if (!migration_is_finished(migration)) {
			count += migration->is_ours ||
				migration->phase != MIGRATION_PENDING;
			assert(inventory_migration_of(&world->inventory,
				       migration->namespace,
				       migration->vmi_name) != NULL);
		}
	}
	assert(inventory_unfinished(&world->inventory) >= count);
	at = 0;
	while (map_next(&world->inventory.counters.nodes, &at, NULL, &value)) {
		const struct kubevirt_node *node = value;

		assert(node->foreign_out <=
			inventory_foreign(&world->inventory));
		assert(node->foreign_in <=
			inventory_foreign(&world->inventory));
		out += node->out;
	}
	assert(out <= inventory_unfinished(&world->inventory));
	(void)out;
}

/* The API server admits no such namespace. */
static bool has_slash(const struct json_value *object)
{
	return strchr(json_value_text_at(object, "metadata/namespace", ""),
		       '/') != NULL;
}

static void feed_pod(struct world *world, const struct json_value *object)
{
	struct target_pod pod;

	if (target_pod_read(&pod, object)) {
		inventory_put_pod(&world->inventory,
			json_value_text_at(object, "metadata/uid", ""), &pod);
	}
}

static void feed(struct world *world, const struct json_value *object)
{
	const char *gone = json_value_text(json_value_get(object, "gone"));
	struct error err = { 0 };
	int failures = 0;

	if (gone != NULL) {
		inventory_remove_vmi(&world->inventory, gone);
		inventory_remove_migration(&world->inventory, gone);
		inventory_remove_pod(&world->inventory, gone);
		migration_policies_remove(&world->policies, gone);
		return;
	}
	if (has_slash(object)) {
		return;
	}
	feed_pod(world, object);
	failures +=
		inventory_put_migration(&world->inventory, object, 1, &err) < 0;
	failures += inventory_put_vmi(&world->inventory, object, 1, &err) < 0;
	failures += migration_policies_put(&world->policies, object, &err) < 0;
	assert(failures == 0 || *err.text != '\0');
	(void)consent_read(json_value_at(object, "metadata/annotations"));
	check_version(object);
	check_counts(world);
}

static void world_init(struct world *world)
{
	world->interner = interner_new();
	cluster_init(&world->cluster, world->interner);
	world->policies.interner = world->interner;
	inventory_init(&world->inventory, &world->cluster,
		&(struct inventory_handler){ on_migration, on_gone, NULL,
			world });
}

static void world_fini(struct world *world)
{
	inventory_fini(&world->inventory);
	migration_policies_fini(&world->policies);
	cluster_fini(&world->cluster);
	interner_free(world->interner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world = { 0 };
	struct json_value *root = NULL;
	const struct json_value *at;

	if (json_value_parse(&root, (const char *)data, size, NULL) < 0) {
		return 0;
	}
	world_init(&world);
	for (at = json_value_first(root); at != NULL;
		at = json_value_next(at)) {
		feed(&world, at);
	}
	check_limits(&world);
	inventory_expire(&world.inventory, 1 + INVENTORY_SETTLE_US);
	check_counts(&world);
	world_fini(&world);
	json_value_free(root);
	return 0;
}
