/* Packs reports as remote write requests and unpacks them. */
#include "aggregator/remote_write/request_body.h"

#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <remote_write.pb-c.h>
#include <snappy-c.h>
#include <stdlib.h>

bool __wrap_store_names_find(struct store_name *out,
	const struct store_names *names, const char *pod_uid, const char *node);

/* Pod "a" is on node "n1" and belongs to the VM ns/vm. */
bool __wrap_store_names_find(struct store_name *out,
	const struct store_names *names, const char *pod_uid, const char *node)
{
	assert_non_null(names);
	*out = (struct store_name){ .namespace = "ns", .name = "vm" };
	return strcmp(pod_uid, "a") == 0 && strcmp(node, "n1") == 0;
}

struct fixture {
	struct request_body *body;
	Remote__WriteRequest *request; /* after pack() */
};

static int setup(void **state)
{
	static const struct request_labels no_extra;
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->body = request_body_new(&no_extra);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->request != NULL) {
		remote__write_request__free_unpacked(f->request, NULL);
	}
	request_body_free(f->body);
	free(f);
	return 0;
}

/* Packs all added reports, and unpacks the request. */
static void pack_with(struct fixture *f, const struct store_names *names)
{
	size_t len = 0;
	size_t size = 0;
	const char *bytes;
	scoped_free char *raw = NULL;

	request_body_pack(f->body, names);
	bytes = request_body_bytes(f->body, &len);
	assert_int_equal(snappy_uncompressed_length(bytes, len, &size),
		SNAPPY_OK);
	raw = xcalloc(size, 1);
	assert_int_equal(snappy_uncompress(bytes, len, raw, &size), SNAPPY_OK);
	f->request = remote__write_request__unpack(NULL, size, (uint8_t *)raw);
	assert_non_null(f->request);
}

