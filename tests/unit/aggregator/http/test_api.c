#include "aggregator/http/api.h"

#include "aggregator/live/identity.h"
#include "aggregator/query/profile_cache.h"
#include "lib/clock.h"
#include "tests/support/golden.h"
#include "tests/unit/aggregator/http/served_api.h"
#include "tests/unit/proto/full_report.h"

struct fixture {
	struct served_api served;
	struct identities *identities;
	struct live *live;
};

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };

static void add_node(struct fixture *f, const char *name, size_t count)
{
	struct store_batch *batch = store_batch_new(name, run_a);
	uint64_t now_us = clock_monotonic_us();
	uint64_t now_ms = clock_wall_us() / 1000;

	for (size_t i = 0; i < count; i++) {
		uint64_t age_us = (count - i) * 2000000;
		struct report r =
			steady_report(i + 1, 100 + 2 * (double)i, 1.5);
		struct live_sample sample = { name, run_a, &r,
			(int64_t)now_us - (int64_t)age_us, 0 };

		r.kvm.state = KVM_OK;
		assert_int_equal(live_add(f->live, &sample, now_us, NULL), 0);
		scratch_add(batch, &r, now_ms - age_us / 1000);
	}
	assert_true(scratch_write(f->served.s, batch));
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct api *api = &f->served.api;

	served_api_open(&f->served);
	f->identities = identities_new();
	f->live = live_new(42, f->identities);
	api->live = f->live;
	api->profiles = profile_cache_new(f->served.s->store, NULL);
	api->identities = f->identities;
	api->metrics_vms = 100;
	for (size_t i = 0; i < STORE_TIERS; i++) {
		api->retention_us[i] = SERVED_API_KEPT_US;
	}
	served_api_serve(&f->served);
	add_node(f, "n2", 1);
	add_node(f, "n1", 10);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	served_api_close(&f->served);
	profile_cache_free(f->served.api.profiles);
	live_free(f->live);
	identities_free(f->identities);
	free(f);
	return 0;
}

static const char *send_request(struct fixture *f, const char *method,
	const char *path, const char *accept, int status)
{
	scoped_free char *header = xasprintf("Accept: %s\r\n", accept);

	return served_api_request(&f->served, method, path, header, status);
}

static void assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL) {
		fail_msg("lacks %s: ...%s", part,
			strlen(text) > 600 ? text + strlen(text) - 600 : text);
	}
}

static void lists_nodes_by_name(void **state)
{
	const char *body = send_request(*state, "GET", "/v1/nodes", "*/*", 200);

	assert_has(body, "{\"epoch\":42,\"rev\":11,\"now\":");
	assert_has(body, "\"nodes\":[{\"name\":\"n1\",\"age_s\":");
	assert_has(body,
		"\"state\":\"fresh\",\"cpu\":{\"cores\":4,"
		"\"used_cores\":1.5,\"used_cores_10s\":1.5,");
	assert_has(body,
		"\"memory\":{\"total_bytes\":1000,"
		"\"available_bytes\":600,");
	assert_has(body, "\"kvm\":{\"state\":\"ok\"");
	assert_has(body, "\"vms\":[]");
	assert_true(strstr(body, "\"n1\"") < strstr(body, "\"n2\""));
	assert_null(strstr(body, "null"));
	assert_has(body, "\"p95_cores_1h\":");
}

static void serves_one_node(void **state)
{
	const char *body =
		send_request(*state, "GET", "/v1/nodes/n2", "*/*", 200);

	assert_int_equal(strncmp(body, "{\"name\":\"n2\",", 13), 0);
}

/* A node with one pod, which used this many cores for 2 s. */
static void add_pod(struct fixture *f, const char *node, const char *uid,
	double cores)
{
	uint64_t now_us = clock_monotonic_us();

	for (uint64_t i = 0; i < 2; i++) {
		struct report r = sample_report(i + 1, 100 + 2 * (double)i);
		struct vm_pod vm = sample_vm(uid, 1);
		struct live_sample sample = { node, run_a, &r,
			(int64_t)(now_us - (1 - i) * 2000000), 0 };

		vm.cpu_usage_us = (uint64_t)(cores * 2e6) * i;
		sample_add_vms(&r, &vm, 1);
		assert_int_equal(live_add(f->live, &sample, now_us, NULL), 0);
		report_fini(&r);
	}
}

