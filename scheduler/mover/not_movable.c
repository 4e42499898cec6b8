#include "scheduler/mover/not_movable.h"

#include "scheduler/kubevirt/movability.h"

#include <stdio.h>

void not_movable_note(struct not_movable *held, const struct vmi *vmi,
	const struct cache *cache)
{
	struct not_movable_vm *vm;
	const char *why;

	if (vmi == NULL || held->count == NOT_MOVABLE_MAX) {
		return;
	}
	why = movability_forbidden(vmi, cache_node(cache, vmi->node),
		&cache->cluster);
	if (why == NULL && vmi->copies_disks) {
		why = "KubeVirt would copy its disks as well "
		      "(BlockMigration)";
	}
	if (why == NULL && vmi->is_migratable) {
		return;
	}
	vm = &held->list[held->count++];
	(void)snprintf(vm->namespace, sizeof(vm->namespace), "%s",
		vmi->namespace);
	(void)snprintf(vm->vm, sizeof(vm->vm), "%s", vmi->name);
	(void)snprintf(vm->node, sizeof(vm->node), "%s", vmi->node);
	(void)snprintf(vm->why, sizeof(vm->why), "%s%s",
		why != NULL ? why : "KubeVirt cannot migrate it: ",
		why != NULL			? ""
			: *vmi->why_not == '\0' ? "it gives no reason"
						: vmi->why_not);
}

void not_movable_write(struct json *j, const struct not_movable *held)
{
	json_array(j, "held_back");
	for (size_t i = 0; i < held->count; i++) {
		json_object(j, NULL);
		json_string(j, "namespace", held->list[i].namespace);
		json_string(j, "vm", held->list[i].vm);
		json_string(j, "node", held->list[i].node);
		json_string(j, "why", held->list[i].why);
		json_object_end(j);
	}
	json_array_end(j);
}
