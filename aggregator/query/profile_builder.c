#include "aggregator/query/profile_builder.h"

#include "lib/memory.h"

#include <math.h>
#include <stdlib.h>

static const uint64_t minute_ms = 60000;
enum { DAY_MINUTES = 1440, MINUTES = PROFILE_BUILDER_DAYS * DAY_MINUTES };

/* The sum over all pods of figure times time, and the time. */
struct amount {
	double sum, ms;
};

struct minute {
	struct amount cores, bytes;
};

struct profile_builder {
	uint64_t end; /* the minute after the last, since 1970 */
	double max_cores, max_bytes;
	struct minute minutes[MINUTES]; /* oldest first */
};

struct profile_builder *profile_builder_new(uint64_t now_ms)
{
	struct profile_builder *builder = xcalloc(1, sizeof(*builder));

	builder->end = now_ms / minute_ms + 1;
	builder->max_cores = NAN;
	builder->max_bytes = NAN;
	return builder;
}

void profile_builder_free(struct profile_builder *builder)
{
	free(builder);
}

uint64_t profile_builder_from_ms(const struct profile_builder *builder)
{
	return builder->end > MINUTES ? (builder->end - MINUTES) * minute_ms
				      : 0;
}

uint64_t profile_builder_first_ms(const struct profile_builder *builder)
{
	size_t i = 0;

	while (i < MINUTES && !(builder->minutes[i].cores.ms > 0) &&
		!(builder->minutes[i].bytes.ms > 0)) {
		i++;
	}
	return (builder->end + i - MINUTES) * minute_ms;
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

void profile_builder_add(struct profile_builder *builder,
	const struct rollup_row *minute)
{
	uint64_t number = minute->from_ms / minute_ms;
	const struct rollup_figure *figures = minute->figures;
	struct minute *to;

	if (number >= builder->end || number + MINUTES < builder->end) {
		return;
	}
	to = &builder->minutes[number + MINUTES - builder->end];
	add_amount(&to->cores, &builder->max_cores,
		&figures[ROLLUP_VM_used_cores], minute->covered_ms);
	add_amount(&to->bytes, &builder->max_bytes,
		&figures[ROLLUP_VM_memory_bytes], minute->covered_ms);
}

/* ---- figures ---- */

struct weighted {
	double value, weight;
};

/* At most a minute, even if several pods share it. */
static double known_ms(const struct amount *amount)
{
	return fmin(amount->ms, (double)minute_ms);
}

/* The weight of each second of a minute. */
static double weight_of(size_t minute)
{
	return exp2((double)minute / DAY_MINUTES - PROFILE_BUILDER_DAYS);
}

static int by_value(const void *a, const void *b)
{
	const struct weighted *x = a;
	const struct weighted *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

struct summary {
	double seconds; /* weighted */
	double mean, stdev, p95;
};

/* Sorts the list. */
static struct summary summarize(struct weighted *list, size_t count)
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

static size_t list_known(struct weighted *list,
	const struct profile_builder *builder, size_t offset)
{
	size_t count = 0;

	for (size_t i = 0; i < MINUTES; i++) {
		const struct amount *amount =
			(const void *)((const char *)&builder->minutes[i] +
				offset);

		if (amount->ms > 0) {
			list[count++] = (struct weighted){
				amount->sum / known_ms(amount),
				weight_of(i) * known_ms(amount) / 1e3,
			};
		}
	}
	return count;
}

static void fill_hours(struct vm_profile *out,
	const struct profile_builder *builder)
{
	struct amount hours[PROFILE_HOURS] = { 0 };

	for (size_t i = 0; i < MINUTES; i++) {
		const struct amount *cores = &builder->minutes[i].cores;
		uint64_t number = builder->end + i - MINUTES;
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

void profile_builder_fill(struct vm_profile *out,
	const struct profile_builder *builder)
{
	scoped_free struct weighted *list = xcalloc(MINUTES, sizeof(*list));
	struct summary s;
	double covered_ms = 0;

	vm_profile_init(out);
	s = summarize(list,
		list_known(list, builder, offsetof(struct minute, cores)));
	out->mean_cores = s.mean;
	out->stdev_cores = s.stdev;
	out->p95_cores = s.p95;
	out->max_cores = builder->max_cores;
	for (size_t i = 0; i < MINUTES; i++) {
		covered_ms += known_ms(&builder->minutes[i].cores);
	}
	if (covered_ms > 0) {
		out->covered_s = covered_ms / 1e3;
		out->seconds = s.seconds;
		fill_hours(out, builder);
	}
	s = summarize(list,
		list_known(list, builder, offsetof(struct minute, bytes)));
	out->mean_memory_bytes = s.mean;
	out->p95_memory_bytes = s.p95;
	out->max_memory_bytes = builder->max_bytes;
}
