#include "scheduler/launcher/launcher_shape.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/buffer.h"
#include "lib/json.h"
#include "scheduler/forecast/forecast.h"
#include "scheduler/forecast/model.h"
#include "scheduler/launcher/launcher_amounts.h"

#define GIB (INT64_C(1) << 30)

static const struct {
	const char *name, *pages;
} kinds[] = {
	[LAUNCHER_PLAIN] = { "plain", NULL },
	[LAUNCHER_HUGE_2MI] = { "hugepages-2Mi", "hugepages-2Mi" },
	[LAUNCHER_HUGE_1GI] = { "hugepages-1Gi", "hugepages-1Gi" },
	[LAUNCHER_DEDICATED] = { "dedicated-cpus", NULL },
};

const char *launcher_kind_name(enum launcher_kind kind)
{
	return kinds[kind].name;
}

const char *launcher_kind_pages(enum launcher_kind kind)
{
	return kinds[kind].pages;
}

static struct launcher_needs needs_of(enum launcher_kind kind,
	struct launcher_size size)
{
	return (struct launcher_needs){
		.vcpus = size.vcpus,
		.guest_bytes = GIB * size.memory_gib,
		.has_pages = kinds[kind].pages != NULL,
		.is_dedicated = kind == LAUNCHER_DEDICATED,
		.has_graphics = true,
		.has_log = true,
	};
}

static struct launcher_amounts amounts_of(enum launcher_kind kind,
	struct launcher_size size, const struct launcher_settings *settings)
{
	const struct launcher_needs needs = needs_of(kind, size);

	return launcher_amounts_of(&needs, settings);
}

/* ---- as JSON ---- */

static void write_devices(struct json *j)
{
	json_string(j, "devices.kubevirt.io/kvm", "1");
	json_string(j, "devices.kubevirt.io/tun", "1");
	json_string(j, "devices.kubevirt.io/vhost-net", "1");
}

static void write_requests(struct json *j, enum launcher_kind kind,
	const struct launcher_amounts *amounts)
{
	json_object(j, "requests");
	launcher_amount_write(j, "cpu", amounts->micro, "u");
	launcher_amount_write(j, "memory", amounts->bytes, "");
	launcher_amount_write(j, "ephemeral-storage", LAUNCHER_EPHEMERAL_BYTES,
		"");
	if (kinds[kind].pages != NULL) {
		launcher_amount_write(j, kinds[kind].pages, amounts->page_bytes,
			"");
	}
	write_devices(j);
	json_object_end(j);
}

static void write_limits(struct json *j, enum launcher_kind kind,
	const struct launcher_amounts *amounts)
{
	json_object(j, "limits");
	if (kind == LAUNCHER_DEDICATED) {
		launcher_amount_write(j, "cpu", amounts->micro, "u");
		launcher_amount_write(j, "memory", amounts->bytes, "");
	}
	write_devices(j);
	json_object_end(j);
}

static void write_containers(struct json *j, enum launcher_kind kind,
	const struct launcher_amounts *amounts)
{
	json_array(j, "containers");
	json_object(j, NULL);
	json_string(j, "name", "compute");
	json_object(j, "resources");
	write_requests(j, kind, amounts);
	write_limits(j, kind, amounts);
	json_object_end(j);
	json_object_end(j);
	json_array_end(j);
}

static void write_sidecar(struct json *j,
	const struct launcher_amounts *amounts)
{
	json_array(j, "initContainers");
	json_object(j, NULL);
	json_string(j, "name", "guest-console-log");
	json_string(j, "restartPolicy", "Always");
	json_object(j, "resources");
	json_object(j, "requests");
	launcher_amount_write(j, "cpu", amounts->log_micro, "u");
	launcher_amount_write(j, "memory", amounts->log_bytes, "");
	json_object_end(j);
	json_object_end(j);
	json_object_end(j);
	json_array_end(j);
}

/* services/nodeselectorrenderer.go. Architecture and machine type are left out:
 * a VM takes those that the cluster has. */
