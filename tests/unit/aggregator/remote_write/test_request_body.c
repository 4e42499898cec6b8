/* Reports as requests of remote write, unpacked again. */
#include "aggregator/remote_write/request_body.h"

#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <remote_write.pb-c.h>
#include <snappy-c.h>
#include <stdlib.h>

static const struct remote_extra no_extra;

/* The request that was made of all that was added; the caller frees it. */
static Remote__WriteRequest *request_of(struct remote_body *body)
{
	size_t len = 0;
	size_t size = 0;
	const char *bytes;
	scoped_free char *raw = NULL;
	Remote__WriteRequest *request;

	remote_body_pack(body, NULL);
	bytes = remote_body_bytes(body, &len);
	assert_int_equal(snappy_uncompressed_length(bytes, len, &size),
		SNAPPY_OK);
	raw = xcalloc(size, 1);
	assert_int_equal(snappy_uncompress(bytes, len, raw, &size), SNAPPY_OK);
	request = remote__write_request__unpack(NULL, size, (uint8_t *)raw);
	assert_non_null(request);
	return request;
}

static const char *label_of(const Remote__TimeSeries *series, const char *name)
{
	for (size_t i = 0; i < series->n_labels; i++) {
		if (strcmp(series->labels[i]->name, name) == 0) {
			return series->labels[i]->value;
		}
	}
	return "";
}

static bool is_called(const Remote__TimeSeries *series, const char *metric,
	const char *label, const char *value)
{
	return strcmp(label_of(series, "__name__"), metric) == 0 &&
		strcmp(label_of(series, label), value) == 0;
}

/* The number'th series of that name with that label. */
static const Remote__TimeSeries *find(const Remote__WriteRequest *request,
	const char *metric, const char *label, const char *value, size_t number)
{
	for (size_t i = 0; i < request->n_timeseries; i++) {
		const Remote__TimeSeries *series = request->timeseries[i];

		if (!is_called(series, metric, label, value)) {
			continue;
		}
		if (number == 0) {
			return series;
		}
		number--;
	}
	return NULL;
}

static void add(struct remote_body *body, const char *node, uint64_t at_ms,
	double used_s)
{
	struct report r = sample_report(1, 100);

	r.cpu.user_us = (uint64_t)(used_s * 1e6);
	(void)remote_body_add(body, node, at_ms, &r);
}

static void assert_in_order(const Remote__WriteRequest *request)
{
	for (size_t i = 0; i < request->n_timeseries; i++) {
		const Remote__TimeSeries *series = request->timeseries[i];

		for (size_t l = 1; l < series->n_labels; l++) {
			assert_true(strcmp(series->labels[l - 1]->name,
					    series->labels[l]->name) < 0);
		}
		for (size_t s = 1; s < series->n_samples; s++) {
			assert_true(series->samples[s - 1]->timestamp <=
				series->samples[s]->timestamp);
		}
	}
}

static void a_series_has_its_samples_in_order_of_time(void **state)
{
	struct remote_body *body = remote_body_new(&no_extra);
	const Remote__TimeSeries *series;
	Remote__WriteRequest *request;

	(void)state;
	add(body, "n2", 2000, 7);
	add(body, "n1", 3000, 3);
	add(body, "n1", 1000, 1.5);
	add(body, "n1", 2000, 2);
	request = request_of(body);
	assert_in_order(request);
	series = find(request, "node_cpu_seconds_total", "node", "n1", 0);
	assert_non_null(series);
	assert_string_equal(label_of(series, "mode"), "user");
	assert_int_equal(series->n_labels, 3);
	assert_int_equal(series->n_samples, 3);
	assert_int_equal(series->samples[0]->timestamp, 1000);
	assert_true(series->samples[0]->value == 1.5);
	assert_true(series->samples[1]->value == 2);
	assert_true(series->samples[2]->value == 3);
	series = find(request, "node_cpu_seconds_total", "node", "n2", 0);
	assert_int_equal(series->n_samples, 1);
	assert_true(series->samples[0]->value == 7);
	/* What one report says by itself. */
	series = find(request, "plimsoll_node_cpu_cores", "node", "n1", 0);
	assert_true(series->samples[0]->value == 4);
	/* What it does not. */
	assert_null(
		find(request, "plimsoll_node_cpu_used_cores", "node", "n1", 0));
	remote__write_request__free_unpacked(request, NULL);
	remote_body_free(body);
}

