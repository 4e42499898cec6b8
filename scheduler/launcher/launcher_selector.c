#include "scheduler/launcher/launcher_selector.h"

#include "lib/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void enable(struct json *j, const char *prefix, const char *name)
{
	scoped_free char *key = xasprintf("%s%s", prefix, name);

	json_string(j, key, "true");
}

static bool is_set(const struct json_value *value)
{
	return value != NULL && !json_value_is_null(value);
}

/* ---- architecture, and what people select ---- */

/* A VM of another architecture is emulated, so nobody's word on the
 * architecture of the node counts. */
static void write_chosen(struct derivation *d, struct json *j,
	const struct json_value *selector, bool is_crossing)
{
	const struct json_value *v = json_value_first(selector);

	if (!is_crossing) {
		derivation_copy_members(d, j, selector);
		return;
	}
	for (; v != NULL; v = json_value_next(v)) {
		const char *key = json_value_key(v);

		if (strcmp(key, "kubernetes.io/arch") != 0) {
			derivation_copy(d, j, key, v);
		}
	}
}

static void write_base(struct derivation *d, struct json *j)
{
	scoped_free char *lower = derivation_architecture(d);
	const char *arch = json_value_text_at(d->vmi, "architecture", "");
	bool is_crossing = d->settings->crosses_architectures && *arch != '\0';
	struct json_value *settings = NULL;
	const char *text = d->settings->node_selector;

	json_string(j, "kubevirt.io/schedulable", "true");
	if (!is_crossing && *arch != '\0') {
		json_string(j, "kubernetes.io/arch", lower);
	}
	if (*text != '\0' &&
		json_value_parse(&settings, text, strlen(text), NULL) == 0) {
		write_chosen(d, j, settings, is_crossing);
	}
	json_value_free(settings);
	write_chosen(d, j, json_value_get(d->vmi, "nodeSelector"), is_crossing);
	if (is_crossing) {
		enable(j, "kubevirt.io/vm-arch-", arch);
	}
}

/* ---- the CPU ---- */

static void write_cpu(struct derivation *d, struct json *j)
{
	const struct json_value *cpu = json_value_at(d->vmi, "domain/cpu");
	const struct json_value *features = json_value_get(cpu, "features");
	const char *model = d->reading.model;

	if (*model == '\0') {
		return;
	}
	if (strcmp(model, "host-model") != 0 &&
		strcmp(model, "host-passthrough") != 0) {
		enable(j, "cpu-model.node.kubevirt.io/", model);
	}
	for (const struct json_value *v = json_value_first(features); v != NULL;
		v = json_value_next(v)) {
		const char *policy = json_value_text_at(v, "policy", "");

		if (*policy == '\0' || strcmp(policy, "require") == 0) {
			enable(j, "cpu-feature.node.kubevirt.io/",
				json_value_text_at(v, "name", ""));
		}
	}
}

static bool is_on(const struct json_value *feature)
{
	return json_value_true(json_value_get(feature, "enabled"));
}

static bool requires_invtsc(const struct json_value *features)
{
	for (const struct json_value *v = json_value_first(features); v != NULL;
		v = json_value_next(v)) {
		const char *policy = json_value_text_at(v, "policy", "");

		if (strcmp(json_value_text_at(v, "name", ""), "invtsc") == 0 &&
			(*policy == '\0' || strcmp(policy, "require") == 0 ||
				strcmp(policy, "force") == 0)) {
			return true;
		}
	}
	return false;
}

/* watch/topology/tsc.go. */
static void write_tsc(struct derivation *d, struct json *j)
{
	double hertz = 0;

	if ((requires_invtsc(json_value_at(d->vmi, "domain/cpu/features")) ||
		    is_on(json_value_at(d->vmi,
			    "domain/features/hyperv/reenlightenment"))) &&
		json_value_number(&hertz,
			json_value_at(d->status,
				"topologyHints/tscFrequency")) &&
		hertz > 0 && hertz < 1e15) {
		scoped_free char *key = xasprintf(
			"scheduling.node.kubevirt.io/tsc-frequency-%" PRId64,
			(int64_t)hertz);

		json_string(j, key, "true");
	}
}

/* ---- features ---- */

/* makeHVFeatureLabelTable(): those that need the node's kernel. */
static void write_hyperv(struct derivation *d, struct json *j)
{
	static const char *const names[] = { "vpindex", "runtime", "reset",
		"synic", "synictimer", "frequencies", "reenlightenment",
		"tlbflush", "ipi" };
	const struct json_value *hyperv =
		json_value_at(d->vmi, "domain/features/hyperv");
	const struct json_value *evmcs = json_value_get(hyperv, "evmcs");
	const struct json_value *enabled = json_value_get(evmcs, "enabled");

	for (size_t i = 0; i < count_of(names); i++) {
		if (is_on(json_value_get(hyperv, names[i]))) {
			enable(j, "hyperv.node.kubevirt.io/", names[i]);
		}
	}
	if (is_set(evmcs) && (!is_set(enabled) || json_value_true(enabled))) {
		json_string(j, "cpu-vendor.node.kubevirt.io/Intel", "true");
	}
}

static void write_security(struct derivation *d, struct json *j)
{
	const struct json_value *security =
		json_value_at(d->vmi, "domain/launchSecurity");

	if (is_set(json_value_get(security, "sev")) ||
		is_set(json_value_get(security, "snp"))) {
		json_string(j, "kubevirt.io/sev", "true");
	}
	if (json_value_true(
		    json_value_at(security, "sev/policy/encryptedState"))) {
		json_string(j, "kubevirt.io/sev-es", "true");
	}
	if (is_set(json_value_get(security, "snp"))) {
		json_string(j, "kubevirt.io/sev-snp", "true");
	}
	if (is_set(security) &&
		strcmp(json_value_text_at(d->vmi, "architecture", ""),
			"s390x") == 0) {
		json_string(j, "kubevirt.io/s390-pv", "true");
	}
	if (is_set(json_value_get(security, "tdx"))) {
		json_string(j, "kubevirt.io/tdx", "true");
	}
}

static void write_machine(struct derivation *d, struct json *j)
{
	const char *type = json_value_text_at(d->status, "machine/type", "");

	if (*type == '\0') {
		type = json_value_text_at(d->vmi, "domain/machine/type", "");
	}
	if (*type != '\0') {
		enable(j, "machine-type.node.kubevirt.io/", type);
	}
}

void launcher_selector_write(struct derivation *d, struct json *j)
{
	json_object(j, "nodeSelector");
	write_base(d, j);
	if (d->reading.needs.is_dedicated) {
		json_string(j,
			launcher_settings_is_from(d->settings, 1, 8)
				? "kubevirt.io/cpumanager"
				: "cpumanager",
			"true");
	}
	if (d->settings->checks_hyperv) {
		write_hyperv(d, j);
	}
	write_cpu(d, j);
	write_machine(d, j);
	write_tsc(d, j);
	if (is_set(json_value_at(d->vmi, "domain/cpu/realtime"))) {
		json_string(j, "kubevirt.io/realtime", "true");
	}
	write_security(d, j);
	json_object_end(j);
}