static void pack(struct fixture *f)
{
	pack_with(f, NULL);
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

/* The series of that name and label with this index. */
static const Remote__TimeSeries *find(const struct fixture *f,
	const char *metric, const char *label, const char *value, size_t number)
{
	for (size_t i = 0; i < f->request->n_timeseries; i++) {
		const Remote__TimeSeries *series = f->request->timeseries[i];

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

static void add(struct fixture *f, const char *node, uint64_t at_ms,
	double used_s)
{
	struct report r = sample_report(1, 100);

	r.cpu.user_us = (uint64_t)(used_s * 1e6);
	(void)request_body_add(f->body, node, at_ms, &r);
}

static void assert_in_order(const struct fixture *f)
{
	for (size_t i = 0; i < f->request->n_timeseries; i++) {
		const Remote__TimeSeries *series = f->request->timeseries[i];

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

static void sorts_the_samples_of_a_series_by_time(void **state)
{
	struct fixture *f = *state;
	const Remote__TimeSeries *series;

	add(f, "n2", 2000, 7);
	add(f, "n1", 3000, 3);
	add(f, "n1", 1000, 1.5);
	add(f, "n1", 2000, 2);
	pack(f);
	assert_in_order(f);
	series = find(f, "plimsoll_node_cpu_seconds_total", "node", "n1", 0);
	assert_non_null(series);
	assert_string_equal(label_of(series, "mode"), "user");
	assert_int_equal(series->n_labels, 3);
	assert_int_equal(series->n_samples, 3);
	assert_int_equal(series->samples[0]->timestamp, 1000);
	assert_true(series->samples[0]->value == 1.5);
	assert_true(series->samples[1]->value == 2);
	assert_true(series->samples[2]->value == 3);
	series = find(f, "plimsoll_node_cpu_seconds_total", "node", "n2", 0);
	assert_int_equal(series->n_samples, 1);
	assert_true(series->samples[0]->value == 7);
	/* A figure that one report has. */
	series = find(f, "plimsoll_node_cpu_cores", "node", "n1", 0);
	assert_true(series->samples[0]->value == 4);
	/* A rate that needs two reports. */
	assert_null(find(f, "plimsoll_node_cpu_used_cores", "node", "n1", 0));
}

static void sends_the_later_of_two_reports_of_one_millisecond(void **state)
{
	struct fixture *f = *state;
	const Remote__TimeSeries *series;

	add(f, "n1", 1000, 1);
	add(f, "n1", 1000, 2);
	add(f, "n2", 1000, 5);
	add(f, "n1", 2000, 3);
	pack(f);
	assert_int_equal(request_body_same_time(f->body), 1);
	series = find(f, "plimsoll_node_cpu_seconds_total", "node", "n1", 0);
	assert_int_equal(series->n_samples, 2);
	assert_true(series->samples[0]->value == 2);
	assert_true(series->samples[1]->value == 3);
	series = find(f, "plimsoll_node_cpu_seconds_total", "node", "n2", 0);
	assert_int_equal(series->n_samples, 1);
}

static void leaves_out_unknown_figures(void **state)
{
	struct fixture *f = *state;
	struct report r = sample_report(1, 100);
	const Remote__TimeSeries *series;

	r.memory.available_bytes = REPORT_UNKNOWN;
	(void)request_body_add(f->body, "n1", 1000, &r);
	add(f, "n1", 2000, 1);
	pack(f);
	series = find(f, "node_memory_MemAvailable_bytes", "node", "n1", 0);
	assert_int_equal(series->n_samples, 1);
	assert_int_equal(series->samples[0]->timestamp, 2000);
	assert_null(find(f, "node_memory_SwapTotal_bytes", "node", "n1", 0));
}

static void starts_another_series_when_a_label_changes(void **state)
{
	static const enum kvm_state kvm[] = { KVM_OK, KVM_OK, KVM_MISSING,
		KVM_OK };
	struct fixture *f = *state;
	const Remote__TimeSeries *series;

	for (size_t i = 0; i < count_of(kvm); i++) {
		struct report r = sample_report(i, 100);

		r.kvm.state = kvm[i];
		(void)request_body_add(f->body, "n1", 1000 * (i + 1), &r);
	}
	pack(f);
	series = find(f, "plimsoll_node_kvm", "node", "n1", 0);
	assert_string_equal(label_of(series, "state"), "ok");
	assert_int_equal(series->n_samples, 2);
	series = find(f, "plimsoll_node_kvm", "node", "n1", 1);
	assert_string_equal(label_of(series, "state"), "missing");
	series = find(f, "plimsoll_node_kvm", "node", "n1", 2);
	assert_int_equal(series->samples[0]->timestamp, 4000);
}

static void splits_a_series_with_too_many_samples(void **state)
{
	struct fixture *f = *state;
	size_t count = 0;
	const Remote__TimeSeries *series;

	for (size_t i = 0; i < REMOTE_SAMPLES_MAX * 2 + 1; i++) {
		add(f, "n1", 1000 + i, (double)i);
	}
	pack(f);
	assert_in_order(f);
	for (size_t i = 0; i < 3; i++) {
		series = find(f, "node_memory_MemTotal_bytes", "node", "n1", i);
		assert_int_equal(series->samples[0]->timestamp, 1000 + count);
		count += series->n_samples;
	}
	assert_int_equal(count, REMOTE_SAMPLES_MAX * 2 + 1);
}

static void writes_each_pod_once(void **state)
{
	struct fixture *f = *state;
	const Remote__TimeSeries *series;

	for (uint64_t i = 0; i < 3; i++) {
		struct vm_pod pods[] = { sample_vm("b", 1), sample_vm("a", 2),
			sample_vm("b", 3) };
		struct report r = sample_report(i, 100);

		pods[0].cpu_usage_us = 1000000 * (i + 1);
		pods[1].cpu_usage_us = 500000;
		pods[2].cpu_usage_us = 9000000;
		sample_add_vms(&r, pods, i == 1 ? 2 : 3);
		(void)request_body_add(f->body, "n1", 1000 * (i + 1), &r);
	}
	pack(f);
	assert_in_order(f);
	series =
		find(f, "container_cpu_usage_seconds_total", "pod_uid", "b", 0);
	assert_string_equal(label_of(series, "node"), "n1");
	assert_int_equal(series->n_samples, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_true(series->samples[i]->value == (double)(i + 1));
	}
	series =
		find(f, "container_cpu_usage_seconds_total", "pod_uid", "a", 0);
	assert_int_equal(series->n_samples, 3);
	assert_null(find(f, "container_cpu_usage_seconds_total", "pod_uid", "a",
		1));
}

static void names_a_pod_on_its_own_node_only(void **state)
{
	static const char *const nodes[] = { "n1", "n2" };
	static const char metric[] = "container_cpu_usage_seconds_total";
	static const int names; /* see __wrap_store_names_find() */
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(nodes); i++) {
		struct vm_pod pod = sample_vm("a", 1);
		struct report r = sample_report(1, 100);

		sample_add_vms(&r, &pod, 1);
		(void)request_body_add(f->body, nodes[i], 1000, &r);
	}
	pack_with(f, (const void *)&names);
	assert_string_equal(
		label_of(find(f, metric, "node", "n1", 0), "namespace"), "ns");
	assert_string_equal(label_of(find(f, metric, "node", "n1", 0), "name"),
		"vm");
	assert_string_equal(
		label_of(find(f, metric, "node", "n2", 0), "pod_uid"), "a");
	assert_string_equal(
		label_of(find(f, metric, "node", "n2", 0), "namespace"), "");
	assert_string_equal(label_of(find(f, metric, "node", "n2", 0), "name"),
		"");
}

static void operator_labels_do_not_replace_a_series_own(void **state)
{
	static const struct request_labels extra = {
		.labels = { { "zone", "z" }, { "node", "mine" },
			{ "Az", "1" } },
		.count = 3,
	};
	struct fixture *f = *state;
	const Remote__TimeSeries *series;

	request_body_free(f->body);
	f->body = request_body_new(&extra);
	add(f, "n1", 1000, 1);
	pack(f);
	assert_in_order(f);
	series = find(f, "node_memory_MemTotal_bytes", "node", "n1", 0);
	assert_int_equal(series->n_labels, 4);
	assert_string_equal(label_of(series, "zone"), "z");
	assert_string_equal(label_of(series, "Az"), "1");
}

static void a_request_has_a_limit(void **state)
{
	struct fixture *f = *state;
	static struct vm_pod pods[REPORT_VMS_MAX];
	struct report small = sample_report(1, 100);
	struct report r = sample_report(1, 100);
	size_t len = 0;

	for (size_t i = 0; i < REPORT_VMS_MAX; i++) {
		char uid[REPORT_UID_MAX];

		(void)snprintf(uid, sizeof(uid), "uid-%zu", i);
		pods[i] = sample_vm(uid, i);
	}
	sample_add_vms(&r, pods, REPORT_VMS_MAX);
	assert_true(request_body_add(f->body, "n2", 1000, &small));
	assert_false(request_body_add(f->body, "n1", 1000, &r));
	request_body_pack(f->body, NULL);
	assert_non_null(request_body_bytes(f->body, &len));
	assert_true(request_body_samples(f->body) > (size_t)5 * REPORT_VMS_MAX);
}

static void a_request_without_reports_is_empty(void **state)
{
	struct fixture *f = *state;
	size_t len = 1;

	request_body_pack(f->body, NULL);
	(void)request_body_bytes(f->body, &len);
	assert_int_equal(len, 0);
	assert_int_equal(request_body_samples(f->body), 0);
	request_body_free(NULL);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(sorts_the_samples_of_a_series_by_time),
		test(sends_the_later_of_two_reports_of_one_millisecond),
		test(leaves_out_unknown_figures),
		test(starts_another_series_when_a_label_changes),
		test(splits_a_series_with_too_many_samples),
		test(writes_each_pod_once),
		test(names_a_pod_on_its_own_node_only),
		test(operator_labels_do_not_replace_a_series_own),
		test(a_request_has_a_limit),
		test(a_request_without_reports_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
