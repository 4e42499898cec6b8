#include "scheduler/launcher/launcher_settings.h"

#include "kube/quantity.h"
#include "lib/buffer.h"
#include "lib/json.h"
#include "scheduler/launcher/value_json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Higher ratios are mistakes: a VM would request nothing. */
static const double ratio_max = 1e6;

const struct launcher_settings launcher_settings_default = {
	.cpu_allocation_ratio = 10,
	.memory_overcommit = 100,
	.overhead_ratio = 1,
	.major = 1,
	.minor = 9,
	.mounts_images = true,
};

static void read_count(unsigned *out, const struct json_value *value)
{
	double number = 0;

	if (json_value_number(&number, value) && number >= 1 &&
		number <= ratio_max) {
		*out = (unsigned)number;
	}
}

/* A number in a string, such as "1.5". A quantity is such a number, too. */
static void read_ratio(double *out, const struct json_value *value)
{
	const char *text = json_value_text(value);
	struct quantity q;
	double ratio;

	if (text == NULL || quantity_parse(&q, text, NULL) < 0) {
		return;
	}
	ratio = (double)q.units + (double)q.nanos / 1e9;
	if (ratio >= 1 && ratio <= ratio_max) {
		*out = ratio;
	}
}

/* ---- the version ---- */

/* Reads digits and moves behind them. False: there are none, or too many. */
static bool read_number(unsigned *out, const char **text)
{
	unsigned number = 0;
	int digits = 0;

	for (; isdigit((unsigned char)**text) != 0 && digits < 6; digits++) {
		number = number * 10 + (unsigned)(**text - '0');
		(*text)++;
	}
	*out = number;
	return digits > 0 && digits < 6;
}

/* "v1.9.0-d923fdb8" or "1.6.0". */
static void read_version(struct launcher_settings *out, const char *text)
{
	unsigned major = 0, minor = 0;

	if (*text == '\0') {
		return;
	}
	text += *text == 'v';
	out->major = out->minor = 0;
	if (read_number(&major, &text) && *text++ == '.' &&
		read_number(&minor, &text)) {
		out->major = major;
		out->minor = minor;
	}
}

bool launcher_settings_is_from(const struct launcher_settings *settings,
	unsigned major, unsigned minor)
{
	return settings->major > major ||
		(settings->major == major && settings->minor >= minor);
}

/* ---- gates and selectors ---- */

static bool has_text(const struct json_value *gates, const char *name)
{
	for (const struct json_value *v = json_value_first(gates); v != NULL;
		v = json_value_next(v)) {
		const char *text = json_value_text(v);

		if (text != NULL && strcmp(text, name) == 0) {
			return true;
		}
	}
	return false;
}

static bool has_gate(const struct json_value *developer, const char *name)
{
	return has_text(json_value_get(developer, "featureGates"), name);
}

static void read_gates(struct launcher_settings *out,
	const struct json_value *developer)
{
	bool is_from_1_9 = launcher_settings_is_from(out, 1, 9);

	out->checks_hyperv = has_gate(developer, "HypervStrictCheck");
	out->crosses_architectures = is_from_1_9 &&
		has_gate(developer, "CrossArchitectureVirtualization");
	out->has_iommufd = is_from_1_9 && has_gate(developer, "IOMMUFD");
	/* Gates in beta are open since 1.9. */
	out->mounts_images = has_gate(developer, "ImageVolume") ||
		(is_from_1_9 &&
			!has_text(json_value_get(developer,
					  "disabledFeatureGates"),
				"ImageVolume"));
	out->emulates =
		json_value_true(json_value_get(developer, "useEmulation"));
}

/* False: it is too long. */
static bool read_object(char *out, const struct json_value *object)
{
	scoped_buffer struct buffer text =
		BUFFER_MAX(LAUNCHER_SELECTOR_MAX - 1);
	struct json j = json_into(&text);

	if (!json_value_is_object(object) || json_value_count(object) == 0) {
		return true;
	}
	if (!value_json_write(&j, NULL, object) || text.overflowed) {
		return false;
	}
	(void)snprintf(out, LAUNCHER_SELECTOR_MAX, "%s", text.data);
	return true;
}

/* ---- the containers beside compute ---- */