static void lists_vms_by_node_with_and_without_names(void **state)
{
	struct fixture *f = *state;
	const char *body;

	identities_put(f->identities, "p1",
		&(struct identity){ "ns", "vm-b", "u1", "n3" });
	identities_put(f->identities, "p2",
		&(struct identity){ "ns", "vm-a", "", "n4" });
	add_pod(f, "n3", "p1", 0.5);
	add_pod(f, "n4", "p2", 1);
	add_pod(f, "n5", "p3", 2);
	body = send_request(f, "GET", "/v1/vms", "*/*", 200);
	assert_has(body, "{\"epoch\":42,\"rev\":17,\"now\":");
	assert_has(body, "{\"pod_uid\":\"p3\",\"node\":\"n5\",");
	assert_has(body,
		"{\"namespace\":\"ns\",\"name\":\"vm-a\","
		"\"pod_uid\":\"p2\",\"node\":\"n4\",\"age_s\":");
	assert_has(body,
		"\"vms\":[{\"namespace\":\"ns\",\"name\":\"vm-b\","
		"\"vmi_uid\":\"u1\",\"pod_uid\":\"p1\",");
	assert_has(body, "\"state\":\"fresh\",\"used_cores\":0.5,");
	assert_true(strstr(body, "n3") < strstr(body, "n4"));
	body = send_request(f, "GET", "/v1/nodes/n3", "*/*", 200);
	assert_has(body,
		"\"vms\":[{\"pod_uid\":\"p1\",\"namespace\":\"ns\","
		"\"name\":\"vm-b\",\"used_cores\":0.5,");
}

static void serves_a_vm_with_all_its_pods(void **state)
{
	struct fixture *f = *state;
	const char *body;

	identities_put(f->identities, "p1",
		&(struct identity){ "ns", "vm", "u1", "n3" });
	identities_put(f->identities, "p2",
		&(struct identity){ "ns", "vm", "u1", "n4" });
	identities_put(f->identities, "p3",
		&(struct identity){ "ns2", "vm", "u2", "n5" });
	add_pod(f, "n3", "p1", 0.5);
	add_pod(f, "n4", "p2", 1);
	add_pod(f, "n5", "p3", 2);
	body = send_request(f, "GET", "/v1/vms/ns/vm", "*/*", 200);
	assert_has(body, "{\"namespace\":\"ns\",\"name\":\"vm\",\"pods\":[{");
	assert_has(body, "\"vmi_uid\":\"u1\",");
	assert_has(body, "\"pod_uid\":\"p1\",\"node\":\"n3\",");
	assert_has(body, "\"pod_uid\":\"p2\",\"node\":\"n4\",");
	assert_null(strstr(body, "p3"));
}

static void another_nodes_claim_to_a_pod_has_no_name(void **state)
{
	struct fixture *f = *state;
	const char *body;

	identities_put(f->identities, "p1",
		&(struct identity){ "ns", "vm", "u1", "n3" });
	add_pod(f, "n3", "p1", 0.5);
	add_pod(f, "n9", "p1", 4);
	body = send_request(f, "GET", "/v1/vms/ns/vm", "*/*", 200);
	assert_has(body, "\"node\":\"n3\",");
	assert_null(strstr(body, "n9"));
	body = send_request(f, "GET", "/v1/vms", "*/*", 200);
	assert_has(body, "{\"pod_uid\":\"p1\",\"node\":\"n9\",");
	body = send_request(f, "GET", "/v1/nodes/n9", "*/*", 200);
	assert_has(body, "\"vms\":[{\"pod_uid\":\"p1\",\"used_cores\":4,");
	body = send_request(f, "GET", "/metrics", "*/*", 200);
	assert_has(body,
		"plimsoll_vm_used_cores{node=\"n9\",pod_uid=\"p1\"} 4\n");
	assert_has(body,
		"plimsoll_vm_used_cores{node=\"n3\",pod_uid=\"p1\","
		"namespace=\"ns\",name=\"vm\"} 0.5\n");
}

/* The API server has not stated a node for the pod yet. */
static void a_pod_without_a_stated_node_has_no_name(void **state)
{
	struct fixture *f = *state;
	const char *body;

	identities_put(f->identities, "p1",
		&(struct identity){ "ns", "vm", "u1", "" });
	add_pod(f, "n3", "p1", 0.5);
	(void)send_request(f, "GET", "/v1/vms/ns/vm", "*/*", 404);
	body = send_request(f, "GET", "/v1/vms", "*/*", 200);
	assert_has(body, "{\"pod_uid\":\"p1\",\"node\":\"n3\",");
}

