#include "scheduler/offline/profile_json.h"

#include <math.h>
#include <stdlib.h>

#include "kube/json_fields.h"
#include "lib/memory.h"

/* Ten years, and more cores than any machine has. */
static const struct json_range seconds_range = { 0, 315360000 };
static const struct json_range cores_range = { 0, 1e6 };

static int read_profile(struct usage *out, const struct json_value *object,
	struct error *err)
{
	/* The 95th percentile of a normal distribution is that many deviations
	 * above the mean. */
	const double p95 = 1.6449;
	double seconds = 0;
	double mean = 0;
	double deviation = 0;
	int r = json_fields_number(&seconds, object, "seconds", seconds_range,
		err);

	if (r == 0) {
		r = json_fields_number(&mean, object, "mean_cores", cores_range,
			err);
	}
	if (r == 0 && json_value_get(object, "stdev_cores") != NULL) {
		r = json_fields_number(&deviation, object, "stdev_cores",
			cores_range, err);
	} else if (r == 0 && json_value_get(object, "p95_cores") != NULL) {
		r = json_fields_number(&deviation, object, "p95_cores",
			cores_range, err);
		deviation = fmax(deviation - mean, 0) / p95;
	}
	*out = (struct usage){
		.seconds = fmin(seconds, USAGE_MEMORY_S),
		.mean_cores = mean,
		.square_cores = mean * mean + deviation * deviation,
	};
	return r;
}

int profile_json_read(struct profile_set *out, const struct json_value *input,
	struct error *err)
{
	const struct json_value *list = NULL;
	size_t number = 0;
	int r = json_fields_optional_list(&list, input, "vms", PROFILE_JSON_MAX,
		err);

	for (const struct json_value *v = json_value_first(list);
		v != NULL && r == 0; v = json_value_next(v)) {
		struct usage profile;
		scoped_free char *key = NULL;

		number++;
		r = read_profile(&profile, v, err);
		if (r < 0) {
			return error_wrap(err, r, "VM %zu of 'vms'", number);
		}
		key = xasprintf("%s/%s", json_value_text_at(v, "namespace", ""),
			json_value_text_at(v, "name", ""));
		free(map_put(&out->by_identity, key,
			xmemdup(&profile, sizeof(profile))));
	}
	return r;
}

void profile_json_fini(struct profile_set *profiles)
{
	size_t at = 0;
	void *profile = NULL;

	while (map_next(&profiles->by_identity, &at, NULL, &profile)) {
		free(profile);
	}
	map_fini(&profiles->by_identity);
}

void profile_json_apply(const struct profile_set *profiles, struct pod *pod)
{
	scoped_free char *key =
		xasprintf("%s/%s", pod->namespace, pod->vm_name);
	const struct usage *usage = map_get(&profiles->by_identity, key);

	if (usage != NULL) {
		pod->usage = *usage;
	}
}
