#include "scheduler/launcher/launcher_vm.h"

#include "lib/buffer.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/launcher/value_json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- the parts ---- */

struct packing {
	struct json j;
	bool is_whole;
};

static void pack(struct packing *p, const struct json_value *from,
	const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct json_value *v = json_value_get(from, keys[i]);

		if (p->is_whole && v != NULL && !json_value_is_null(v)) {
			p->is_whole = value_json_write(&p->j, keys[i], v);
		}
	}
}

/* It is there, and what it says does not matter here. */
static void pack_presence(struct packing *p, const char *key)
{
	json_object(&p->j, key);
	json_object_end(&p->j);
}

/* The names of devices do not matter here, but their number does. */
static void pack_device(struct packing *p, const struct json_value *device)
{
	static const char *const members[] = { "model", "binding",
		"passtBinding" };

	json_object(&p->j, NULL);
	pack(p, device, members, count_of(members));
	if (json_value_get(device, "sriov") != NULL) {
		pack_presence(p, "sriov");
	}
	json_object_end(&p->j);
}

static void pack_devices(struct packing *p, const struct json_value *devices)
{
	static const char *const keys[] = { "autoattachGraphicsDevice",
		"autoattachPodInterface", "tpm" };
	static const char *const lists[] = { "gpus", "hostDevices",
		"interfaces" };

	json_object(&p->j, "devices");
	pack(p, devices, keys, count_of(keys));
	for (size_t i = 0; i < count_of(lists); i++) {
		const struct json_value *v =
			json_value_first(json_value_get(devices, lists[i]));

		json_array(&p->j, lists[i]);
		for (; v != NULL; v = json_value_next(v)) {
			pack_device(p, v);
		}
		json_array_end(&p->j);
	}
	json_object_end(&p->j);
}

static void pack_boot(struct packing *p, const struct json_value *domain)
{
	if (json_value_is_object(
		    json_value_at(domain, "firmware/kernelBoot/container"))) {
		json_object(&p->j, "firmware");
		json_object(&p->j, "kernelBoot");
		pack_presence(p, "container");
		json_object_end(&p->j);
		json_object_end(&p->j);
	}
}

static void pack_domain(struct packing *p, const struct json_value *domain)
{
	static const char *const keys[] = { "cpu", "memory", "resources",
		"machine", "launchSecurity", "ioThreads", "ioThreadsPolicy" };
	static const char *const features[] = { "hyperv" };

	json_object(&p->j, "domain");
	pack(p, domain, keys, count_of(keys));
	json_object(&p->j, "features");
	pack(p, json_value_get(domain, "features"), features, 1);
	json_object_end(&p->j);
	pack_boot(p, domain);
	pack_devices(p, json_value_get(domain, "devices"));
	json_object_end(&p->j);
}

static void pack_probes(struct packing *p, const struct json_value *spec)
{
	static const char *const names[] = { "livenessProbe",
		"readinessProbe" };

	for (size_t i = 0; i < count_of(names); i++) {
		if (json_value_get(json_value_get(spec, names[i]), "exec") !=
			NULL) {
			json_object(&p->j, names[i]);
			pack_presence(p, "exec");
			json_object_end(&p->j);
		}
	}
}

/* A volume matters by its kind, if it is one of these. */
static void pack_volume(struct packing *p, const struct json_value *volume)
{
	static const char *const kinds[] = { "downwardMetrics",
		"containerDisk" };

	for (size_t i = 0; i < count_of(kinds); i++) {
		if (json_value_get(volume, kinds[i]) != NULL) {
			json_object(&p->j, NULL);
			pack_presence(p, kinds[i]);
			json_object_end(&p->j);
		}
	}
}

static void pack_volumes(struct packing *p, const struct json_value *spec)
{
	const struct json_value *v =
		json_value_first(json_value_get(spec, "volumes"));

	json_array(&p->j, "volumes");
	for (; v != NULL; v = json_value_next(v)) {
		pack_volume(p, v);
	}
	json_array_end(&p->j);
}

static bool has_label_keys(const struct json_value *spec)
{
	const struct json_value *v = json_value_first(
		json_value_get(spec, "topologySpreadConstraints"));

	while (v != NULL && json_value_get(v, "matchLabelKeys") == NULL) {
		v = json_value_next(v);
	}
	return v != NULL;
}

/* Terms of pod affinity are about the pod's namespace, and matchLabelKeys about
 * its labels. Others do not keep VMs from sharing their parts. */
