#include "scheduler/launcher/launcher_template.h"

#include "kube/quantity.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "scheduler/forecast/forecast.h"
#include "scheduler/launcher/launcher_constraints.h"
#include "scheduler/launcher/launcher_derivation.h"
#include "scheduler/launcher/launcher_needs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POD_MAX = 2 << 20 };

/* ---- one template ---- */

void launcher_template_drop(struct launcher_template *parts,
	struct interner *interner)
{
	if (parts == NULL || --parts->references > 0) {
		return;
	}
	interner_drop(interner, parts->parts);
	pod_free(parts->pod);
	free(parts->why_not);
	free(parts);
}

static void write_pod(struct derivation *d, struct json *j)
{
	json_object(j, NULL);
	json_object(j, "metadata");
	json_string(j, "name", "~");
	derivation_copy(d, j, "namespace",
		json_value_get(d->meta, "namespace"));
	derivation_copy(d, j, "labels", json_value_get(d->meta, "labels"));
	json_object_end(j);
	json_object(j, "spec");
	launcher_constraints_write(d, j);
	json_object_end(j);
	json_object_end(j);
}

static int read_pod(struct launcher_template *out, struct derivation *d,
	struct interner *interner, struct error *err)
{
	scoped_buffer struct buffer text = BUFFER_MAX(POD_MAX);
	struct json j = json_into(&text);
	struct json_value *object = NULL;
	int r;

	write_pod(d, &j);
	if (!d->is_whole || text.overflowed) {
		return error_set(err, -E2BIG,
			"its constraints are nested too deeply or too long");
	}
	r = json_value_parse(&object, text.data, text.len, err);
	r = r < 0 ? r
		  : pod_new(&out->pod, interner, object, POD_UNSCHEDULED, err);
	json_value_free(object);
	return r;
}

static unsigned count_at(const struct json_value *topology, const char *key)
{
	double count = 1;

	return json_value_number(&count, json_value_get(topology, key)) &&
			count >= 1 && count <= FORECAST_VCPUS_MAX
		? (unsigned)count
		: 1;
}

/* The vCPUs before a hotplug, and the CPU that virt-controller then added to
 * spec.domain.resources. */
static void take_vcpus_back(struct launcher_needs *needs,
	const struct json_value *status,
	const struct launcher_settings *settings)
{
	const struct json_value *topology =
		json_value_get(status, "currentCPUTopology");
	unsigned before = count_at(topology, "cores") *
		count_at(topology, "sockets") * count_at(topology, "threads");

	if (topology == NULL || before >= needs->vcpus) {
		return;
	}
	if (needs->requested_micro > 0) {
		needs->requested_micro -= (int64_t)(needs->vcpus - before) *
			(1000 / settings->cpu_allocation_ratio) * 1000;
	}
	needs->vcpus = before;
}

/* The same for memory. */
static void take_memory_back(struct launcher_needs *needs,
	const struct json_value *status)
{
	const char *text =
		json_value_text_at(status, "memory/guestCurrent", "");
	struct quantity before = { 0 };
	int64_t added;

	if (*text == '\0' || quantity_parse(&before, text, NULL) < 0) {
		return;
	}
	added = needs->guest_bytes - quantity_units(before);
	if (added <= 0 || quantity_units(before) <= 0) {
		return;
	}
	needs->guest_bytes -= added;
	needs->requested_bytes -= needs->requested_bytes > added ? added : 0;
	needs->limit_bytes -= needs->limit_bytes > added ? added : 0;
}

static void read_devices(struct launcher_template *out,
	const struct derivation *d)
{
	out->kvm = !d->settings->emulates;
	out->vhost_net = d->reading.has_virtio_net && !d->settings->emulates;
	out->iommufd = d->settings->has_iommufd;
}

