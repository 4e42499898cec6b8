#include "aggregator/query/profile_builder.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>

static const uint64_t minute_ms = 60000;
enum { DAY_MINUTES = 1440, MINUTES = VM_PROFILE_DAYS * DAY_MINUTES };

/* Of one minute, over all pods: figure times time, and the time. */
struct amount {
	double sum, ms;
};

struct minute {
	struct amount cores, bytes;
};

struct vm_profile {
	uint64_t end; /* the minute after the last, since 1970 */
	double max_cores, max_bytes;
	struct minute minutes[MINUTES]; /* oldest first */
};

struct vm_profile *vm_profile_new(uint64_t now_ms)
{
	struct vm_profile *profile = xcalloc(1, sizeof(*profile));

	profile->end = now_ms / minute_ms + 1;
	profile->max_cores = NAN;
	profile->max_bytes = NAN;
	return profile;
}

void vm_profile_free(struct vm_profile *profile)
{
	free(profile);
}

uint64_t vm_profile_from_ms(const struct vm_profile *profile)
{
	return profile->end > MINUTES ? (profile->end - MINUTES) * minute_ms
				      : 0;
}

static void add_amount(struct amount *amount, double *most,
	const struct rollup_figure *figure, double ms)
{
	if (!isfinite(figure->mean)) {
		return;
	}
	amount->sum += figure->mean * ms;
	amount->ms += ms;
	*most = fmax(*most, figure->max); /* NAN loses */
}

void vm_profile_add(struct vm_profile *profile, const struct rollup_row *minute)
{
	uint64_t number = minute->from_ms / minute_ms;
	const struct rollup_figure *figures = minute->figures;
	struct minute *to;

	if (number >= profile->end || number + MINUTES < profile->end) {
		return;
	}
	to = &profile->minutes[number + MINUTES - profile->end];
	add_amount(&to->cores, &profile->max_cores,
		&figures[ROLLUP_VM_USED_CORES], minute->covered_ms);
	add_amount(&to->bytes, &profile->max_bytes,
		&figures[ROLLUP_VM_MEMORY_BYTES], minute->covered_ms);
}

/* ---- figures ---- */

struct weighed {
	double value, weight;
};

/* Pods that share a minute cover no more than it. */
static double known_ms(const struct amount *amount)
{
	return fmin(amount->ms, (double)minute_ms);
}

/* What a second of the minute counts. */
static double weight_of(size_t minute)
{
	return exp2((double)minute / DAY_MINUTES - VM_PROFILE_DAYS);
}

static int by_value(const void *a, const void *b)
{
	const struct weighed *x = a;
	const struct weighed *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

struct summary {
	double seconds; /* weighed */
	double mean, stdev, p95;
};

/* Of what is in list, which it sorts. */
static struct summary summarize(struct weighed *list, size_t count)
{
	struct summary s = { 0, NAN, NAN, NAN };
	double square = 0, mean = 0, below = 0;

	qsort(list, count, sizeof(*list), by_value);
	for (size_t i = 0; i < count; i++) {
		double apart = list[i].value - mean;

		s.seconds += list[i].weight;
		mean += apart * list[i].weight / s.seconds;
		square += list[i].weight * apart * (list[i].value - mean);
	}
	if (count == 0) {
		return s;
	}
	s.mean = mean;
	s.stdev = sqrt(fmax(square, 0) / s.seconds);
	for (size_t i = 0; i < count && below < 0.95 * s.seconds; i++) {
		below += list[i].weight;
		s.p95 = list[i].value;
	}
	return s;
}

static size_t list_known(struct weighed *list, const struct vm_profile *profile,
	size_t offset)
{
	size_t count = 0;

	for (size_t i = 0; i < MINUTES; i++) {
		const struct amount *amount =
			(const void *)((const char *)&profile->minutes[i] +
				offset);

		if (amount->ms > 0) {
			list[count] = (struct weighed){
				amount->sum / known_ms(amount),
				weight_of(i) * known_ms(amount) / 1e3,
			};
			count++;
		}
	}
	return count;
}

static void fill_hours(struct vm_past *out, const struct vm_profile *profile)
{
	struct amount hours[PROFILE_HOURS] = { 0 };

	for (size_t i = 0; i < MINUTES; i++) {
		const struct amount *cores = &profile->minutes[i].cores;
		uint64_t number = profile->end + i - MINUTES;
		struct amount *hour = &hours[number / 60 % PROFILE_HOURS];

		hour->sum += weight_of(i) * cores->sum;
		hour->ms += weight_of(i) * known_ms(cores);
	}
	for (size_t i = 0; i < PROFILE_HOURS; i++) {
		if (hours[i].ms > 0) {
			out->mean_cores_by_hour[i] = hours[i].sum / hours[i].ms;
		}
	}
}

void vm_profile_fill(struct vm_past *out, const struct vm_profile *profile)
{
	scoped_free struct weighed *list = xcalloc(MINUTES, sizeof(*list));
	struct summary s;
	double covered_ms = 0;

	vm_past_init(out);
	s = summarize(list,
		list_known(list, profile, offsetof(struct minute, cores)));
	out->mean_cores = s.mean;
	out->stdev_cores = s.stdev;
	out->p95_cores = s.p95;
	out->max_cores = profile->max_cores;
	for (size_t i = 0; i < MINUTES; i++) {
		covered_ms += known_ms(&profile->minutes[i].cores);
	}
	if (covered_ms > 0) {
		out->covered_s = covered_ms / 1e3;
		out->seconds = s.seconds;
		fill_hours(out, profile);
	}
	s = summarize(list,
		list_known(list, profile, offsetof(struct minute, bytes)));
	out->mean_memory_bytes = s.mean;
	out->p95_memory_bytes = s.p95;
	out->max_memory_bytes = profile->max_bytes;
}