/* Nine intervals of 2 s until 2 s ago. */
static void serves_node_history(void **state)
{
	const char *body = send_request(*state, "GET",
		"/v1/nodes/n1/history?step=5s&fields=used_cores", "*/*", 200);

	assert_has(body, "{\"node\":\"n1\",\"step_s\":5,\"from\":");
	assert_has(body, "\"fields\":[\"cpu.used_cores\"],\"rows\":[[");
	assert_has(body, ",null],");
	assert_has(body, ",1.5],");
}

static void a_node_is_removed_when_it_is_not_fresh(void **state)
{
	struct fixture *f = *state;
	struct report r = steady_report(1, 100, 1);
	uint64_t now_us = clock_monotonic_us();
	struct live_sample sample = { "old", run_a, &r,
		(int64_t)now_us - 16000000, 0 };

	f->served.api.may_delete = true;
	assert_int_equal(live_add(f->live, &sample, now_us, NULL), 0);
	assert_has(send_request(f, "DELETE", "/v1/nodes/n1", "*/*", 409),
		"'n1' is fresh");
	assert_has(send_request(f, "DELETE", "/v1/nodes/n1/x", "*/*", 405),
		"only GET");
	(void)send_request(f, "DELETE", "/v1/nodes/old", "*/*", 204);
	assert_null(live_find(f->live, "old"));
	assert_has(send_request(f, "DELETE", "/v1/nodes/old", "*/*", 404),
		"no node 'old'");
	assert_has(send_request(f, "DELETE", "/v1/nodes", "*/*", 405),
		"use GET");
	assert_null(strstr(send_request(f, "GET", "/metrics", "*/*", 200),
		"\"old\""));
}

/* Then anybody who reaches the port could remove it. */
static void no_node_is_removed_without_authorization(void **state)
{
	struct fixture *f = *state;

	assert_has(send_request(f, "DELETE", "/v1/nodes/n1", "*/*", 403),
		"--http-auth");
	assert_non_null(live_find(f->live, "n1"));
}

static void a_removed_node_keeps_its_history(void **state)
{
	struct fixture *f = *state;
	const char *body;

	assert_true(live_remove(f->live, "n1"));
	(void)send_request(f, "GET", "/v1/nodes/n1", "*/*", 404);
	body = send_request(f, "GET",
		"/v1/nodes/n1/history?fields=used_cores&step=60s", "*/*", 200);
	assert_has(body, "{\"node\":\"n1\"");
	assert_has(body, ",1.5]");
}

static void serves_node_history_as_csv(void **state)
{
	const char *body = send_request(*state, "GET",
		"/v1/nodes/n1/"
		"history?step=5s&fields=used_cores,io.pressure_some",
		"text/csv", 200);

	assert_has(body, "time,cpu.used_cores,io.pressure_some\n1");
	assert_has(body, ",,\n");
	assert_has(body, ",1.5,0\n");
}

/* Two reports 2 s apart: the pod used this many cores in between. */
static void store_pod(struct fixture *f, const char *node, const char *uid,
	double cores)
{
	struct store_batch *batch = store_batch_new(node, run_a);
	uint64_t now_ms = clock_wall_us() / 1000;

	for (uint64_t i = 0; i < 2; i++) {
		struct report r = sample_report(i + 1, 100 + 2 * (double)i);
		struct vm_pod vm = sample_vm(uid, 1);

		vm.cpu_usage_us = (uint64_t)(cores * 2e6) * i;
		sample_add_vms(&r, &vm, 1);
		scratch_add(batch, &r, now_ms - (2 - i) * 2000);
		report_fini(&r);
	}
	assert_true(scratch_write(f->served.s, batch));
	assert_int_equal(
		store_identify(f->served.s->store,
			&(struct store_vm){ uid, "ns", "vm", "u1", node }, NULL,
			NULL, NULL),
		0);
	add_node(f, "n2", 1); /* written after the identity */
}

static void serves_the_history_of_a_vm_that_no_longer_runs(void **state)
{
	const char *body;

	store_pod(*state, "n7", "p7", 0.5);
	body = send_request(*state, "GET", "/v1/vms/ns/vm/history?step=1m",
		"*/*", 200);
	assert_has(body,
		"{\"namespace\":\"ns\",\"name\":\"vm\",\"step_s\":60,");
	assert_has(body, "\"fields\":[\"used_cores\",\"contention\",");
	assert_has(body, ",0.5,0,null,null]");
	body = send_request(*state, "GET", "/v1/vms/ns/vm/history?step=10s",
		"text/csv", 200);
	assert_has(body, "time,used_cores,contention,memory_bytes,");
	assert_has(body, ",0.5,0,,\n");
}