/* A VM that runs has amounts, whatever its VMI says. */
static void read_amounts(struct launcher_template *out, struct derivation *d)
{
	struct launcher_needs *needs = &d->reading.needs;
	bool are_known = launcher_needs_read(&d->reading, d->vmi, NULL) == 0;

	out->is_host_model = strcmp(d->reading.model, "host-model") == 0;
	if (!are_known) {
		return;
	}
	read_devices(out, d);
	launcher_beside_read(&d->beside, NULL, d->vmi, d->settings);
	out->disks = d->beside.counts[LAUNCHER_SUPPORT_DISK];
	out->disk = launcher_support_of(LAUNCHER_SUPPORT_DISK,
		launcher_needs_guaranteed(needs), d->settings);
	needs->binding_bytes = d->beside.binding_bytes;
	needs->completes_parity =
		json_value_true(json_value_get(d->meta, "completesParity"));
	out->asked = launcher_amounts_of(needs, d->settings);
	take_vcpus_back(needs, d->status, d->settings);
	take_memory_back(needs, d->status);
	out->before = launcher_amounts_of(needs, d->settings);
	if (d->reading.pages != NULL) {
		out->pages = strcmp(d->reading.pages, "2Mi") == 0
			? "hugepages-2Mi"
			: "hugepages-1Gi";
	}
}

static int read_parts(struct launcher_template *out, struct interner *interner,
	const struct launcher_settings *settings, struct error *err)
{
	const char *text = interner_text(interner, out->parts);
	struct json_value *object = NULL;
	struct derivation d = { .settings = settings, .is_whole = true };
	int r = json_value_parse(&object, text, strlen(text), err);

	if (r < 0) {
		return r;
	}
	d.meta = json_value_get(object, "metadata");
	d.vmi = json_value_get(object, "spec");
	d.status = json_value_get(object, "status");
	read_amounts(out, &d);
	r = read_pod(out, &d, interner, err);
	json_value_free(object);
	return r;
}

static struct launcher_template *template_new(struct interner *interner,
	const struct launcher_settings *settings, uint32_t parts)
{
	struct launcher_template *out = xcalloc(1, sizeof(*out));
	struct error err;

	out->references = 1;
	out->parts = parts;
	interner_hold_id(interner, parts);
	if (read_parts(out, interner, settings, &err) < 0) {
		out->why_not = xstrdup(err.text);
	} else if (out->pod->unsupported != NULL) {
		out->why_not = xstrdup(out->pod->unsupported);
	}
	if (out->why_not != NULL) {
		pod_free(take_ptr(out->pod));
	}
	return out;
}

/* ---- all of them ---- */

void launcher_templates_fini(struct launcher_templates *templates)
{
	size_t at = 0;
	void *value;

	while (map_next(&templates->by_parts, &at, NULL, &value)) {
		launcher_template_drop(value, templates->interner);
	}
	map_fini(&templates->by_parts);
	templates->by_parts = (struct map){ 0 };
}

static const char *why_unknown(const struct launcher_settings *settings,
	const struct launcher_vm *vm)
{
	if (vm == NULL) {
		return "its VirtualMachineInstance is not known";
	}
	if (vm->parts == 0) {
		return "the constraints of its VirtualMachineInstance are too "
		       "long";
	}
	if (settings->major == 0 && settings->minor == 0) {
		return "KubeVirt's version cannot be read";
	}
	return settings->is_selector_too_long
		? "the node selectors of the KubeVirt object are too long"
		: NULL;
}

struct launcher_template *launcher_templates_get(
	struct launcher_templates *templates,
	const struct launcher_settings *settings, const struct launcher_vm *vm,
	struct buffer *why)
{
	const char *unknown = why_unknown(settings, vm);
	struct launcher_template *found;
	char key[16];

	if (unknown != NULL) {
		buffer_text(why, unknown);
		return NULL;
	}
	if (!launcher_settings_equal(&templates->settings, settings)) {
		launcher_templates_fini(templates);
		templates->settings = *settings;
	}
	(void)snprintf(key, sizeof(key), "%" PRIu32, vm->parts);
	found = map_get(&templates->by_parts, key);
	if (found == NULL) {
		found = template_new(templates->interner, settings, vm->parts);
		(void)map_put(&templates->by_parts, key, found);
	}
	found->is_used = true;
	if (found->why_not != NULL) {
		buffer_text(why, found->why_not);
		return NULL;
	}
	found->references++;
	return found;
}

void launcher_templates_sweep(struct launcher_templates *templates)
{
	size_t at = 0;
	const char *key;
	void *value;

	while (map_next(&templates->by_parts, &at, &key, &value)) {
		struct launcher_template *found = value;

		if (!found->is_used) {
			(void)map_remove(&templates->by_parts, key);
			launcher_template_drop(found, templates->interner);
		} else {
			found->is_used = false;
		}
	}
}