static int64_t amount_at(const struct json_value *resources, const char *path,
	bool is_cpu)
{
	const char *text = json_value_text_at(resources, path, "");
	struct quantity q;

	if (*text == '\0' || quantity_parse(&q, text, NULL) < 0) {
		return 0;
	}
	return is_cpu ? quantity_milli(q) * 1000 : quantity_units(q);
}

static void read_supports(struct launcher_settings *out,
	const struct json_value *list)
{
	static const char *const names[LAUNCHER_SUPPORTS] = {
		[LAUNCHER_SUPPORT_DISK] = "container-disk",
		[LAUNCHER_SUPPORT_LOG] = "guest-console-log",
		[LAUNCHER_SUPPORT_HOOK] = "sidecar",
		[LAUNCHER_SUPPORT_VIRTIOFS] = "virtiofs",
	};

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		const struct json_value *r = json_value_get(v, "resources");
		int i = 0;

		while (i < LAUNCHER_SUPPORTS &&
			strcmp(names[i], json_value_text_at(v, "type", "")) !=
				0) {
			i++;
		}
		if (i < LAUNCHER_SUPPORTS) {
			out->supports[i] = (struct launcher_support_amounts){
				.micro = amount_at(r, "requests/cpu", true),
				.bytes = amount_at(r, "requests/memory", false),
				.limit_micro = amount_at(r, "limits/cpu", true),
				.limit_bytes =
					amount_at(r, "limits/memory", false),
			};
		}
	}
}

/* ---- all of it ---- */

void launcher_settings_read(struct launcher_settings *out,
	const struct json_value *object)
{
	const struct json_value *configuration =
		json_value_at(object, "spec/configuration");
	const struct json_value *developer =
		json_value_get(configuration, "developerConfiguration");

	*out = launcher_settings_default;
	read_count(&out->cpu_allocation_ratio,
		json_value_get(developer, "cpuAllocationRatio"));
	read_count(&out->memory_overcommit,
		json_value_get(developer, "memoryOvercommit"));
	read_ratio(&out->overhead_ratio,
		json_value_get(configuration,
			"additionalGuestMemoryOverheadRatio"));
	read_version(out,
		json_value_text_at(object, "status/observedKubeVirtVersion",
			""));
	read_gates(out, developer);
	out->is_selector_too_long = !read_object(out->node_selector,
		json_value_get(developer, "nodeSelectors"));
	(void)read_object(out->bindings,
		json_value_at(configuration, "network/binding"));
	out->has_no_log = json_value_is_object(json_value_at(configuration,
		"virtualMachineOptions/disableSerialConsoleLog"));
	read_supports(out,
		json_value_get(configuration, "supportContainerResources"));
}

static bool gates_equal(const struct launcher_settings *a,
	const struct launcher_settings *b)
{
	return a->checks_hyperv == b->checks_hyperv &&
		a->crosses_architectures == b->crosses_architectures &&
		a->mounts_images == b->mounts_images &&
		a->has_iommufd == b->has_iommufd && a->emulates == b->emulates;
}

static bool supports_equal(const struct launcher_settings *a,
	const struct launcher_settings *b)
{
	for (int i = 0; i < LAUNCHER_SUPPORTS; i++) {
		const struct launcher_support_amounts *x = &a->supports[i];
		const struct launcher_support_amounts *y = &b->supports[i];

		if (x->micro != y->micro || x->bytes != y->bytes ||
			x->limit_micro != y->limit_micro ||
			x->limit_bytes != y->limit_bytes) {
			return false;
		}
	}
	return a->has_no_log == b->has_no_log &&
		strcmp(a->bindings, b->bindings) == 0;
}

bool launcher_settings_equal(const struct launcher_settings *a,
	const struct launcher_settings *b)
{
	return a->cpu_allocation_ratio == b->cpu_allocation_ratio &&
		a->memory_overcommit == b->memory_overcommit &&
		a->overhead_ratio == b->overhead_ratio &&
		a->major == b->major && a->minor == b->minor &&
		gates_equal(a, b) && supports_equal(a, b) &&
		a->is_selector_too_long == b->is_selector_too_long &&
		strcmp(a->node_selector, b->node_selector) == 0;
}
