#include "scheduler/offline/profile_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/memory.h"

/* Ten years, and more cores than any machine has. */
static const double seconds_max = 315360000;
static const double cores_max = 1e6;

static int read_figure(double *out, const struct value *object, const char *key,
	double max, struct error *err)
{
	double number = NAN;

	if (!value_number(&number, value_get(object, key))) {
		return error_set(err, -EBADMSG, "'%s' is not a number", key);
	}
	if (!(number >= 0 && number <= max)) {
		return error_set(err, -ERANGE,
			"'%s' is %g, which is not within 0 and %g", key, number,
			max);
	}
	*out = number;
	return 0;
}

static int read_profile(struct vm_profile *out, const struct value *object,
	struct error *err)
{
	/* So far above the mean is the 95th percentile of a normal
	 * distribution, in deviations. */
	const double p95 = 1.6449;
	double seconds = 0;
	double mean = 0;
	double deviation = 0;
	int r = read_figure(&seconds, object, "seconds", seconds_max, err);

	if (r == 0) {
		r = read_figure(&mean, object, "mean_cores", cores_max, err);
	}
	if (r == 0 && value_get(object, "stdev_cores") != NULL) {
		r = read_figure(&deviation, object, "stdev_cores", cores_max,
			err);
	} else if (r == 0 && value_get(object, "p95_cores") != NULL) {
		r = read_figure(&deviation, object, "p95_cores", cores_max,
			err);
		deviation = fmax(deviation - mean, 0) / p95;
	}
	*out = (struct vm_profile){
		.seconds = fmin(seconds, PROFILE_MEMORY_S),
		.mean_cores = mean,
		.square_cores = mean * mean + deviation * deviation,
	};
	return r;
}

int profiles_read(struct profiles *out, const struct value *list,
	struct error *err)
{
	size_t number = 0;

	if (list != NULL && !value_is_array(list)) {
		return error_set(err, -EBADMSG, "'vms' is not a list");
	}
	if (value_count(list) > PROFILES_MAX) {
		return error_set(err, -E2BIG, "'vms' holds more than %d",
			PROFILES_MAX);
	}
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		struct vm_profile profile;
		int r = read_profile(&profile, v, err);
		scoped_free char *key = NULL;

		number++;
		if (r < 0) {
			return error_wrap(err, r, "VM %zu of 'vms'", number);
		}
		key = xasprintf("%s/%s", value_text_at(v, "namespace", ""),
			value_text_at(v, "name", ""));
		free(map_put(&out->by_identity, key,
			xmemdup(&profile, sizeof(profile))));
	}
	return 0;
}

void profiles_fini(struct profiles *profiles)
{
	size_t at = 0;
	void *profile = NULL;

	while (map_next(&profiles->by_identity, &at, NULL, &profile)) {
		free(profile);
	}
	map_fini(&profiles->by_identity);
}

void profiles_apply(const struct profiles *profiles, struct pod *pod)
{
	scoped_free char *key =
		xasprintf("%s/%s", pod->namespace, pod->vm_name);
	const struct vm_profile *past = map_get(&profiles->by_identity, key);

	if (past != NULL) {
		pod->past = *past;
	}
}
