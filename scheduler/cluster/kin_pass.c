#include "scheduler/cluster/kin_pass.h"

/* A VM that is on its way here is idle, and one that the last load of its node
 * does not list did not deviate now. */
static void read_node(struct kin_pass *pass, const struct node_vms *vms,
	int64_t now_us)
{
	model_add_peers(&pass->peers, &vms->seen);
	model_add_peers(&pass->peers, &vms->unseen);
	for (size_t i = 0; i < vms->count; i++) {
		const struct node_vm *vm = &vms->list[i];

		if (vm->kin_keys.by[0] != 0 && !vm->is_dedicated &&
			!vm->is_arriving && vm->charge.is_seen &&
			now_us - vm->model.observed_us < KIN_PASS_US) {
			kin_table_add(&pass->next, &vm->kin_keys, &vm->model);
		}
	}
}

static void begin(struct kin_pass *pass, const struct cluster *cluster)
{
	kin_table_begin(&pass->next, &cluster->kin);
	pass->peers = (struct model_sum){ 0 };
	pass->node = 0;
	pass->is_reading = true;
}

/* From now on the cluster knows it, and its nodes are told. */
static void end_reading(struct kin_pass *pass, struct cluster *cluster,
	int64_t now_us)
{
	const struct kin_table old = cluster->kin;

	kin_table_end(&pass->next, model_prior(&pass->peers), now_us);
	cluster->kin = pass->next;
	pass->next = old; /* its memory */
	pass->node = 0;
	pass->is_reading = false;
	pass->is_telling = true;
}

bool kin_pass_next(struct kin_pass *pass, struct cluster *cluster,
	int64_t now_us)
{
	size_t end = pass->node + KIN_PASS_SLICE;

	if (!pass->is_reading && !pass->is_telling) {
		if (now_us - cluster->kin.learnt_us < KIN_PASS_US) {
			return false;
		}
		begin(pass, cluster);
		return true;
	}
	for (; pass->node < end && pass->node < cluster->count; pass->node++) {
		struct node_vms *vms = &cluster->nodes[pass->node]->vms;

		if (pass->is_reading) {
			read_node(pass, vms, now_us);
		} else {
			node_vms_learn_kin(vms, &cluster->kin);
		}
	}
	if (pass->node < cluster->count) {
		return true;
	}
	if (pass->is_reading) {
		end_reading(pass, cluster, now_us);
		return true;
	}
	pass->is_telling = false;
	return false;
}

void kin_pass_fini(struct kin_pass *pass)
{
	kin_table_fini(&pass->next);
	*pass = (struct kin_pass){ 0 };
}
