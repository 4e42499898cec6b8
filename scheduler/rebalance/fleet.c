#include "scheduler/rebalance/fleet.h"

#include <stdlib.h>

#include "lib/memory.h"
#include "scheduler/forecast/model.h"
#include "scheduler/forecast/shortage.h"

void fleet_clear(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->node_count; i++) {
		kin_sums_fini(&fleet->nodes[i].kin);
	}
	fleet->node_count = 0;
	fleet->vm_count = 0;
}

void fleet_fini(struct fleet *fleet)
{
	fleet_clear(fleet);
	free(fleet->nodes);
	free(fleet->vms);
	*fleet = (struct fleet){ 0 };
}

/* VMs are added node by node, and a round has thousands of them. */
static void update_shortage(struct fleet_node *node)
{
	const struct kin_excess *kin = &node->kin.excess;

	node->shortage =
		shortage_expected(node->mean, node->variance + kin->variance,
			node->third + kin->third, node->cores);
}

static struct kin_vm kin_of(const struct fleet_vm *vm)
{
	return (struct kin_vm){ vm->kin, vm->rho, vm->vcpus, vm->variance };
}

struct fleet_node *fleet_add_node(struct fleet *fleet, const struct node *node,
	double cores, double base_cores)
{
	double uncertainty = MODEL_UNCERTAINTY * cores;
	struct fleet_node *added;

	fleet->nodes = xgrow(fleet->nodes, fleet->node_count,
		&fleet->node_capacity, sizeof(*fleet->nodes));
	added = &fleet->nodes[fleet->node_count++];
	*added = (struct fleet_node){
		.node = node,
		.cores = cores,
		.used_cores = base_cores,
		.mean = base_cores,
		.variance = uncertainty * uncertainty,
		.first_vm = fleet->vm_count,
		.may_give = true,
		.may_take = true,
	};
	update_shortage(added);
	return added;
}

/* Adds the VM to the node's sums, or removes it with sign -1. */
static void count_vm(struct fleet_node *node, const struct fleet_vm *vm,
	int sign)
{
	const struct kin_vm kin = kin_of(vm);

	node->used_cores += sign * vm->used_cores;
	node->mean += sign * vm->cores;
	node->variance += sign * vm->variance;
	node->third += sign * vm->third;
	if (sign > 0) {
		kin_sums_add(&node->kin, &kin);
	} else {
		kin_sums_remove(&node->kin, &kin);
	}
	update_shortage(node);
}

struct fleet_vm *fleet_add_vm(struct fleet *fleet, const struct fleet_vm *vm)
{
	struct fleet_node *node = &fleet->nodes[fleet->node_count - 1];
	struct fleet_vm *added;

	fleet->vms = xgrow(fleet->vms, fleet->vm_count, &fleet->vm_capacity,
		sizeof(*fleet->vms));
	added = &fleet->vms[fleet->vm_count++];
	*added = *vm;
	added->node = fleet->node_count - 1;
	node->vm_count++;
	count_vm(node, added, 1);
	return added;
}

double fleet_shortage_without(const struct fleet_node *node,
	const struct fleet_vm *vm)
{
	const struct kin_vm one = kin_of(vm);
	const struct kin_excess kin = kin_sums_without(&node->kin, &one);

	return shortage_expected(node->mean - vm->cores,
		node->variance - vm->variance + kin.variance,
		node->third - vm->third + kin.third, node->cores);
}

double fleet_shortage_with(const struct fleet_node *node,
	const struct fleet_vm *vm)
{
	const struct kin_vm one = kin_of(vm);
	const struct kin_excess kin = kin_sums_with(&node->kin, &one);

	return shortage_expected(node->mean + vm->cores,
		node->variance + vm->variance + kin.variance,
		node->third + vm->third + kin.third, node->cores);
}

void fleet_apply(struct fleet *fleet, const struct fleet_move *move)
{
	struct fleet_vm *vm = &fleet->vms[move->vm];

	count_vm(&fleet->nodes[vm->node], vm, -1);
	count_vm(&fleet->nodes[move->target], vm, 1);
	vm->may_move = false;
}
