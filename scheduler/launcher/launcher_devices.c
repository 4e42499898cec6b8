#include "scheduler/launcher/launcher_devices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DEVICES_MAX = 16 }; /* kinds of GPUs and host devices */

struct devices {
	const char *names[DEVICES_MAX];
	unsigned counts[DEVICES_MAX];
	size_t count;
};

/* GPUs and host devices, counted by the name of their resource. False: there
 * are too many kinds. */
static bool count_devices(struct devices *out, const struct json_value *list)
{
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		const char *name = json_value_text_at(v, "deviceName", "");
		size_t i = 0;

		while (i < out->count && strcmp(out->names[i], name) != 0) {
			i++;
		}
		if (*name == '\0') {
			continue;
		}
		if (i == DEVICES_MAX) {
			return false;
		}
		out->names[i] = name;
		out->counts[i]++;
		out->count += i == out->count;
	}
	return true;
}

static void write_passed(struct derivation *d, struct json *j)
{
	const struct json_value *from = json_value_at(d->vmi, "domain/devices");
	struct devices devices = { 0 };

	d->is_whole &= count_devices(&devices, json_value_get(from, "gpus")) &&
		count_devices(&devices, json_value_get(from, "hostDevices"));
	for (size_t i = 0; i < devices.count; i++) {
		char count[16];

		(void)snprintf(count, sizeof(count), "%u", devices.counts[i]);
		json_string(j, devices.names[i], count);
	}
}

static void write_security(struct derivation *d, struct json *j)
{
	const struct json_value *security =
		json_value_at(d->vmi, "domain/launchSecurity");

	if (json_value_is_object(json_value_get(security, "sev")) ||
		json_value_is_object(json_value_get(security, "snp"))) {
		json_string(j, "devices.kubevirt.io/sev", "1");
	}
	if (json_value_is_object(json_value_get(security, "tdx")) &&
		launcher_settings_is_from(d->settings, 1, 9)) {
		json_string(j, "devices.kubevirt.io/tdx", "1");
	}
}

void launcher_devices_write(struct derivation *d, struct json *j)
{
	if (!d->settings->emulates) {
		json_string(j, LAUNCHER_KVM, "1");
	}
	if (d->reading.has_network) {
		json_string(j, "devices.kubevirt.io/tun", "1");
	}
	if (d->reading.has_virtio_net && !d->settings->emulates) {
		json_string(j, LAUNCHER_VHOST_NET, "1");
	}
	if (json_value_true(
		    json_value_at(d->vmi, "domain/devices/autoattachVSOCK"))) {
		json_string(j, "devices.kubevirt.io/vhost-vsock", "1");
	}
	if (d->settings->has_iommufd) {
		json_string(j, LAUNCHER_IOMMUFD, "1");
	}
	write_security(d, j);
	write_passed(d, j);
}