static void serves_the_profile_of_a_vm_that_no_longer_runs(void **state)
{
	const char *body;

	store_pod(*state, "n7", "p7", 0.5);
	body = send_request(*state, "GET", "/v1/vms/ns/vm", "*/*", 200);
	assert_has(body,
		"{\"namespace\":\"ns\",\"name\":\"vm\",\"pods\":[],"
		"\"profile\":{\"namespace\":\"ns\",\"name\":\"vm\","
		"\"days\":7,\"covered_s\":2,\"seconds\":");
	assert_has(body, ",\"mean_cores\":0.5,\"stdev_cores\":0,");
	assert_has(body, "\"mean_cores_by_hour\":[");
	/* The profile is cached for some seconds. */
	scratch_close(((struct fixture *)*state)->served.s);
	(void)send_request(*state, "GET", "/v1/vms/ns/vm", "*/*", 200);
}

static void a_running_vm_without_stored_history_has_gaps_only(void **state)
{
	struct fixture *f = *state;
	const char *body;

	identities_put(f->identities, "p1",
		&(struct identity){ "ns", "vm", "u1", "n3" });
	add_pod(f, "n3", "p1", 0.5);
	body = send_request(f, "GET", "/v1/vms/ns/vm/history?fields=used_cores",
		"*/*", 200);
	assert_has(body, ",null]]}");
}

static void rejects_bad_requests_with_a_reason(void **state)
{
	static const struct {
		const char *method, *path;
		int status;
		const char *reason;
	} cases[] = {
		{ "POST", "/", 405, "use GET" },
		{ "GET", "/x", 404, "known paths: /metrics, /ui/FILE, " },
		{ "GET", "/v1/nodesX", 404, "no such path" },
		{ "GET", "/v1/nodes/", 404, "no node ''" },
		{ "GET", "/v1/nodes/n3", 404, "no node 'n3'" },
		{ "GET", "/v1/nodes/n3/history", 404, "no node 'n3'" },
		{ "GET", "/v1/nodes/n1/past", 404, "no such path" },
		{ "GET", "/v1/nodes/n1/history/x", 404, "no such path" },
		{ "GET", "/v1/vms/", 404, "no such path" },
		{ "GET", "/v1/vms/ns", 404, "no such path" },
		{ "GET", "/v1/vms/ns/vm", 404, "no VM 'ns/vm'" },
		{ "GET", "/v1/vms/ns/vm/x", 404, "no such path" },
		{ "GET", "/v1/vms/ns/vm/history", 404, "no VM 'ns/vm'" },
		{ "GET", "/v1/vms/ns/vm/history?fields=cores", 400,
			"no field 'cores'" },
		{ "GET", "/metricsX", 404, "no such path" },
		{ "GET", "/watcher?host=n9", 404, "'n9'" },
		{ "PUT", "/metrics", 405, "use GET" },
		{ "POST", "/v1/nodes", 405, "use GET" },
		{ "POST", "/v1/nodes/n1", 405, "use GET or DELETE" },
		{ "GET", "/v1/nodes/n1/history?from=x", 400, "from: 'x'" },
		{ "GET", "/v1/nodes/n1/history?from=0&step=1s", 400,
			"at most 11000" },
	};

	for (size_t i = 0; i < count_of(cases); i++) {
		const char *body = send_request(*state, cases[i].method,
			cases[i].path, "*/*", cases[i].status);

		assert_has(body, "{\"error\":\"");
		assert_has(body, cases[i].reason);
	}
}

/* Queries that fill the store's queue, until the gate lets them end. */
struct jam {
	uv_sem_t gate;
	size_t done;
	bool is_over;
};

static bool wait_at_gate(void *owner, const struct store_row *row)
{
	struct jam *jam = owner;

	(void)row;
	uv_sem_wait(&jam->gate);
	return false;
}

static void leave_jam(void *owner, const struct error *err)
{
	struct jam *jam = owner;

	(void)err;
	jam->done++;
	jam->is_over = jam->done == STORE_READS_MAX;
}