static void of_two_reports_of_one_moment_the_later_is_told(void **state)
{
	struct remote_body *body = remote_body_new(&no_extra);
	const Remote__TimeSeries *series;
	Remote__WriteRequest *request;

	(void)state;
	add(body, "n1", 1000, 1);
	add(body, "n1", 1000, 2);
	add(body, "n2", 1000, 5);
	add(body, "n1", 2000, 3);
	request = request_of(body);
	series = find(request, "node_cpu_seconds_total", "node", "n1", 0);
	assert_int_equal(series->n_samples, 2);
	assert_true(series->samples[0]->value == 2);
	assert_true(series->samples[1]->value == 3);
	series = find(request, "node_cpu_seconds_total", "node", "n2", 0);
	assert_int_equal(series->n_samples, 1);
	remote__write_request__free_unpacked(request, NULL);
	remote_body_free(body);
}

static void what_is_not_known_is_not_there(void **state)
{
	struct remote_body *body = remote_body_new(&no_extra);
	struct report r = sample_report(1, 100);
	const Remote__TimeSeries *series;
	Remote__WriteRequest *request;

	(void)state;
	r.memory.available_bytes = REPORT_UNKNOWN;
	(void)remote_body_add(body, "n1", 1000, &r);
	add(body, "n1", 2000, 1);
	request = request_of(body);
	series = find(request, "node_memory_MemAvailable_bytes", "node", "n1",
		0);
	assert_int_equal(series->n_samples, 1);
	assert_int_equal(series->samples[0]->timestamp, 2000);
	assert_null(
		find(request, "node_memory_SwapTotal_bytes", "node", "n1", 0));
	remote__write_request__free_unpacked(request, NULL);
	remote_body_free(body);
}

static void a_label_that_changes_is_another_series(void **state)
{
	static const enum kvm_state kvm[] = { KVM_OK, KVM_OK, KVM_MISSING,
		KVM_OK };
	struct remote_body *body = remote_body_new(&no_extra);
	Remote__WriteRequest *request;
	const Remote__TimeSeries *series;

	(void)state;
	for (size_t i = 0; i < count_of(kvm); i++) {
		struct report r = sample_report(i, 100);

		r.kvm.state = kvm[i];
		(void)remote_body_add(body, "n1", 1000 * (i + 1), &r);
	}
	request = request_of(body);
	series = find(request, "plimsoll_node_kvm", "node", "n1", 0);
	assert_string_equal(label_of(series, "state"), "ok");
	assert_int_equal(series->n_samples, 2);
	series = find(request, "plimsoll_node_kvm", "node", "n1", 1);
	assert_string_equal(label_of(series, "state"), "missing");
	series = find(request, "plimsoll_node_kvm", "node", "n1", 2);
	assert_int_equal(series->samples[0]->timestamp, 4000);
	remote__write_request__free_unpacked(request, NULL);
	remote_body_free(body);
}

static void more_samples_than_a_series_holds_go_on_in_another(void **state)
{
	struct remote_body *body = remote_body_new(&no_extra);
	Remote__WriteRequest *request;
	size_t count = 0;
	const Remote__TimeSeries *series;

	(void)state;
	for (size_t i = 0; i < REMOTE_SAMPLES_MAX * 2 + 1; i++) {
		add(body, "n1", 1000 + i, (double)i);
	}
	request = request_of(body);
	assert_in_order(request);
	for (size_t i = 0; i < 3; i++) {
		series = find(request, "node_memory_MemTotal_bytes", "node",
			"n1", i);
		assert_int_equal(series->samples[0]->timestamp, 1000 + count);
		count += series->n_samples;
	}
	assert_int_equal(count, REMOTE_SAMPLES_MAX * 2 + 1);
	remote__write_request__free_unpacked(request, NULL);
	remote_body_free(body);
}

