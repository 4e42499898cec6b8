#include "scheduler/launcher/launcher_needs.h"

#include "kube/quantity.h"
#include "lib/memory.h"
#include "scheduler/launcher/launcher_extras.h"
#include "scheduler/launcher/launcher_shape.h"

#include <errno.h>
#include <string.h>

#define BYTES_MAX ((int64_t)LAUNCHER_GIB_MAX << 30)

/* *out stays if there is no such amount. */
static int read_bytes(int64_t *out, const struct json_value *domain,
	const char *path, struct error *err)
{
	const char *text = json_value_text(json_value_at(domain, path));
	struct quantity q;
	int64_t bytes;

	if (text == NULL) {
		return 0;
	}
	if (quantity_parse(&q, text, err) < 0) {
		return error_set(err, -EINVAL, "domain/%s is no quantity",
			path);
	}
	bytes = quantity_units(q);
	if (bytes < 1 || bytes > BYTES_MAX) {
		return error_set(err, -EINVAL,
			"domain/%s is not 1 byte to %d GiB", path,
			LAUNCHER_GIB_MAX);
	}
	*out = bytes;
	return 0;
}

/* Thousandths of CPUs. */
static int read_cpus(int64_t *out, const struct json_value *domain,
	const char *path, struct error *err)
{
	const char *text = json_value_text(json_value_at(domain, path));
	struct quantity q;
	int64_t milli;

	if (text == NULL) {
		return 0;
	}
	if (quantity_parse(&q, text, err) < 0) {
		return error_set(err, -EINVAL, "domain/%s is no quantity",
			path);
	}
	milli = quantity_milli(q);
	if (milli < 1 || milli > INT64_C(1000) * LAUNCHER_VCPUS_MAX) {
		return error_set(err, -EINVAL, "domain/%s is not up to %d CPUs",
			path, LAUNCHER_VCPUS_MAX);
	}
	*out = milli;
	return 0;
}

/* ---- CPUs ---- */

/* Each of cores, sockets and threads is 1 if it is not set. */
static int read_topology(unsigned *out, const struct json_value *cpu,
	struct error *err)
{
	static const char *const parts[] = { "cores", "sockets", "threads" };
	double vcpus = 1;
	bool is_set = false;

	for (size_t i = 0; i < 3; i++) {
		double count = 0;

		if (!json_value_number(&count, json_value_get(cpu, parts[i])) ||
			count == 0) {
			continue;
		}
		if (!(count >= 1 && count <= LAUNCHER_VCPUS_MAX) ||
			count != (unsigned)count) {
			return error_set(err, -EINVAL,
				"domain/cpu/%s is not 1 to %d", parts[i],
				LAUNCHER_VCPUS_MAX);
		}
		vcpus *= count;
		is_set = true;
	}
	if (vcpus > LAUNCHER_VCPUS_MAX) {
		return error_set(err, -EINVAL, "the VM has more than %d vCPUs",
			LAUNCHER_VCPUS_MAX);
	}
	*out = is_set ? (unsigned)vcpus : 0;
	return 0;
}

static int read_vcpus(struct launcher_needs *needs,
	const struct json_value *domain, struct error *err)
{
	int64_t requested = 0, limit = 0;
	int r = read_topology(&needs->vcpus, json_value_get(domain, "cpu"),
		err);

	r = r < 0
		? r
		: read_cpus(&requested, domain, "resources/requests/cpu", err);
	r = r < 0 ? r : read_cpus(&limit, domain, "resources/limits/cpu", err);
	if (r == 0 && needs->vcpus == 0) {
		int64_t milli = limit > 0 ? limit : requested;

		needs->vcpus = milli > 0 ? (unsigned)((milli + 999) / 1000) : 1;
	}
	needs->requested_micro = requested * 1000;
	needs->is_guaranteed = requested > 0 && requested == limit;
	return r;
}

static void read_cpu(struct launcher_reading *out,
	const struct json_value *domain)
{
	const struct json_value *cpu = json_value_get(domain, "cpu");
	const char *model = json_value_text_at(cpu, "model", "");

	out->needs.is_dedicated =
		json_value_true(json_value_get(cpu, "dedicatedCpuPlacement"));
	out->needs.isolates_emulator = out->needs.is_dedicated &&
		json_value_true(json_value_get(cpu, "isolateEmulatorThread"));
	out->model = model;
	out->is_host_model = *model == '\0' || strcmp(model, "host-model") == 0;
}