static void write_selector(struct json *j, enum launcher_kind kind)
{
	json_object(j, "nodeSelector");
	json_string(j, "kubevirt.io/schedulable", "true");
	if (kind == LAUNCHER_DEDICATED) {
		json_string(j, "kubevirt.io/cpumanager", "true");
	}
	json_object_end(j);
}

/* A VM with the CPU model host-model stays away from these nodes. */
static const char affinity[] =
	"{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
	"{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
	"\"node-labeller.kubevirt.io/obsolete-host-model\","
	"\"operator\":\"DoesNotExist\"}]}]}}}";

static void write_pod(struct json *j, enum launcher_kind kind,
	const struct launcher_amounts *amounts)
{
	json_object(j, NULL);
	json_object(j, "metadata");
	json_string(j, "name", LAUNCHER_NAME);
	json_string(j, "uid", launcher_kind_name(kind));
	json_object(j, "labels");
	json_string(j, "kubevirt.io", "virt-launcher");
	json_object_end(j);
	json_object_end(j);
	json_object(j, "spec");
	write_selector(j, kind);
	json_raw(j, "affinity", affinity);
	write_sidecar(j, amounts);
	write_containers(j, kind, amounts);
	json_object_end(j);
	json_object_end(j);
}

/* ---- as a pod ---- */

static ptrdiff_t find_pages(const struct pod *pod, enum launcher_kind kind)
{
	const char *pages = kinds[kind].pages;

	for (size_t i = 0; pages != NULL && i < pod->requests.scalar_count;
		i++) {
		if (strcmp(interner_text(pod->interner,
				   pod->requests.scalars[i].resource),
			    pages) == 0) {
			return (ptrdiff_t)i;
		}
	}
	return -1;
}

/* The text is ours alone, so it can be read. */
static struct pod *read_pod(struct interner *interner, const char *text,
	size_t len)
{
	struct json_value *object = NULL;
	struct pod *pod = NULL;
	struct error err;
	int r = json_value_parse(&object, text, len, &err);

	assert(r == 0);
	r = pod_new(&pod, interner, object, POD_UNSCHEDULED, &err);
	assert(r == 0 && pod->unsupported == NULL);
	json_value_free(object);
	return pod;
}

void launcher_shape_init(struct launcher_shape *shape,
	struct interner *interner, enum launcher_kind kind,
	struct launcher_size size, const struct launcher_settings *settings)
{
	struct launcher_amounts amounts = amounts_of(kind, size, settings);
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 14);
	struct json j = json_into(&text);

	write_pod(&j, kind, &amounts);
	*shape = (struct launcher_shape){
		.kind = kind,
		.settings = *settings,
		.pod = read_pod(interner, text.data, text.len),
	};
	shape->pages = find_pages(shape->pod, kind);
}

void launcher_shape_fini(struct launcher_shape *shape)
{
	pod_free(shape->pod);
	*shape = (struct launcher_shape){ 0 };
}

void launcher_shape_resize(struct launcher_shape *shape,
	struct launcher_size size, unsigned copies)
{
	struct launcher_amounts amounts =
		amounts_of(shape->kind, size, &shape->settings);
	struct resources *requests = &shape->pod->requests;
	double vcpus = shape->kind == LAUNCHER_DEDICATED
		? size.vcpus
		: round((double)amounts.micro / 1e6 * FORECAST_VCPUS_PER_CPU);

	requests->cpu_milli =
		(amounts.micro + amounts.log_micro + 999) / 1000 * copies;
	requests->memory_bytes = (amounts.bytes + amounts.log_bytes) * copies;
	requests->nonzero_milli = requests->cpu_milli;
	requests->nonzero_bytes = requests->memory_bytes;
	requests->ephemeral_bytes = LAUNCHER_EPHEMERAL_BYTES * copies;
	for (size_t i = 0; i < requests->scalar_count; i++) {
		requests->scalars[i].value = (ptrdiff_t)i == shape->pages
			? amounts.page_bytes * copies
			: copies;
	}
	shape->pod->vcpus = fmax(vcpus, 1) * copies;
	shape->pod->expected_cores = shape->pod->vcpus * MODEL_SHARE;
}
