#include "proto/remote_write.h"

#include "proto/wire_fields.h"

#include <remote_write.pb-c.h>
#include <string.h>

/* The generated structs are not const. Nothing writes through the result. */
static char *unconst(const char *text)
{
	char *out;

	memcpy(&out, &text, sizeof(out));
	return out;
}

void remote_write_add(struct buffer *out, const struct remote_series *series)
{
	Remote__WriteRequest request = REMOTE__WRITE_REQUEST__INIT;
	Remote__TimeSeries wire = REMOTE__TIME_SERIES__INIT;
	Remote__TimeSeries *all[] = { &wire };
	Remote__Label labels[REMOTE_LABELS_MAX];
	Remote__Label *label_list[REMOTE_LABELS_MAX];
	Remote__Sample samples[REMOTE_SAMPLES_MAX];
	Remote__Sample *sample_list[REMOTE_SAMPLES_MAX];

	for (size_t i = 0; i < series->label_count; i++) {
		remote__label__init(&labels[i]);
		labels[i].name = unconst(series->labels[i].name);
		labels[i].value = unconst(series->labels[i].value);
		label_list[i] = &labels[i];
	}
	for (size_t i = 0; i < series->sample_count; i++) {
		remote__sample__init(&samples[i]);
		samples[i].value = series->samples[i].value;
		samples[i].timestamp = (int64_t)series->samples[i].time_ms;
		sample_list[i] = &samples[i];
	}
	wire.n_labels = series->label_count;
	wire.labels = label_list;
	wire.n_samples = series->sample_count;
	wire.samples = sample_list;
	request.n_timeseries = 1;
	request.timeseries = all;
	wire_append(out, &request.base);
}