static bool says_cpus(const struct json_value *domain)
{
	static const char *const paths[] = { "cpu", "resources/requests/cpu",
		"resources/limits/cpu" };

	for (size_t i = 0; i < count_of(paths); i++) {
		if (json_value_at(domain, paths[i]) != NULL) {
			return true;
		}
	}
	return false;
}

double launcher_needs_cpus(const struct json_value *object)
{
	const struct json_value *spec = json_value_get(object, "spec");
	const struct json_value *domain = json_value_get(spec, "domain");
	struct launcher_needs needs = { 0 };
	unsigned current = 0, isolated;
	struct error err;

	if (!says_cpus(domain) || read_vcpus(&needs, domain, &err) < 0 ||
		launcher_extras_read(&needs, spec, &err) < 0 ||
		read_topology(&current,
			json_value_at(object, "status/currentCPUTopology"),
			&err) < 0) {
		return 0;
	}
	isolated = json_value_true(
			   json_value_at(domain, "cpu/isolateEmulatorThread"))
		? 2
		: 0;
	return (current > needs.vcpus ? current : needs.vcpus) +
		needs.io_threads + isolated;
}

/* ---- memory ---- */

static int read_pages(struct launcher_reading *out,
	const struct json_value *domain, struct error *err)
{
	const struct json_value *size =
		json_value_at(domain, "memory/hugepages/pageSize");
	const char *text = json_value_text(size);

	if (size == NULL) {
		return 0;
	}
	if (text == NULL ||
		(strcmp(text, "2Mi") != 0 && strcmp(text, "1Gi") != 0)) {
		return error_set(err, -EINVAL,
			"domain/memory/hugepages/pageSize is neither 2Mi nor "
			"1Gi");
	}
	out->pages = text;
	out->needs.has_pages = true;
	return 0;
}

static int read_memory(struct launcher_reading *out,
	const struct json_value *domain, struct error *err)
{
	struct launcher_needs *needs = &out->needs;
	int r = read_pages(out, domain, err);

	r = r < 0
		? r
		: read_bytes(&needs->guest_bytes, domain, "memory/guest", err);
	r = r < 0 ? r
		  : read_bytes(&needs->requested_bytes, domain,
			    "resources/requests/memory", err);
	r = r < 0 ? r
		  : read_bytes(&needs->limit_bytes, domain,
			    "resources/limits/memory", err);
	r = r < 0 ? r
		  : read_bytes(&out->ephemeral_bytes, domain,
			    "resources/requests/ephemeral-storage", err);
	if (r == 0 && needs->guest_bytes == 0) {
		needs->guest_bytes = needs->requested_bytes > 0
			? needs->requested_bytes
			: needs->limit_bytes;
	}
	if (r == 0 && needs->guest_bytes == 0) {
		r = error_set(err, -EINVAL,
			"the VM has no memory: neither domain/memory/guest nor "
			"domain/resources/requests/memory is set");
	}
	return r;
}

/* ---- all of it ---- */

/* virt-api gives a VM without an interface one of virtio, unless the VM wants
 * none. */
static void read_network(struct launcher_reading *out,
	const struct json_value *devices)
{
	const struct json_value *list = json_value_get(devices, "interfaces");
	bool has_default = !json_value_false(
		json_value_get(devices, "autoattachPodInterface"));

	out->has_network = json_value_count(list) > 0 || has_default;
	out->has_virtio_net = json_value_count(list) == 0 && has_default;
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		const char *model = json_value_text_at(v, "model", "");

		out->has_virtio_net |=
			*model == '\0' || strcmp(model, "virtio") == 0;
	}
}

int launcher_needs_read(struct launcher_reading *out,
	const struct json_value *spec, struct error *err)
{
	const struct json_value *domain = json_value_get(spec, "domain");
	const struct json_value *devices = json_value_get(domain, "devices");
	int r;

	*out = (struct launcher_reading){ 0 };
	r = read_vcpus(&out->needs, domain, err);
	r = r < 0 ? r : launcher_extras_read(&out->needs, spec, err);
	r = r < 0 ? r : read_memory(out, domain, err);
	out->needs.is_guaranteed &= out->needs.limit_bytes > 0 &&
		(out->needs.requested_bytes == 0 ||
			out->needs.requested_bytes == out->needs.limit_bytes);
	read_cpu(out, domain);
	out->needs.has_graphics = !json_value_false(
		json_value_get(devices, "autoattachGraphicsDevice"));
	out->needs.has_log = !json_value_false(json_value_get(devices,
				     "autoattachSerialConsole")) &&
		!json_value_false(json_value_get(devices, "logSerialConsole"));
	read_network(out, devices);
	return r;
}
