#include "proto/wire.h"

#include "lib/memory.h"
#include "proto/wire_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct wire_field load_wire_fields[] = {
#define X(group, field, ...)                                                   \
	WIRE_FIELD(Plimsoll__NodeLoad, node_load, DOUBLE, group##_##field),
	LOAD_FIELDS(X)
#undef X
};

static const struct wire_field vm_load_fields[] = {
#define X(field, ...) WIRE_FIELD(Plimsoll__VmLoad, vm_load, DOUBLE, field),
	VM_LOAD_FIELDS(X)
#undef X
};

/* A node, and everything its message points to. */
struct wire_load {
	Plimsoll__NodeLoad load;
	struct wire_hugepages huge;
	char detail[LOAD_KVM_DETAIL_MAX];
	Plimsoll__VmLoad *vms;
	Plimsoll__VmLoad **pointers;
	char (*uids)[REPORT_UID_MAX];
};

static void put_vms(struct wire_load *wire, const struct node_load *ours)
{
	wire->vms = xcalloc(ours->vm_count, sizeof(*wire->vms));
	wire->pointers = xcalloc(ours->vm_count, sizeof(Plimsoll__VmLoad *));
	wire->uids = xcalloc(ours->vm_count, sizeof(*wire->uids));
	for (size_t i = 0; i < ours->vm_count; i++) {
		const struct vm_load *vm = &ours->vms[i];

		plimsoll__vm_load__init(&wire->vms[i]);
		memcpy(wire->uids[i], vm->pod_uid, sizeof(vm->pod_uid));
		wire->vms[i].pod_uid = wire->uids[i];
		wire->vms[i].namespace_ = vm->namespace;
		wire->vms[i].name = vm->name;
		wire_put_fields(&wire->vms[i], vm, WIRE_TABLE(vm_load_fields));
		wire->pointers[i] = &wire->vms[i];
	}
	wire->load.n_vms = ours->vm_count;
	wire->load.vms = wire->pointers;
}

static void put_load(struct wire_load *wire, const struct node_load *ours)
{
	Plimsoll__NodeLoad *load = &wire->load;

	plimsoll__node_load__init(load);
	memcpy(wire->detail, ours->kvm_detail, sizeof(wire->detail));
	load->name = ours->name;
	load->has_age_us = true;
	load->age_us = ours->age_us;
	load->has_interval_ms = true;
	load->interval_ms = ours->interval_ms;
	load->has_kvm_state = true;
	load->kvm_state = (Plimsoll__KvmState)ours->kvm_state;
	load->kvm_detail = wire->detail[0] == '\0' ? NULL : wire->detail;
	wire_hugepages_put(&wire->huge, ours->hugepages, ours->hugepages_count);
	load->n_hugepages = ours->hugepages_count;
	load->hugepages = wire->huge.pointers;
	wire_put_fields(load, ours, WIRE_TABLE(load_wire_fields));
	put_vms(wire, ours);
}

static void wire_load_fini(struct wire_load *wire)
{
	free(wire->vms);
	free(wire->pointers);
	free(wire->uids);
}

/* Sizes of the encoding (protobuf.dev/programming-guides/encoding): a tag has 2
 * bytes at most, the length of a text or message 5, a double 8, another number
 * 10. */
enum { TAG = 2, LENGTH = 5, DOUBLE = 8, NUMBER = 10 };

static size_t text_bytes(const char *text)
{
	return text == NULL ? 0 : TAG + LENGTH + strlen(text);
}

size_t wire_node_load_bytes(const struct node_load *load)
{
	size_t numbers = 3; /* age, interval and KVM state */
	size_t bytes = TAG + LENGTH + text_bytes(load->name) +
		text_bytes(load->kvm_detail) +
		count_of(load_wire_fields) * (TAG + DOUBLE);

	numbers += load->hugepages_count * 4;
	bytes += load->hugepages_count * (TAG + LENGTH);
	for (size_t i = 0; i < load->vm_count; i++) {
		const struct vm_load *vm = &load->vms[i];

		bytes += TAG + LENGTH + text_bytes(vm->pod_uid) +
			text_bytes(vm->namespace) + text_bytes(vm->name) +
			count_of(vm_load_fields) * (TAG + DOUBLE);
	}
	return bytes + numbers * (TAG + NUMBER);
}

void wire_pack_snapshot(struct buffer *out, const struct snapshot *snapshot)
{
	Plimsoll__Snapshot wire = PLIMSOLL__SNAPSHOT__INIT;
	struct wire_load *loads = xcalloc(snapshot->count, sizeof(*loads));
	scoped_free Plimsoll__NodeLoad **pointers =
		xcalloc(snapshot->count, sizeof(Plimsoll__NodeLoad *));

	for (size_t i = 0; i < snapshot->count; i++) {
		put_load(&loads[i], &snapshot->nodes[i]);
		pointers[i] = &loads[i].load;
	}
	wire.has_epoch = true;
	wire.epoch = snapshot->epoch;
	wire.has_rev = true;
	wire.rev = snapshot->rev;
	wire.has_full = true;
	wire.full = snapshot->full;
	wire.n_nodes = snapshot->count;
	wire.nodes = pointers;
	wire_append_as(out, PLIMSOLL__REPLY__KIND_SNAPSHOT, &wire.base);
	for (size_t i = 0; i < snapshot->count; i++) {
		wire_load_fini(&loads[i]);
	}
	free(loads);
}

