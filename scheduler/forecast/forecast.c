#include "scheduler/forecast/forecast.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kube/quantity.h"
#include "lib/memory.h"

/* The container that runs the VM; the first one if none is called that. */
static const struct json_value *compute_container(const struct json_value *spec)
{
	const struct json_value *list = json_value_get(spec, "containers");

	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (strcmp(json_value_text_at(v, "name", ""), "compute") == 0) {
			return v;
		}
	}
	return json_value_first(list);
}

/* 0 where nothing (legible) is set. */
static double cpus_at(const struct json_value *container, const char *path)
{
	const char *text = json_value_text_at(container, path, "");
	struct quantity q;

	if (quantity_parse(&q, text, NULL) < 0) {
		return 0;
	}
	return (double)quantity_milli(q) / 1000;
}

double forecast_vcpus(const struct json_value *spec)
{
	const struct json_value *compute = compute_container(spec);
	double vcpus = cpus_at(compute, "resources/limits/cpu");

	if (vcpus <= 0) {
		vcpus = round(cpus_at(compute, "resources/requests/cpu") *
			FORECAST_VCPUS_PER_CPU);
	}
	return fmin(fmax(vcpus, 1), FORECAST_VCPUS_MAX);
}

bool forecast_is_dedicated(const struct json_value *spec)
{
	static const char *const labels[] = { "kubevirt.io/cpumanager",
		"cpumanager" };
	const struct json_value *selector =
		json_value_get(spec, "nodeSelector");

	for (size_t i = 0; i < count_of(labels); i++) {
		const char *text =
			json_value_text(json_value_get(selector, labels[i]));

		if (text != NULL && strcmp(text, "true") == 0) {
			return true;
		}
	}
	return false;
}

/* 1 up to the age `from`, then evenly down to 0 at `to`. */
static double fade(int64_t age_us, int64_t from_us, int64_t to_us)
{
	if (age_us <= from_us) {
		return 1;
	}
	return age_us >= to_us
		? 0
		: (double)(to_us - age_us) / (double)(to_us - from_us);
}

static double share_charged(const struct forecast_charge *charge,
	int64_t now_us)
{
	int64_t age_us = now_us - charge->bound_us;

	return charge->is_seen
		? fade(age_us, FORECAST_BOOT_US, FORECAST_SETTLED_US)
		: forecast_unseen(charge, now_us);
}

double forecast_unseen(const struct forecast_charge *charge, int64_t now_us)
{
	return fade(now_us - charge->bound_us, 0, FORECAST_UNSEEN_US);
}

/* fmax() takes a seen figure that is not known for 0. */
double forecast_memory(const struct forecast_charge *charge, int64_t now_us)
{
	double seen = charge->is_seen ? fmax(charge->seen_memory_bytes, 0) : 0;

	return fmax(charge->memory_bytes - seen, 0) *
		share_charged(charge, now_us);
}
