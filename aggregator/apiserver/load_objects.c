#include "aggregator/apiserver/load_objects.h"

#include "aggregator/apiserver/heat.h"
#include "lib/memory.h"
#include "proto/kvm_state.h"

#include <math.h>

#define AT(type, member) offsetof(struct type, member)
#define API_MODEL(fields_, type)                                               \
	{                                                                      \
		fields_, count_of(fields_), sizeof(struct type)                \
	}

/* ---- NodeLoad ---- */

/* The rows of one group of LOAD_FIELDS. */
#define LOAD_ROW(group, field, help)                                           \
	{                                                                      \
#field, API_MODEL_NUMBER, AT(node_load, group##_##field),      \
			NULL, help                                             \
	}

#define CPU_cpu(...) __VA_ARGS__,
#define CPU_memory(...)
#define CPU_io(...)
#define MEMORY_cpu(...)
#define MEMORY_memory(...) __VA_ARGS__,
#define MEMORY_io(...)
#define IO_cpu(...)
#define IO_memory(...)
#define IO_io(...) __VA_ARGS__,

static const struct api_model_field cpu_fields[] = {
#define X(group, field, metric, ...)                                           \
	CPU_##group(LOAD_ROW(group, field, __VA_ARGS__))
	LOAD_FIELDS(X)
#undef X
};

static const struct api_model_field memory_fields[] = {
#define X(group, field, metric, ...)                                           \
	MEMORY_##group(LOAD_ROW(group, field, __VA_ARGS__))
	LOAD_FIELDS(X)
#undef X
};

static const struct api_model_field io_fields[] = {
#define X(group, field, metric, ...)                                           \
	IO_##group(LOAD_ROW(group, field, __VA_ARGS__))
	LOAD_FIELDS(X)
#undef X
};

static const struct api_model_field hugepages_fields[] = {
	{ "size_bytes", API_MODEL_COUNT, AT(hugepages, size_bytes), NULL,
		"Size of a page" },
	{ "total", API_MODEL_COUNT, AT(hugepages, total), NULL,
		"Pages of this size" },
	{ "free", API_MODEL_COUNT, AT(hugepages, free), NULL,
		"Pages of this size that are not in use" },
};

static const struct api_model_field kvm_fields[] = {
	{ "state", API_MODEL_TEXT, AT(kvm_object, state), NULL,
		"What the last test of KVM found: Ok, Unverified, Missing, "
		"ApiMismatch, CreateFailed or RunFailed" },
	{ "detail", API_MODEL_TEXT, AT(kvm_object, detail), NULL,
		"The failure in words" },
};

static const struct api_model cpu_model = API_MODEL(cpu_fields, node_load);
static const struct api_model memory_model =
	API_MODEL(memory_fields, node_load);
static const struct api_model io_model = API_MODEL(io_fields, node_load);
static const struct api_model hugepages_model =
	API_MODEL(hugepages_fields, hugepages);
static const struct api_model kvm_model = API_MODEL(kvm_fields, kvm_object);

static const struct api_model_field node_status_fields[] = {
	{ "state", API_MODEL_TEXT, AT(node_object, state), NULL,
		"How old the figures are: Fresh, Stale or Lost" },
	{ "age_seconds", API_MODEL_NUMBER, AT(node_object, age_seconds), NULL,
		"Age of the newest sample" },
	{ "hottest", API_MODEL_TEXT, AT(node_object, hottest), NULL,
		"The resource with the largest share in use: cpu, memory, io "
		"or kvm" },
	{ "heat", API_MODEL_NUMBER, AT(node_object, heat), NULL,
		"That share, from 0 to 1" },
	{ "vm_count", API_MODEL_COUNT, AT(node_object, vm_count), NULL,
		"VM pods on the node" },
	{ "cpu", API_MODEL_OBJECT, AT(node_object, load), &cpu_model,
		"Use of CPUs, and waiting for them" },
	{ "memory", API_MODEL_OBJECT, AT(node_object, load), &memory_model,
		"Use of memory, and waiting for it" },
	{ "io", API_MODEL_OBJECT, AT(node_object, load), &io_model,
		"Waiting for I/O" },
	{ "hugepages", API_MODEL_LIST, AT(node_object, hugepages),
		&hugepages_model, "Huge pages by size" },
	{ "kvm", API_MODEL_OBJECT, AT(node_object, kvm), &kvm_model,
		"Whether VMs can run" },
};

