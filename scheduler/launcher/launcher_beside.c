#include "scheduler/launcher/launcher_beside.h"

#include "kube/quantity.h"
#include "scheduler/launcher/launcher_amounts.h"

#include <stdio.h>
#include <string.h>

#define PASST_BYTES (INT64_C(250) << 20)

enum { NAME_MAX_BYTES = 48 };

/* ---- network bindings ---- */

static const char *binding_of(const struct json_value *interface)
{
	return json_value_text_at(interface, "binding/name", "");
}

/* An interface before this one has the same binding. */
static bool is_repeated(const struct json_value *interfaces,
	const struct json_value *interface)
{
	const struct json_value *v = json_value_first(interfaces);

	while (v != interface &&
		strcmp(binding_of(v), binding_of(interface)) != 0) {
		v = json_value_next(v);
	}
	return v != interface;
}

static void add_binding(struct launcher_beside *out,
	const struct json_value *plugin)
{
	const char *memory = json_value_text_at(plugin,
		"computeResourceOverhead/requests/memory", "");
	struct quantity q;

	if (*json_value_text_at(plugin, "sidecarImage", "") != '\0') {
		out->counts[LAUNCHER_SUPPORT_HOOK]++;
	}
	if (*memory != '\0' && quantity_parse(&q, memory, NULL) == 0) {
		out->binding_bytes += quantity_units(q);
	}
}

static void read_bindings(struct launcher_beside *out,
	const struct json_value *interfaces,
	const struct launcher_settings *settings)
{
	const char *text = settings->bindings;
	struct json_value *plugins = NULL;
	bool has_passt = false;

	if (*text != '\0' &&
		json_value_parse(&plugins, text, strlen(text), NULL) < 0) {
		return;
	}
	for (const struct json_value *v = json_value_first(interfaces);
		v != NULL; v = json_value_next(v)) {
		has_passt |=
			json_value_is_object(json_value_get(v, "passtBinding"));
		if (*binding_of(v) != '\0' && !is_repeated(interfaces, v)) {
			add_binding(out,
				json_value_get(plugins, binding_of(v)));
		}
	}
	out->binding_bytes += has_passt ? PASST_BYTES : 0;
	json_value_free(plugins);
}

/* ---- containers ---- */

static unsigned hooks_of(const struct json_value *meta)
{
	const char *text = json_value_text(
		json_value_get(json_value_get(meta, "annotations"),
			"hooks.kubevirt.io/hookSidecars"));
	struct json_value *list = NULL;
	size_t count = 0;

	if (text != NULL &&
		json_value_parse_bounded(&list, text, strlen(text), NULL) ==
			0 &&
		json_value_is_array(list)) {
		count = json_value_count(list);
	}
	json_value_free(list);
	return (unsigned)count;
}

static bool is_shared(const struct json_value *spec, const char *volume)
{
	const struct json_value *v = json_value_first(
		json_value_at(spec, "domain/devices/filesystems"));

	while (v != NULL &&
		strcmp(json_value_text_at(v, "name", ""), volume) != 0) {
		v = json_value_next(v);
	}
	return v != NULL;
}

static void count_volumes(struct launcher_beside *out,
	const struct json_value *spec, const struct launcher_settings *settings)
{
	const struct json_value *v =
		json_value_first(json_value_get(spec, "volumes"));
	unsigned disks = json_value_is_object(json_value_at(spec,
				 "domain/firmware/kernelBoot/container"))
		? 1
		: 0;

	for (; v != NULL; v = json_value_next(v)) {
		disks += json_value_get(v, "containerDisk") != NULL;
		out->counts[LAUNCHER_SUPPORT_VIRTIOFS] +=
			json_value_get(v, "containerPath") == NULL &&
			is_shared(spec, json_value_text_at(v, "name", ""));
	}
	out->counts[LAUNCHER_SUPPORT_DISK] =
		settings->mounts_images ? 0 : disks;
}

