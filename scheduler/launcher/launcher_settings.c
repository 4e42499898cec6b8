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

static bool has_gate(const struct json_value *developer, const char *name)
{
	const struct json_value *gates =
		json_value_get(developer, "featureGates");

	for (const struct json_value *v = json_value_first(gates); v != NULL;
		v = json_value_next(v)) {
		const char *text = json_value_text(v);

		if (text != NULL && strcmp(text, name) == 0) {
			return true;
		}
	}
	return false;
}

static void read_selector(struct launcher_settings *out,
	const struct json_value *object)
{
	scoped_buffer struct buffer text =
		BUFFER_MAX(sizeof(out->node_selector) - 1);
	struct json j = json_into(&text);

	if (!json_value_is_object(object) || json_value_count(object) == 0) {
		return;
	}
	if (!value_json_write(&j, NULL, object) || text.overflowed) {
		out->is_selector_too_long = true;
		return;
	}
	(void)snprintf(out->node_selector, sizeof(out->node_selector), "%s",
		text.data);
}

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
	out->checks_hyperv = has_gate(developer, "HypervStrictCheck");
	out->crosses_architectures = launcher_settings_is_from(out, 1, 9) &&
		has_gate(developer, "CrossArchitectureVirtualization");
	read_selector(out, json_value_get(developer, "nodeSelectors"));
}

bool launcher_settings_equal(const struct launcher_settings *a,
	const struct launcher_settings *b)
{
	return a->cpu_allocation_ratio == b->cpu_allocation_ratio &&
		a->memory_overcommit == b->memory_overcommit &&
		a->overhead_ratio == b->overhead_ratio &&
		a->major == b->major && a->minor == b->minor &&
		a->checks_hyperv == b->checks_hyperv &&
		a->crosses_architectures == b->crosses_architectures &&
		a->is_selector_too_long == b->is_selector_too_long &&
		strcmp(a->node_selector, b->node_selector) == 0;
}