static const struct api_model node_status_model =
	API_MODEL(node_status_fields, node_object);

static const struct api_model_field node_fields[] = {
	{ "timestamp", API_MODEL_TIME, AT(node_object, timestamp_us), NULL,
		"When the newest sample was taken" },
	{ "status", API_MODEL_OBJECT, 0, &node_status_model,
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
	{ #field, API_MODEL_NUMBER, AT(type, load.field), NULL, help },

static const struct api_model_field vm_pod_fields[] = {
	{ "uid", API_MODEL_CHARS, AT(vm_pod_object, load.pod_uid), NULL,
		"uid of the launcher pod" },
	{ "node_name", API_MODEL_TEXT, AT(vm_pod_object, node_name), NULL,
		"Node of the pod" },
	{ "state", API_MODEL_TEXT, AT(vm_pod_object, state), NULL,
		"How old the figures are: Fresh, Stale or Lost" },
	{ "age_seconds", API_MODEL_NUMBER, AT(vm_pod_object, age_seconds), NULL,
		"Age of the newest sample" },
#define X(field, metric, help) VM_ROW(vm_pod_object, field, help)
	VM_LOAD_FIELDS(X)
#undef X
};

static const struct api_model vm_pod_model =
	API_MODEL(vm_pod_fields, vm_pod_object);

static const struct api_model_field vm_spec_fields[] = {
	{ "node_name", API_MODEL_TEXT, AT(vm_object, node_name), NULL,
		"Node of the VM; while it moves, the one it leaves" },
};

static const struct api_model_field vm_status_fields[] = {
	{ "state", API_MODEL_TEXT, AT(vm_object, state), NULL,
		"How old the figures are: Fresh, Stale or Lost" },
	{ "age_seconds", API_MODEL_NUMBER, AT(vm_object, age_seconds), NULL,
		"Age of the newest sample" },
#define X(field, metric, help) VM_ROW(vm_object, field, help)
	VM_LOAD_FIELDS(X)
#undef X
		{ "pods", API_MODEL_LIST, AT(vm_object, pod_list),
			&vm_pod_model,
			"The launcher pods: two while the VM moves, the source "
			"first" },
};

static const struct api_model vm_spec_model =
	API_MODEL(vm_spec_fields, vm_object);
static const struct api_model vm_status_model =
	API_MODEL(vm_status_fields, vm_object);

static const struct api_model_field vm_fields[] = {
	{ "timestamp", API_MODEL_TIME, AT(vm_object, timestamp_us), NULL,
		"When the newest sample was taken" },
	{ "spec", API_MODEL_OBJECT, 0, &vm_spec_model, "Where the VM runs" },
	{ "status", API_MODEL_OBJECT, 0, &vm_status_model,
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

/* The sum of the known ones. */
static double add(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

void vm_object_end(struct vm_object *object, uint64_t wall_us)
{
	const struct vm_pod_object *source = &object->pods[0];
	struct vm_load *sum = &object->load;

	vm_load_init(sum);
	for (size_t i = 0; i < object->pod_list.count; i++) {
		const struct vm_load *load = &object->pods[i].load;

		sum->used_cores = add(sum->used_cores, load->used_cores);
		sum->used_cores_5m =
			add(sum->used_cores_5m, load->used_cores_5m);
		sum->memory_bytes = add(sum->memory_bytes, load->memory_bytes);
		sum->swap_bytes = add(sum->swap_bytes, load->swap_bytes);
		sum->contention = fmax(sum->contention, load->contention);
		sum->memory_pressure =
			fmax(sum->memory_pressure, load->memory_pressure);
		sum->io_pressure = fmax(sum->io_pressure, load->io_pressure);
	}
	object->pod_list.items = object->pods;
	object->node_name = source->node_name;
	object->state = source->state;
	object->age_seconds = source->age_seconds;
	object->timestamp_us = wall_us - (uint64_t)(source->age_seconds * 1e6);
}
