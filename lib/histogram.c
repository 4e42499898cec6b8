#include "lib/histogram.h"

#include "lib/exposition.h"

void histogram_observe(struct histogram *histogram,
	const struct histogram_shape *shape, double value)
{
	double bound = shape->first;
	size_t i = 0;

	while (i < shape->bounds && value > bound) {
		bound *= shape->factor;
		i++;
	}
	histogram->counts[i]++;
	histogram->count++;
	histogram->sum += value;
}

static void write_bucket(struct buffer *out, const char *name,
	const char *labels, const char *bound, uint64_t count)
{
	buffer_printf(out, "%s_bucket{%s%sle=\"%s\"}", name, labels,
		*labels == '\0' ? "" : ",", bound);
	exposition_value(out, (double)count);
}

static void write_end(struct buffer *out, const char *name, const char *end,
	const char *labels, double value)
{
	buffer_printf(out, "%s_%s", name, end);
	if (*labels != '\0') {
		buffer_printf(out, "{%s}", labels);
	}
	exposition_value(out, value);
}

void histogram_write(struct buffer *out, const char *name, const char *labels,
	const struct histogram *histogram, const struct histogram_shape *shape)
{
	double bound = shape->first;
	uint64_t below = 0;

	for (size_t i = 0; i < shape->bounds; i++) {
		scoped_buffer struct buffer text = BUFFER_MAX(32);

		buffer_printf(&text, "%.15g", bound);
		below += histogram->counts[i];
		write_bucket(out, name, labels, text.data, below);
		bound *= shape->factor;
	}
	write_bucket(out, name, labels, "+Inf", histogram->count);
	write_end(out, name, "sum", labels, histogram->sum);
	write_end(out, name, "count", labels, (double)histogram->count);
}
