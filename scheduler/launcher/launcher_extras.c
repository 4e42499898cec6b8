#include "scheduler/launcher/launcher_extras.h"

#include "kube/quantity.h"

#include <errno.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

/* pkg/hypervisor/kvm/hypervisorbackend.go of KubeVirt 1.9. */
#define FIRMWARE_ARM_BYTES (128 * MIB)
#define VFIO_BYTES (1024 * MIB)
#define METRICS_BYTES MIB
#define PROBE_BYTES (10 * MIB)
#define PROBES_BYTES (100 * MIB)
#define ENCRYPTION_BYTES (256 * MIB)
#define TPM_BYTES (53 * MIB)
#define RESERVED_MAX (INT64_C(1) << 44)

enum { THREADS_MAX = 256 };

static bool has_sriov(const struct json_value *devices)
{
	const struct json_value *list = json_value_get(devices, "interfaces");

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (json_value_is_object(json_value_get(v, "sriov"))) {
			return true;
		}
	}
	return false;
}

static bool has_vfio(const struct json_value *devices)
{
	return json_value_count(json_value_get(devices, "gpus")) > 0 ||
		json_value_count(json_value_get(devices, "hostDevices")) > 0 ||
		has_sriov(devices);
}

static bool has_metrics_disk(const struct json_value *spec)
{
	const struct json_value *list = json_value_get(spec, "volumes");

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (json_value_is_object(
			    json_value_get(v, "downwardMetrics"))) {
			return true;
		}
	}
	return false;
}

static int64_t bytes_of_probes(const struct json_value *spec)
{
	static const char *const paths[] = { "livenessProbe/exec",
		"readinessProbe/exec" };
	int64_t bytes = 0;

	for (int i = 0; i < 2; i++) {
		if (json_value_is_object(json_value_at(spec, paths[i]))) {
			bytes += PROBE_BYTES;
		}
	}
	return bytes > 0 ? bytes + PROBES_BYTES : 0;
}

/* A TPM is a member without content, unless it is disabled. */
static bool has_tpm(const struct json_value *devices)
{
	const struct json_value *tpm = json_value_get(devices, "tpm");
	const struct json_value *enabled = json_value_get(tpm, "enabled");

	return json_value_is_object(tpm) &&
		(enabled == NULL || json_value_is_null(enabled) ||
			json_value_true(enabled));
}

static bool is_encrypted(const struct json_value *domain)
{
	const struct json_value *security =
		json_value_get(domain, "launchSecurity");

	return json_value_is_object(json_value_get(security, "sev")) ||
		json_value_is_object(json_value_get(security, "snp"));
}

static int read_reserved(int64_t *bytes, const struct json_value *domain,
	struct error *err)
{
	const char *text = json_value_text_at(domain,
		"memory/reservedOverhead/addedOverhead", NULL);
	struct quantity q;

	if (text == NULL) {
		return 0;
	}
	if (quantity_parse(&q, text, err) < 0 || quantity_units(q) < 0 ||
		quantity_units(q) > RESERVED_MAX) {
		return error_set(err, -EINVAL,
			"domain/memory/reservedOverhead/addedOverhead is no "
			"amount of memory");
	}
	*bytes += quantity_units(q);
	return 0;
}

static void read_threads(struct launcher_needs *needs,
	const struct json_value *domain)
{
	double count = 0;

	if (json_value_number(&count,
		    json_value_at(domain,
			    "ioThreads/supplementalPoolThreadCount")) &&
		count >= 1 && count <= THREADS_MAX) {
		needs->io_threads = (unsigned)count;
	}
	needs->has_supplemental_pool =
		strcmp(json_value_text_at(domain, "ioThreadsPolicy", ""),
			"supplementalPool") == 0;
}

int launcher_extras_read(struct launcher_needs *needs,
	const struct json_value *spec, struct error *err)
{
	const struct json_value *domain = json_value_get(spec, "domain");
	const struct json_value *devices = json_value_get(domain, "devices");
	int64_t bytes = bytes_of_probes(spec);

	bytes += strcmp(json_value_text_at(spec, "architecture", ""),
			 "arm64") == 0
		? FIRMWARE_ARM_BYTES
		: 0;
	bytes += has_vfio(devices) ? VFIO_BYTES : 0;
	bytes += has_metrics_disk(spec) ? METRICS_BYTES : 0;
	bytes += has_tpm(devices) ? TPM_BYTES : 0;
	bytes += is_encrypted(domain) ? ENCRYPTION_BYTES : 0;
	needs->extra_bytes = bytes;
	needs->leaves_overhead_out = json_value_true(
		json_value_at(domain, "resources/overcommitGuestOverhead"));
	read_threads(needs, domain);
	return read_reserved(&needs->extra_bytes, domain, err);
}
