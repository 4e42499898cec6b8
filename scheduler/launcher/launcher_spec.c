#include "scheduler/launcher/launcher_spec.h"

#include "lib/memory.h"
#include "scheduler/launcher/launcher_beside.h"
#include "scheduler/launcher/launcher_constraints.h"
#include "scheduler/launcher/launcher_derivation.h"
#include "scheduler/launcher/launcher_devices.h"
#include "scheduler/launcher/launcher_vm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { POD_MAX = 2 << 20 };

/* ---- metadata ---- */

static void write_meta(struct derivation *d, struct json *j, const char *prefix)
{
	scoped_free char *name = xasprintf("%s%s", prefix, d->name);
	bool is_pod = d->spec->kind == LAUNCHER_SPEC_POD;

	json_object(j, "metadata");
	json_string(j, "name", name);
	json_string(j, "namespace", d->spec->namespace);
	json_string(j, "uid", "~asked");
	json_object(j, "labels");
	derivation_copy_members(d, j, json_value_get(d->meta, "labels"));
	if (!is_pod) {
		json_string(j, "kubevirt.io", "virt-launcher");
	}
	json_object_end(j);
	json_object(j, "annotations");
	derivation_copy_members(d, j, json_value_get(d->meta, "annotations"));
	if (!is_pod) {
		json_string(j, "kubevirt.io/domain", d->name);
	}
	json_object_end(j);
	json_object_end(j);
}

/* ---- containers ---- */

static void write_requests(struct derivation *d, struct json *j)
{
	json_object(j, "requests");
	launcher_amount_write(j, "cpu", d->amounts.micro, "u");
	launcher_amount_write(j, "memory", d->amounts.bytes, "");
	launcher_amount_write(j, "ephemeral-storage",
		LAUNCHER_EPHEMERAL_BYTES + d->reading.ephemeral_bytes, "");
	if (d->reading.pages != NULL) {
		char key[32];

		(void)snprintf(key, sizeof(key), "hugepages-%s",
			d->reading.pages);
		launcher_amount_write(j, key, d->amounts.page_bytes, "");
	}
	launcher_devices_write(d, j);
	json_object_end(j);
}

/* The number of vCPUs is read from the limit, where there is one. */
static void write_limits(struct derivation *d, struct json *j)
{
	json_object(j, "limits");
	if (d->reading.needs.is_dedicated) {
		launcher_amount_write(j, "cpu", d->amounts.micro, "u");
	} else {
		derivation_copy(d, j, "cpu",
			json_value_at(d->vmi, "domain/resources/limits/cpu"));
	}
	json_object_end(j);
}

static void write_containers(struct derivation *d, struct json *j)
{
	json_array(j, "containers");
	json_object(j, NULL);
	json_string(j, "name", "compute");
	json_object(j, "resources");
	write_requests(d, j);
	write_limits(d, j);
	json_object_end(j);
	json_object_end(j);
	launcher_beside_write(j, &d->beside,
		launcher_needs_guaranteed(&d->reading.needs), d->settings);
	json_array_end(j);
}

static void write_sidecar(struct derivation *d, struct json *j)
{
	json_array(j, "initContainers");
	launcher_beside_write_log(j, &d->beside,
		launcher_needs_guaranteed(&d->reading.needs), d->settings);
	json_array_end(j);
}

/* ---- claims ---- */

static bool is_made_with_vm(const struct derivation *d, const char *claim)
{
	for (const struct json_value *v = json_value_first(d->claims);
		v != NULL; v = json_value_next(v)) {
		if (strcmp(json_value_text_at(v, "metadata/name", ""), claim) ==
			0) {
			return true;
		}
	}
	return false;
}

/* A DataVolume's claim has its name. A hotplugged one is attached later. "": it
 * has no claim. */
static const char *claim_of(const struct json_value *volume)
{
	const char *claim = json_value_text_at(volume, "dataVolume/name",
		json_value_text_at(volume, "persistentVolumeClaim/claimName",
			json_value_text_at(volume,
				"ephemeral/persistentVolumeClaim/claimName",
				"")));

	return json_value_true(
		       json_value_at(volume, "dataVolume/hotpluggable")) ||
			json_value_true(json_value_at(volume,
				"persistentVolumeClaim/hotpluggable"))
		? ""
		: claim;
}