/* As wire_get_name(), but the name may be missing. */
static int get_optional_name(const char **out, const char *text,
	const char *what, struct error *err)
{
	char name[REPORT_NODE_MAX];
	int r;

	if (text == NULL || *text == '\0') {
		return 0;
	}
	r = wire_get_name(name, sizeof(name), text, what, err);
	*out = r == 0 ? text : NULL;
	return r;
}

static int get_vm(struct vm_load *ours, struct vm_name *vm_name,
	const Plimsoll__VmLoad *wire, struct error *err)
{
	int r;

	vm_load_init(ours);
	r = wire_get_name(ours->pod_uid, sizeof(ours->pod_uid), wire->pod_uid,
		"pod_uid", err);
	if (r == 0) {
		r = get_optional_name(&vm_name->namespace, wire->namespace_,
			"namespace", err);
	}
	if (r == 0) {
		r = get_optional_name(&vm_name->name, wire->name, "name", err);
	}
	return r == 0
		? wire_get_fields(ours, wire, WIRE_TABLE(vm_load_fields), err)
		: r;
}

static int get_vms(struct node_load *ours, const Plimsoll__NodeLoad *wire,
	struct error *err)
{
	scoped_free struct vm_name *names = NULL;
	int r = 0;

	if (wire->n_vms > REPORT_VMS_MAX) {
		return error_set(err, -EBADMSG,
			"%zu VMs on a node are too many", wire->n_vms);
	}
	names = xcalloc(wire->n_vms, sizeof(*names));
	ours->vms = xcalloc(wire->n_vms, sizeof(*ours->vms));
	ours->vm_count = wire->n_vms;
	for (size_t i = 0; r == 0 && i < wire->n_vms; i++) {
		r = get_vm(&ours->vms[i], &names[i], wire->vms[i], err);
	}
	node_load_name_vms(ours, names);
	return r;
}

static int get_load(struct node_load *ours, const Plimsoll__NodeLoad *wire,
	struct error *err)
{
	char name[REPORT_NODE_MAX];
	int r;

	node_load_init(ours);
	r = wire_get_name(name, sizeof(name), wire->name, "node", err);
	if (r == 0) {
		ours->name = xstrdup(name);
		r = wire_check_enum((int)wire->kvm_state, KVM_STATES - 1,
			"kvm state", err);
	}
	ours->kvm_state = (enum kvm_state)wire->kvm_state;
	/* A sample without an age has the greatest age. */
	ours->age_us = wire->has_age_us && wire->age_us < WIRE_TIME_MAX_US
		? wire->age_us
		: WIRE_TIME_MAX_US;
	ours->interval_ms = wire->interval_ms;
	wire_get_shown(ours->kvm_detail, sizeof(ours->kvm_detail),
		wire->kvm_detail);
	if (r == 0) {
		r = wire_hugepages_get(ours->hugepages, &ours->hugepages_count,
			wire->hugepages, wire->n_hugepages, err);
	}
	if (r == 0) {
		r = wire_get_fields(ours, wire, WIRE_TABLE(load_wire_fields),
			err);
	}
	return r == 0 ? get_vms(ours, wire, err) : r;
}

int wire_snapshot_from(struct snapshot *out, const Plimsoll__Snapshot *wire,
	struct error *err)
{
	struct snapshot snapshot = {
		.epoch = wire->epoch,
		.rev = wire->rev,
		.full = wire->full != 0,
	};
	int r = 0;

	if (wire->n_nodes > WIRE_NODES_MAX) {
		return error_set(err, -EBADMSG,
			"%zu nodes in a snapshot are too many", wire->n_nodes);
	}
	snapshot.nodes = xcalloc(wire->n_nodes, sizeof(*snapshot.nodes));
	while (r == 0 && snapshot.count < wire->n_nodes) {
		r = get_load(&snapshot.nodes[snapshot.count],
			wire->nodes[snapshot.count], err);
		snapshot.count++;
	}
	if (r < 0) {
		snapshot_fini(&snapshot);
		return r;
	}
	*out = snapshot;
	return 0;
}

void snapshot_fini(struct snapshot *snapshot)
{
	if (snapshot == NULL) {
		return;
	}
	for (size_t i = 0; i < snapshot->count; i++) {
		node_load_fini(&snapshot->nodes[i]);
	}
	free(snapshot->nodes);
	*snapshot = (struct snapshot){ 0 };
}