static void pack_meta(struct packing *p, const struct json_value *meta,
	const struct json_value *spec)
{
	static const char *const namespace[] = { "namespace" };
	static const char *const labels[] = { "labels" };
	const struct json_value *affinity = json_value_get(spec, "affinity");

	json_object(&p->j, "metadata");
	if (json_value_get(affinity, "podAffinity") != NULL ||
		json_value_get(affinity, "podAntiAffinity") != NULL) {
		pack(p, meta, namespace, 1);
	}
	if (has_label_keys(spec)) {
		pack(p, meta, labels, 1);
	}
	json_bool(&p->j, "completesParity",
		json_value_get(json_value_get(meta, "annotations"),
			LAUNCHER_PARITY) != NULL);
	json_object_end(&p->j);
}

static void pack_spec(struct packing *p, const struct json_value *spec)
{
	static const char *const keys[] = { "architecture", "nodeSelector",
		"affinity", "tolerations", "topologySpreadConstraints" };

	json_object(&p->j, "spec");
	pack(p, spec, keys, count_of(keys));
	pack_domain(p, json_value_get(spec, "domain"));
	pack_probes(p, spec);
	pack_volumes(p, spec);
	json_object_end(&p->j);
}

static void pack_status(struct packing *p, const struct json_value *status)
{
	static const char *const keys[] = { "machine", "topologyHints",
		"currentCPUTopology" };
	static const char *const memory[] = { "guestCurrent" };

	json_object(&p->j, "status");
	pack(p, status, keys, count_of(keys));
	json_object(&p->j, "memory");
	pack(p, json_value_get(status, "memory"), memory, 1);
	json_object_end(&p->j);
	json_object_end(&p->j);
}

static uint32_t parts_of(struct interner *interner,
	const struct json_value *object)
{
	scoped_buffer struct buffer text = BUFFER_MAX(LAUNCHER_VM_MAX);
	struct packing p = { .j = json_into(&text), .is_whole = true };
	const struct json_value *spec = json_value_get(object, "spec");

	json_object(&p.j, NULL);
	pack_meta(&p, json_value_get(object, "metadata"), spec);
	pack_spec(&p, spec);
	pack_status(&p, json_value_get(object, "status"));
	json_object_end(&p.j);
	return !p.is_whole || text.overflowed
		? 0
		: interner_hold(interner, text.data);
}

/* ---- hotplugged claims ---- */

static bool status_is_hotplugged(const struct json_value *status,
	const char *name)
{
	const struct json_value *v =
		json_value_first(json_value_get(status, "volumeStatus"));

	while (v != NULL &&
		(strcmp(json_value_text_at(v, "name", ""), name) != 0 ||
			json_value_get(v, "hotplugVolume") == NULL)) {
		v = json_value_next(v);
	}
	return v != NULL;
}

/* hotplugVolumes() of services/rendervolumes.go. The launcher pod has no such
 * volume. */
static bool is_hotplugged(const struct json_value *volume,
	const struct json_value *status)
{
	return json_value_true(
		       json_value_at(volume, "dataVolume/hotpluggable")) ||
		json_value_true(json_value_at(volume,
			"persistentVolumeClaim/hotpluggable")) ||
		status_is_hotplugged(status,
			json_value_text_at(volume, "name", ""));
}

static char *hotplugged_of(const struct json_value *object)
{
	scoped_buffer struct buffer names = BUFFER_MAX(LAUNCHER_VM_MAX);
	const struct json_value *v =
		json_value_first(json_value_at(object, "spec/volumes"));

	for (; v != NULL; v = json_value_next(v)) {
		const char *claim = json_value_text_at(v, "dataVolume/name",
			json_value_text_at(v, "persistentVolumeClaim/claimName",
				json_value_text_at(v, "memoryDump/claimName",
					"")));

		if (*claim != '\0' &&
			is_hotplugged(v, json_value_get(object, "status"))) {
			buffer_printf(&names, "%s\n", claim);
		}
	}
	return names.len == 0 ? NULL : buffer_take(&names, NULL);
}

void launcher_vm_read(struct launcher_vm *out, struct interner *interner,
	const struct json_value *object)
{
	*out = (struct launcher_vm){
		.parts = parts_of(interner, object),
		.hotplugged = hotplugged_of(object),
	};
}

void launcher_vm_fini(struct launcher_vm *vm, struct interner *interner)
{
	interner_drop(interner, vm->parts);
	free(vm->hotplugged);
	*vm = (struct launcher_vm){ 0 };
}