static void write_volumes(struct derivation *d, struct json *j)
{
	const struct json_value *volumes = json_value_get(d->vmi, "volumes");

	json_array(j, "volumes");
	for (const struct json_value *v = json_value_first(volumes); v != NULL;
		v = json_value_next(v)) {
		const char *claim = claim_of(v);

		if (*claim == '\0') {
			continue;
		}
		if (is_made_with_vm(d, claim)) {
			derivation_note(d,
				"claims of dataVolumeTemplates are left out");
			continue;
		}
		json_object(j, NULL);
		json_string(j, "name", json_value_text_at(v, "name", "volume"));
		json_object(j, "persistentVolumeClaim");
		json_string(j, "claimName", claim);
		json_object_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

/* ---- the pod ---- */

static void write_launcher(struct derivation *d, struct json *j)
{
	json_object(j, NULL);
	write_meta(d, j, "virt-launcher-");
	json_object(j, "spec");
	derivation_copy(d, j, "schedulerName",
		json_value_get(d->vmi, "schedulerName"));
	launcher_constraints_write(d, j);
	write_volumes(d, j);
	write_sidecar(d, j);
	write_containers(d, j);
	json_object_end(j);
	json_object_end(j);
}

static void write_pod(struct derivation *d, struct json *j)
{
	json_object(j, NULL);
	write_meta(d, j, "");
	derivation_copy(d, j, "spec", d->vmi);
	json_object_end(j);
}

static int read_pod(struct pod **out, struct derivation *d, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(POD_MAX);
	struct json j = json_into(&text);
	struct json_value *object = NULL;
	int r;

	if (d->spec->kind == LAUNCHER_SPEC_POD) {
		write_pod(d, &j);
	} else {
		write_launcher(d, &j);
	}
	if (!d->is_whole || text.overflowed) {
		return error_set(err, -EINVAL,
			"the manifest is nested too deeply or too long");
	}
	r = json_value_parse_bounded(&object, text.data, text.len, err);
	r = r < 0
		? r
		: pod_new(out, d->spec->interner, object, POD_UNSCHEDULED, err);
	json_value_free(object);
	return r < 0 ? error_wrap(err, -EINVAL, "the manifest makes no pod")
		     : 0;
}

/* ---- the manifest ---- */

static int read_names(struct derivation *d, struct error *err)
{
	const struct json_value *meta =
		json_value_get(d->spec->object, "metadata");
	const char *namespace = json_value_text_at(meta, "namespace", "");

	if (*namespace != '\0' && strcmp(namespace, d->spec->namespace) != 0) {
		return error_set(err, -EINVAL,
			"the manifest is of namespace %.253s, and the question "
			"of %.253s",
			namespace, d->spec->namespace);
	}
	d->name = json_value_text_at(meta, "name",
		json_value_text_at(meta, "generateName", "unnamed"));
	return 0;
}

/* The parts of the VMI, of which a VirtualMachine has a template. */
static int find_parts(struct derivation *d, struct error *err)
{
	const struct json_value *object = d->spec->object;
	const struct json_value *spec = json_value_get(object, "spec");

	d->from = json_value_text_at(object, "kind", "");
	d->meta = json_value_get(object, "metadata");
	d->status = json_value_get(object, "status");
	d->vmi = spec;
	if (d->spec->kind == LAUNCHER_SPEC_VM) {
		if (json_value_is_object(
			    json_value_get(spec, "instancetype"))) {
			return error_set(err, -EINVAL,
				"the VM names an instancetype, which the "
				"scheduler does not read; ask with the "
				"VirtualMachineInstance");
		}
		if (json_value_is_object(json_value_get(spec, "preference"))) {
			derivation_note(d, "the preference is not read");
		}
		d->status = NULL;
		d->meta = json_value_at(spec, "template/metadata");
		d->vmi = json_value_at(spec, "template/spec");
		d->claims = json_value_get(spec, "dataVolumeTemplates");
	}
	if (!json_value_is_object(d->vmi)) {
		return error_set(err, -EINVAL, "the manifest has no %s",
			d->spec->kind == LAUNCHER_SPEC_VM ? "spec.template.spec"
							  : "spec");
	}
	return 0;
}

static void write_derivation(struct buffer *out, const struct derivation *d)
{
	const struct launcher_settings *settings = d->settings;
	struct launcher_support_amounts beside =
		launcher_beside_amounts(&d->beside,
			launcher_needs_guaranteed(&d->reading.needs), settings);
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "from", d->from);
	json_string(&j, "rules", "virt-controller of KubeVirt 1.9");
	json_unsigned(&j, "cpuAllocationRatio", settings->cpu_allocation_ratio);
	json_unsigned(&j, "memoryOvercommitPercent",
		settings->memory_overcommit);
	json_unsigned(&j, "vcpus", d->reading.needs.vcpus);
	json_integer(&j, "guestBytes", d->reading.needs.guest_bytes);
	json_integer(&j, "overheadBytes",
		launcher_amounts_overhead(&d->reading.needs, settings));
	json_number(&j, "cpuRequestedCores",
		(double)(d->amounts.micro + beside.micro) / 1e6);
	json_integer(&j, "memoryRequestedBytes",
		d->amounts.bytes + beside.bytes);
	json_array(&j, "notes");
	for (size_t i = 0; i < d->note_count; i++) {
		json_string(&j, NULL, d->notes[i]);
	}
	json_array_end(&j);
	json_object_end(&j);
}

static int derive(struct pod **out, struct buffer *derivation,
	struct derivation *d, struct error *err)
{
	int r = launcher_needs_read(&d->reading, d->vmi, err);

	if (r < 0) {
		return r;
	}
	if (*d->reading.model == '\0') {
		d->reading.model = "host-model"; /* virt-api's default */
	}
	launcher_beside_read(&d->beside, d->meta, d->vmi, d->settings);
	d->reading.needs.binding_bytes = d->beside.binding_bytes;
	d->reading.needs.completes_parity =
		json_value_get(json_value_get(d->meta, "annotations"),
			LAUNCHER_PARITY) != NULL;
	d->amounts = launcher_amounts_of(&d->reading.needs, d->settings);
	if (json_value_get(d->vmi, "priorityClassName") != NULL) {
		derivation_note(d,
			"the priority class is not read: priority 0");
	}
	r = read_pod(out, d, err);
	if (r == 0) {
		write_derivation(derivation, d);
	}
	return r;
}

int launcher_spec_pod(struct pod **out, struct buffer *derivation,
	const struct launcher_spec *spec, struct error *err)
{
	struct derivation d = { .spec = spec,
		.settings = spec->settings,
		.is_whole = true };
	int r = read_names(&d, err);

	r = r < 0 ? r : find_parts(&d, err);
	if (r < 0) {
		return r;
	}
	return spec->kind == LAUNCHER_SPEC_POD
		? read_pod(out, &d, err)
		: derive(out, derivation, &d, err);
}