static void pods_have_series_each_and_a_name_twice_counts_once(void **state)
{
	struct remote_body *body = remote_body_new(&no_extra);
	Remote__WriteRequest *request;
	const Remote__TimeSeries *series;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		struct vm_pod pods[] = { sample_vm("b", 1), sample_vm("a", 2),
			sample_vm("b", 3) };
		struct report r = sample_report(i, 100);

		pods[0].cpu_usage_us = 1000000 * (i + 1);
		pods[1].cpu_usage_us = 500000;
		pods[2].cpu_usage_us = 9000000;
		sample_add_vms(&r, pods, i == 1 ? 2 : 3);
		(void)remote_body_add(body, "n1", 1000 * (i + 1), &r);
	}
	request = request_of(body);
	assert_in_order(request);
	series = find(request, "container_cpu_usage_seconds_total", "pod_uid",
		"b", 0);
	assert_string_equal(label_of(series, "node"), "n1");
	assert_int_equal(series->n_samples, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(series->samples[i]->value == (double)(i + 1));
	}
	series = find(request, "container_cpu_usage_seconds_total", "pod_uid",
		"a", 0);
	assert_int_equal(series->n_samples, 3);
	assert_null(find(request, "container_cpu_usage_seconds_total",
		"pod_uid", "a", 1));
	remote__write_request__free_unpacked(request, NULL);
	remote_body_free(body);
}

static void labels_of_the_operator_never_replace_a_series_own(void **state)
{
	static const struct remote_extra extra = {
		.labels = { { "zone", "z" }, { "node", "mine" },
			{ "Az", "1" } },
		.count = 3,
	};
	struct remote_body *body = remote_body_new(&extra);
	Remote__WriteRequest *request;
	const Remote__TimeSeries *series;

	(void)state;
	add(body, "n1", 1000, 1);
	request = request_of(body);
	assert_in_order(request);
	series = find(request, "node_memory_MemTotal_bytes", "node", "n1", 0);
	assert_int_equal(series->n_labels, 4);
	assert_string_equal(label_of(series, "zone"), "z");
	assert_string_equal(label_of(series, "Az"), "1");
	remote__write_request__free_unpacked(request, NULL);
	remote_body_free(body);
}

static void a_request_ends_when_it_has_enough(void **state)
{
	struct remote_body *body = remote_body_new(&no_extra);
	static struct vm_pod pods[REPORT_VMS_MAX];
	struct report r = sample_report(1, 100);
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < REPORT_VMS_MAX; i++) {
		char uid[REPORT_UID_MAX];

		(void)snprintf(uid, sizeof(uid), "uid-%zu", i);
		pods[i] = sample_vm(uid, i);
	}
	sample_add_vms(&r, pods, REPORT_VMS_MAX);
	assert_false(remote_body_add(body, "n1", 1000, &r));
	remote_body_pack(body, NULL);
	assert_non_null(remote_body_bytes(body, &len));
	assert_true(remote_body_samples(body) > (size_t)5 * REPORT_VMS_MAX);
	remote_body_free(body);
	body = remote_body_new(&no_extra);
	r = sample_report(1, 100);
	assert_true(remote_body_add(body, "n1", 1000, &r));
	remote_body_free(body);
}

static void of_nothing_comes_nothing(void **state)
{
	struct remote_body *body = remote_body_new(&no_extra);
	size_t len = 1;

	(void)state;
	remote_body_pack(body, NULL);
	(void)remote_body_bytes(body, &len);
	assert_int_equal(len, 0);
	assert_int_equal(remote_body_samples(body), 0);
	remote_body_free(body);
	remote_body_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_series_has_its_samples_in_order_of_time),
		cmocka_unit_test(
			of_two_reports_of_one_moment_the_later_is_told),
		cmocka_unit_test(what_is_not_known_is_not_there),
		cmocka_unit_test(a_label_that_changes_is_another_series),
		cmocka_unit_test(
			more_samples_than_a_series_holds_go_on_in_another),
		cmocka_unit_test(
			pods_have_series_each_and_a_name_twice_counts_once),
		cmocka_unit_test(
			labels_of_the_operator_never_replace_a_series_own),
		cmocka_unit_test(a_request_ends_when_it_has_enough),
		cmocka_unit_test(of_nothing_comes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
