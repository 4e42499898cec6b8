#include "aggregator/apiserver/load_objects.h"

#include "lib/memory.h"
#include "proto/kvm_state.h"

#include <math.h>

/* ---- NodeLoad ---- */

#define LOAD_ROW(group, field, metric, help)                                   \
	{ API_NAMED(field, NUMBER, node_load, group##_##field), help },

static const struct api_model_field cpu_fields[] = { CPU_LOAD_FIELDS(
	LOAD_ROW) };
static const struct api_model_field memory_fields[] = { MEMORY_LOAD_FIELDS(
	LOAD_ROW) };
static const struct api_model_field io_fields[] = { IO_LOAD_FIELDS(LOAD_ROW) };

static const struct api_model_field hugepages_fields[] = {
	{ API_FIELD(COUNT, hugepages, size_bytes), "Size of a page" },
	{ API_FIELD(COUNT, hugepages, total), "Pages of this size" },
	{ API_FIELD(COUNT, hugepages, free),
		"Pages of this size that are not in use" },
	{ API_FIELD(COUNT, hugepages, reserved),
		"Pages of them that are reserved but not yet in use" },
};

static const struct api_model_field kvm_fields[] = {
	{ API_FIELD(TEXT, kvm_object, state),
		"What the last test of KVM found: Ok, Unverified, Missing, "
		"ApiMismatch, CreateFailed or RunFailed" },
	{ API_FIELD(TEXT, kvm_object, detail), "The failure in words" },
};

static const struct api_model cpu_model = API_MODEL(cpu_fields, node_load);
static const struct api_model memory_model =
	API_MODEL(memory_fields, node_load);
static const struct api_model io_model = API_MODEL(io_fields, node_load);
static const struct api_model hugepages_model =
	API_MODEL(hugepages_fields, hugepages);
static const struct api_model kvm_model = API_MODEL(kvm_fields, kvm_object);

static const struct api_model_field node_status_fields[] = {
	{ API_FIELD(TEXT, node_object, state),
		"How old the figures are: Fresh, Stale or Lost" },
	{ API_FIELD(NUMBER, node_object, age_seconds),
		"Age of the newest sample" },
	{ API_FIELD(TEXT, node_object, hottest),
		"The resource with the largest share in use: cpu, memory, io "
		"or kvm" },
	{ API_FIELD(NUMBER, node_object, heat), "That share, from 0 to 1" },
	{ API_FIELD(COUNT, node_object, vm_count), "VM pods on the node" },
	{ API_NESTED(cpu, OBJECT, node_object, load, &cpu_model),
		"Use of CPUs, and waiting for them" },
	{ API_NESTED(memory, OBJECT, node_object, load, &memory_model),
		"Use of memory, and waiting for it" },
	{ API_NESTED(io, OBJECT, node_object, load, &io_model),
		"Waiting for I/O" },
	{ API_NESTED(hugepages, LIST, node_object, hugepages, &hugepages_model),
		"Huge pages by size" },
	{ API_NESTED(kvm, OBJECT, node_object, kvm, &kvm_model),
		"Whether VMs can run" },
};

static const struct api_model node_status_model =
	API_MODEL(node_status_fields, node_object);

static const struct api_model_field node_fields[] = {
	{ API_NAMED(timestamp, TIME, node_object, timestamp_us),
		"When the newest sample was taken" },
	{ API_PART(status, &node_status_model),
		"The load of the node. A figure that is not known is left "
		"out" },
};

const struct api_model node_model = API_MODEL(node_fields, node_object);

const char *load_state_word(enum load_state state)
{
	static const char *const words[] = { "Fresh", "Stale", "Lost" };

	return words[state];
}

static const char *kvm_word(enum kvm_state state)
{
	static const char *const words[KVM_STATES] = { "Unverified", "Ok",
		"Missing", "ApiMismatch", "CreateFailed", "RunFailed" };

	return words[state];
}

/* Bursts and rounding can exceed the whole. */
static double share_of(double part, double whole)
{
	return whole > 0 ? fmin(fmax(part / whole, 0), 1) : NAN;
}

struct heat heat_of(const struct node_load *load)
{
	double used = load->memory_total_bytes - load->memory_available_bytes;
	bool has_kvm =
		load->kvm_state == KVM_OK || load->kvm_state == KVM_UNVERIFIED;
	const struct heat all[] = {
		{ "cpu",
			fmax(share_of(load->cpu_used_cores_10s,
				     load->cpu_cores),
				load->cpu_contention) },
		{ "memory",
			fmax(share_of(used, load->memory_total_bytes),
				load->memory_pressure_full_60s) },
		{ "io", load->io_pressure_full_60s },
		{ "kvm", has_kvm ? NAN : 1 },
	};
	struct heat hottest = { NULL, NAN };

	for (size_t i = 0; i < count_of(all); i++) {
		if (!isnan(all[i].share) &&
			(hottest.resource == NULL ||
				all[i].share > hottest.share)) {
			hottest = all[i];
		}
	}
	return hottest;
}

void node_object_fill(struct node_object *out, const struct live_node *node,
	uint64_t now_us, uint64_t wall_us)
{
	struct heat heat;

	*out = (struct node_object){ 0 };
	live_node_figures(&out->load, node, now_us);
	heat = heat_of(&out->load);
	out->timestamp_us = wall_us - out->load.age_us;
	out->state = load_state_word(
		load_state(out->load.age_us, out->load.interval_ms));
	out->age_seconds = (double)out->load.age_us / 1e6;
	out->hottest = heat.resource;
	out->heat = heat.share;
	out->vm_count = live_node_vms(node);
	out->hugepages = (struct api_model_list){ out->load.hugepages,
		out->load.hugepages_count };
	out->kvm = (struct kvm_object){ kvm_word(out->load.kvm_state),
		out->load.kvm_detail };
}

void node_object_fini(struct node_object *object)
{
	node_load_fini(&object->load);
}

/* ---- VmLoad ---- */

#define VM_ROW(type, field, help)                                              \
	{ API_NAMED(field, NUMBER, type, load.field), help },

static const struct api_model_field vm_pod_fields[] = {
	{ API_NAMED(uid, CHARS, vm_pod_object, load.pod_uid),
		"uid of the launcher pod" },
	{ API_FIELD(TEXT, vm_pod_object, node_name), "Node of the pod" },
	{ API_FIELD(TEXT, vm_pod_object, state),
		"How old the figures are: Fresh, Stale or Lost" },
	{ API_FIELD(NUMBER, vm_pod_object, age_seconds),
		"Age of the newest sample" },
#define X(field, metric, help) VM_ROW(vm_pod_object, field, help)
	VM_LOAD_FIELDS(X)
#undef X
};

static const struct api_model vm_pod_model =
	API_MODEL(vm_pod_fields, vm_pod_object);

static const struct api_model_field vm_spec_fields[] = {
	{ API_FIELD(TEXT, vm_object, node_name),
		"Node of the VM; while it moves, the one it leaves" },
};

static const struct api_model_field vm_status_fields[] = {
	{ API_FIELD(TEXT, vm_object, state),
		"How old the figures are: Fresh, Stale or Lost" },
	{ API_FIELD(NUMBER, vm_object, age_seconds),
		"Age of the newest sample" },
#define X(field, metric, help) VM_ROW(vm_object, field, help)
	VM_LOAD_FIELDS(X)
#undef X
		{ API_FIELD(COUNT, vm_object, reachable_nodes),
			"Other nodes that could take the VM if they were "
			"empty" },
	{ API_NESTED(pods, LIST, vm_object, pod_list, &vm_pod_model),
		"The launcher pods: two while the VM moves, the source "
		"first" },
};

static const struct api_model vm_spec_model =
	API_MODEL(vm_spec_fields, vm_object);
static const struct api_model vm_status_model =
	API_MODEL(vm_status_fields, vm_object);

static const struct api_model_field vm_fields[] = {
	{ API_NAMED(timestamp, TIME, vm_object, timestamp_us),
		"When the newest sample was taken" },
	{ API_PART(spec, &vm_spec_model), "Where the VM runs" },
	{ API_PART(status, &vm_status_model),
		"The load of the VM: sums over its pods, and the larger one "
		"of shares. A figure that is not known is left out" },
};

const struct api_model vm_model = API_MODEL(vm_fields, vm_object);

void vm_object_add(struct vm_object *object, const struct live_node *node,
	size_t i, uint64_t now_us)
{
	struct vm_pod_object *pod = &object->pods[object->pod_list.count];
	uint64_t age_us = live_node_age_us(node, now_us);

	if (object->pod_list.count == VM_OBJECT_PODS) {
		return;
	}
	object->pod_list.count++;
	live_node_vm(&pod->load, node, i);
	pod->node_name = live_node_name(node);
	pod->state = load_state_word(
		load_state(age_us, live_node_interval_ms(node)));
	pod->age_seconds = (double)age_us / 1e6;
}

/* The sum of amounts that are known, and the larger of shares. */
static double join_GAUGE(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

static double join_RATIO(double a, double b)
{
	return fmax(a, b);
}

void vm_object_end(struct vm_object *object, uint64_t wall_us)
{
	const struct vm_pod_object *source = &object->pods[0];
	struct vm_load *sum = &object->load;

	vm_load_init(sum);
	for (size_t i = 0; i < object->pod_list.count; i++) {
		const struct vm_load *load = &object->pods[i].load;

#define X(field, metric, help)                                                 \
	sum->field = join_##metric(sum->field, load->field);
		VM_LOAD_FIELDS(X)
#undef X
	}
	object->pod_list.items = object->pods;
	object->reachable_nodes = REPORT_UNKNOWN;
	object->node_name = source->node_name;
	object->state = source->state;
	object->age_seconds = source->age_seconds;
	object->timestamp_us = wall_us - (uint64_t)(source->age_seconds * 1e6);
}
