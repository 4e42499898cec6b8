#include "scheduler/mover/not_movable.h"

#include "scheduler/kubevirt/movability.h"

#include <stdio.h>
#include <string.h>

static struct not_movable_vm *add(struct not_movable *held,
	const char *namespace, const char *name, const char *node)
{
	struct not_movable_vm *vm = &held->list[held->count++];

	vm->finds_no_node = false;
	(void)snprintf(vm->namespace, sizeof(vm->namespace), "%s", namespace);
	(void)snprintf(vm->vm, sizeof(vm->vm), "%s", name);
	(void)snprintf(vm->node, sizeof(vm->node), "%s", node);
	return vm;
}

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
	vm = add(held, vmi->namespace, vmi->name, vmi->node);
	(void)snprintf(vm->why, sizeof(vm->why), "%s%s",
		why != NULL ? why : "KubeVirt cannot migrate it: ",
		why != NULL			? ""
			: *vmi->why_not == '\0' ? "it gives no reason"
						: vmi->why_not);
}

/* held->count: it is not listed. */
static size_t find(const struct not_movable *held, const struct pod *pod)
{
	size_t i = 0;

	while (i < held->count &&
		(strcmp(held->list[i].vm, pod->vm_name) != 0 ||
			strcmp(held->list[i].namespace, pod->namespace) != 0)) {
		i++;
	}
	return i;
}

bool not_movable_may_list(const struct not_movable *held, const struct pod *pod)
{
	return held->count < NOT_MOVABLE_MAX && find(held, pod) == held->count;
}

void not_movable_note_demand(struct not_movable *held, const struct pod *pod,
	const struct node *node, const struct host_demand *demand)
{
	scoped_buffer struct buffer why = BUFFER_MAX(NOT_MOVABLE_WHY_MAX);
	const struct host_demand_counts counts = {
		.list = { { *demand, 1 } },
		.count = 1,
	};
	struct not_movable_vm *vm;

	if (!not_movable_may_list(held, pod)) {
		return;
	}
	vm = add(held, pod->namespace, pod->vm_name, node->name);
	vm->finds_no_node = true;
	buffer_text(&why, "");
	host_demand_tell_none(&why, &counts, true);
	(void)snprintf(vm->why, sizeof(vm->why), "%s", why.data);
}

void not_movable_forget_demand(struct not_movable *held, const struct pod *pod)
{
	size_t at = find(held, pod);

	if (at < held->count) {
		held->list[at] = held->list[--held->count];
	}
}

void not_movable_explain(const struct not_movable *held, bool names_vms,
	struct buffer *why)
{
	const struct not_movable_vm *vm = held->list;

	while (vm < held->list + held->count && !vm->finds_no_node) {
		vm++;
	}
	if (vm == held->list + held->count) {
		return;
	}
	buffer_text(why, ", and ");
	if (names_vms) {
		buffer_printf(why, "%s/%s", vm->namespace, vm->vm);
	} else {
		buffer_text(why, "a VM");
	}
	buffer_printf(why, " stays on %s: %s", vm->node, vm->why);
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
