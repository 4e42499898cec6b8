/* Requests of remote write, read back by generated code. */
#include "proto/remote_write.h"

#include <remote_write.pb-c.h>

#include "tests/support/cm.h"

static Remote__WriteRequest *unpack(const struct buffer *b)
{
	Remote__WriteRequest *request = remote__write_request__unpack(NULL,
		b->len, (const uint8_t *)b->data);

	assert_non_null(request);
	return request;
}

static void appended_series_make_one_request(void **state)
{
	static const struct remote_series first = {
		.labels = { { "__name__", "up" }, { "node", "n1" } },
		.label_count = 2,
		.samples = { { 1.5, 1700000000123 }, { 0, 1700000002123 } },
		.sample_count = 2,
	};
	static const struct remote_series second = {
		.labels = { { "__name__", "down" } },
		.label_count = 1,
		.samples = { { -3, 1 } },
		.sample_count = 1,
	};
	scoped_buffer struct buffer b = BUFFER_MAX(1000);
	Remote__WriteRequest *request;
	const Remote__TimeSeries *one;

	(void)state;
	remote_write_add(&b, &first);
	remote_write_add(&b, &second);
	request = unpack(&b);
	assert_int_equal(request->n_timeseries, 2);
	one = request->timeseries[0];
	assert_int_equal(one->n_labels, 2);
	assert_string_equal(one->labels[0]->name, "__name__");
	assert_string_equal(one->labels[0]->value, "up");
	assert_string_equal(one->labels[1]->name, "node");
	assert_string_equal(one->labels[1]->value, "n1");
	assert_int_equal(one->n_samples, 2);
	assert_true(one->samples[0]->value == 1.5);
	assert_int_equal(one->samples[0]->timestamp, 1700000000123);
	assert_true(one->samples[1]->value == 0);
	assert_int_equal(one->samples[1]->timestamp, 1700000002123);
	one = request->timeseries[1];
	assert_int_equal(one->n_labels, 1);
	assert_string_equal(one->labels[0]->value, "down");
	assert_true(one->samples[0]->value == -3);
	remote__write_request__free_unpacked(request, NULL);
}

/* As prometheus.io's specification writes it: TimeSeries is field 1 of the
 * request, labels 1 and samples 2 of it, value 1 and timestamp 2 of those. */
static void writes_the_bytes_of_the_specification(void **state)
{
	static const struct remote_series series = {
		.labels = { { "a", "b" } },
		.label_count = 1,
		.samples = { { 1, 2 } },
		.sample_count = 1,
	};
	static const uint8_t expected[] = { 0x0a, 21, 0x0a, 6, 0x0a, 1, 'a',
		0x12, 1, 'b', 0x12, 11, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f,
		0x10, 2 };
	scoped_buffer struct buffer b = BUFFER_MAX(1000);

	(void)state;
	remote_write_add(&b, &series);
	assert_int_equal(b.len, sizeof(expected));
	assert_memory_equal(b.data, expected, sizeof(expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_series_make_one_request),
		cmocka_unit_test(writes_the_bytes_of_the_specification),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