static bool has_log(const struct json_value *devices,
	const struct launcher_settings *settings)
{
	const struct json_value *asked =
		json_value_get(devices, "logSerialConsole");

	if (json_value_false(
		    json_value_get(devices, "autoattachSerialConsole")) ||
		json_value_false(asked)) {
		return false;
	}
	return json_value_true(asked) || !settings->has_no_log;
}

void launcher_beside_read(struct launcher_beside *out,
	const struct json_value *meta, const struct json_value *spec,
	const struct launcher_settings *settings)
{
	const struct json_value *devices =
		json_value_at(spec, "domain/devices");

	*out = (struct launcher_beside){ 0 };
	out->counts[LAUNCHER_SUPPORT_HOOK] = hooks_of(meta);
	out->counts[LAUNCHER_SUPPORT_LOG] = has_log(devices, settings);
	count_volumes(out, spec, settings);
	read_bindings(out, json_value_get(devices, "interfaces"), settings);
}

/* ---- what they request ---- */

struct launcher_support_amounts launcher_beside_amounts(
	const struct launcher_beside *beside, bool is_guaranteed,
	const struct launcher_settings *settings)
{
	struct launcher_support_amounts sum = { 0 };

	for (int i = 0; i < LAUNCHER_SUPPORTS; i++) {
		struct launcher_support_amounts one = launcher_support_of(
			(enum launcher_support)i, is_guaranteed, settings);

		sum.micro += one.micro * beside->counts[i];
		sum.bytes += one.bytes * beside->counts[i];
	}
	return sum;
}

static void write_if_any(struct json *j, const char *key, int64_t amount,
	const char *unit)
{
	if (amount > 0) {
		launcher_amount_write(j, key, amount, unit);
	}
}

static void write_one(struct json *j, enum launcher_support kind,
	unsigned number, const struct launcher_support_amounts *one)
{
	static const char *const names[LAUNCHER_SUPPORTS] = { "volume-disk",
		"guest-console-log", "hook-sidecar", "virtiofs" };
	char name[NAME_MAX_BYTES];

	(void)snprintf(name, sizeof(name), "%s-%u", names[kind], number);
	json_object(j, NULL);
	json_string(j, "name",
		kind == LAUNCHER_SUPPORT_LOG ? names[kind] : name);
	if (kind == LAUNCHER_SUPPORT_LOG) {
		json_string(j, "restartPolicy", "Always");
	}
	json_object(j, "resources");
	json_object(j, "requests");
	write_if_any(j, "cpu", one->micro, "u");
	write_if_any(j, "memory", one->bytes, "");
	if (kind == LAUNCHER_SUPPORT_DISK) {
		launcher_amount_write(j, "ephemeral-storage",
			LAUNCHER_EPHEMERAL_BYTES, "");
	}
	json_object_end(j);
	json_object_end(j);
	json_object_end(j);
}

static void write_kind(struct json *j, enum launcher_support kind,
	const struct launcher_beside *beside, bool is_guaranteed,
	const struct launcher_settings *settings)
{
	struct launcher_support_amounts one =
		launcher_support_of(kind, is_guaranteed, settings);

	for (unsigned i = 0; i < beside->counts[kind]; i++) {
		write_one(j, kind, i, &one);
	}
}

void launcher_beside_write(struct json *j, const struct launcher_beside *beside,
	bool is_guaranteed, const struct launcher_settings *settings)
{
	write_kind(j, LAUNCHER_SUPPORT_DISK, beside, is_guaranteed, settings);
	write_kind(j, LAUNCHER_SUPPORT_HOOK, beside, is_guaranteed, settings);
	write_kind(j, LAUNCHER_SUPPORT_VIRTIOFS, beside, is_guaranteed,
		settings);
}

void launcher_beside_write_log(struct json *j,
	const struct launcher_beside *beside, bool is_guaranteed,
	const struct launcher_settings *settings)
{
	write_kind(j, LAUNCHER_SUPPORT_LOG, beside, is_guaranteed, settings);
}