static void a_history_that_cannot_wait_is_refused(void **state)
{
	struct fixture *f = *state;
	struct jam jam = { 0 };
	struct store_read read = { .node = "n1",
		.parts = SCHEMA_ALL,
		.to_ms = UINT64_MAX,
		.row = wait_at_gate,
		.done = leave_jam,
		.owner = &jam };

	assert_int_equal(uv_sem_init(&jam.gate, 0), 0);
	for (int i = 0; i < STORE_READS_MAX; i++) {
		assert_int_equal(store_query(f->served.s->store, &read, NULL),
			0);
	}
	assert_has(
		send_request(f, "GET", "/v1/nodes/n1/history?fields=used_cores",
			"*/*", 503),
		"32 queries are already waiting");
	for (int i = 0; i < STORE_READS_MAX; i++) {
		uv_sem_post(&jam.gate);
	}
	run_until(&f->served.s->loop, &jam.is_over);
	uv_sem_destroy(&jam.gate);
}

static void metrics_say_that_reports_are_stored(void **state)
{
	struct fixture *f = *state;

	assert_has(send_request(f, "GET", "/metrics", "*/*", 200),
		"\nplimsoll_aggregator_storing 1\n");
}

/* Two reports 2 s apart, in which each figure differs. */
static void add_full_node(struct fixture *f, const char *name)
{
	struct store_batch *batch = store_batch_new(name, run_a);
	uint64_t now_us = clock_monotonic_us();

	for (uint64_t i = 0; i < 2; i++) {
		struct report r;
		struct live_sample sample = { name, run_a, &r,
			(int64_t)(now_us - (1 - i) * 2000000), 0 };

		full_report(&r, 1000 + 500000 * i);
		r.seq = i + 1;
		r.monotonic_us = 5000000 + 2000000 * i;
		r.interval_ms = 2000;
		r.vms[0].cgroup_inode = 7;
		r.vms[1].cgroup_inode = 8;
		assert_int_equal(live_add(f->live, &sample, now_us, NULL), 0);
		scratch_add(batch, &r, clock_wall_us() / 1000 - (1 - i) * 2000);
		report_fini(&r);
	}
	assert_true(scratch_write(f->served.s, batch));
}

/* Scripts and the page read these answers. */
static void the_answers_stay_as_they_are(void **state)
{
	static const char *const paths[] = { "/v1/nodes", "/v1/nodes/full",
		"/v1/nodes/full/history?step=1s&from=1800000000", "/v1/vms",
		"/v1/vms/ns/vm", "/v1/moves", "/v1/decisions",
		"/v1/vms/ns/vm/history?step=1m", "/v1/nodes?x=1",
		"/v1/nodes/full/history?step=0s", "/v1/vms/ns/x" };
	struct fixture *f = *state;
	scoped_buffer struct buffer all = BUFFER_MAX(4 << 20);

	identities_put(f->identities, "pod-1",
		&(struct identity){ "ns", "vm", "u1", "full" });
	add_full_node(f, "full");
	for (size_t i = 0; i < count_of(paths); i++) {
		blocking_client_send(&f->served.client, &f->served.s->loop,
			"GET", paths[i], "");
		run_until(&f->served.s->loop, &f->served.client.is_answered);
		buffer_printf(&all, "GET %s\n%.12s%s\n", paths[i],
			f->served.client.answer,
			strstr(f->served.client.answer, "\r\n\r\n") + 3);
	}
	buffer_char(&all, '\0');
	assert_golden_json("aggregator/api.txt", all.data);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(lists_nodes_by_name),
		test(serves_one_node),
		test(lists_vms_by_node_with_and_without_names),
		test(serves_a_vm_with_all_its_pods),
		test(another_nodes_claim_to_a_pod_has_no_name),
		test(a_pod_without_a_stated_node_has_no_name),
		test(serves_node_history),
		test(a_node_is_removed_when_it_is_not_fresh),
		test(no_node_is_removed_without_authorization),
		test(a_removed_node_keeps_its_history),
		test(serves_node_history_as_csv),
		test(serves_the_history_of_a_vm_that_no_longer_runs),
		test(serves_the_profile_of_a_vm_that_no_longer_runs),
		test(a_running_vm_without_stored_history_has_gaps_only),
		test(rejects_bad_requests_with_a_reason),
		test(a_history_that_cannot_wait_is_refused),
		test(metrics_say_that_reports_are_stored),
		test(the_answers_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
