/* Packed reports as the disk may return them from the remote write queue: any
 * bytes. All readable reports must become a valid request: it unpacks, and its
 * labels and samples are in order.
 *
 * The input is a list of reports, each after its length in two bytes. */
#include "aggregator/remote_write/request_body.h"
#include "lib/memory.h"
#include "proto/wire.h"

#include <remote_write.pb-c.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Engines reject labels that are not UTF-8. */
static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text <= ' ' || *text > '~') {
			return false;
		}
	}
	return true;
}

static void check_series(const Remote__TimeSeries *series)
{
	if (series->n_labels < 2 || series->n_samples == 0) {
		abort();
	}
	for (size_t i = 0; i < series->n_labels; i++) {
		const Remote__Label *label = series->labels[i];

		if (label->value[0] == '\0' || !is_printable(label->value) ||
			(i > 0 &&
				strcmp(series->labels[i - 1]->name,
					label->name) >= 0)) {
			abort();
		}
	}
	for (size_t i = 1; i < series->n_samples; i++) {
		if (series->samples[i - 1]->timestamp >=
			series->samples[i]->timestamp) {
			abort();
		}
	}
}

static void check_request(const char *bytes, size_t len)
{
	scoped_free char *raw = NULL;
	Remote__WriteRequest *request;
	size_t size = 0;

	if (snappy_uncompressed_length(bytes, len, &size) != SNAPPY_OK) {
		abort();
	}
	raw = xcalloc(size, 1);
	if (snappy_uncompress(bytes, len, raw, &size) != SNAPPY_OK) {
		abort();
	}
	request = remote__write_request__unpack(NULL, size, (uint8_t *)raw);
	if (request == NULL) {
		abort();
	}
	for (size_t i = 0; i < request->n_timeseries; i++) {
		check_series(request->timeseries[i]);
	}
	remote__write_request__free_unpacked(request, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct request_labels extra = { .labels = { { "cluster",
							     "c" } },
		.count = 1 };
	static const char *const nodes[] = { "n1", "n2" };
	struct request_body *body = request_body_new(&extra);
	const char *bytes;
	size_t at = 0;
	size_t count = 0;
	size_t len;

	while (size - at >= 2) {
		size_t want = (size_t)data[at] << 8 | data[at + 1];
		struct report report;

		at += 2;
		want = want < size - at ? want : size - at;
		if (wire_unpack_report(&report, data + at, want, NULL) == 0) {
			(void)request_body_add(body, nodes[count % 2],
				1000 - count / 4, &report);
			report_fini(&report);
			count++;
		}
		at += want;
	}
	request_body_pack(body, NULL);
	bytes = request_body_bytes(body, &len);
	if (len > 0) {
		check_request(bytes, len);
	}
	request_body_free(body);
	return 0;
}
