#include "scheduler/launcher/launcher_settings.h"

#include "kube/quantity.h"

/* Higher ratios are mistakes: a VM would request nothing. */
static const double ratio_max = 1e6;

const struct launcher_settings launcher_settings_default = {
	.cpu_allocation_ratio = 10,
	.memory_overcommit = 100,
	.overhead_ratio = 1,
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
}
