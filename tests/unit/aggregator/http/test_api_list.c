#include "aggregator/http/api_list.h"

#include "aggregator/live/identity.h"
#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>

/* Several parts of text. */
enum { NODES = 400, VMS = 30, PART_BYTES = 300000, WHOLE_BYTES = 64 << 20 };

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };

struct fixture {
	struct identities *identities;
	struct live *live;
	size_t parts;
	struct buffer whole;
	struct json_value *root;
};

static void add(struct fixture *f, size_t node, uint64_t seq)
{
	struct report r = steady_report(seq, 100 + 2 * (double)seq, 1);
	struct vm_pod vms[VMS];
	char name[32];
	struct live_sample sample = { name, run_a, &r, (int64_t)seq * 2000000,
		0 };

	(void)snprintf(name, sizeof(name), "node-%04zu", node);
	for (size_t i = 0; i < VMS; i++) {
		char uid[REPORT_UID_MAX];

		(void)snprintf(uid, sizeof(uid), "pod-%zu-%zu", node, i);
		vms[i] = sample_vm(uid, i + 1);
	}
	sample_add_vms(&r, vms, VMS);
	assert_int_equal(live_add(f->live, &sample, seq * 2000000, NULL), 0);
	report_fini(&r);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->identities = identities_new();
	f->live = live_new(42, f->identities);
	f->whole = BUFFER_MAX(WHOLE_BYTES);
	for (size_t i = 0; i < NODES; i++) {
		add(f, NODES - 1 - i, 1);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	live_free(f->live);
	identities_free(f->identities);
	buffer_fini(&f->whole);
	json_value_free(f->root);
	free(f);
	return 0;
}

static struct api_list_options options_of(struct fixture *f)
{
	return (struct api_list_options){ .live = f->live,
		.identities = f->identities,
		.now_us = 3000000,
		.wall_us = 1753000000000000 };
}

/* Reads all parts. Every node gets a report between two parts, so that it moves
 * in the table. */
static void read_all(struct fixture *f, const struct httpd_stream *stream)
{
	bool has_more = true;
	uint64_t seq = 2;
	struct error error;

	while (has_more) {
		scoped_buffer struct buffer part = BUFFER_MAX(HTTPD_PART_MAX);

		has_more = stream->next(stream->owner, &part);
		assert_true(part.len <= PART_BYTES);
		buffer_append(&f->whole, part.data, part.len);
		f->parts++;
		for (size_t i = 0; i < NODES; i++) {
			add(f, i, seq);
		}
		seq++;
	}
	stream->done(stream->owner);
	assert_int_equal(
		json_value_parse(&f->root, f->whole.data, f->whole.len, &error),
		0);
}

static void writes_each_node_once_in_order_and_in_parts(void **state)
{
	struct fixture *f = *state;
	struct api_list_options options = options_of(f);
	struct httpd_stream stream = api_list_nodes(&options);
	const struct json_value *nodes;
	size_t at = 0;

	read_all(f, &stream);
	assert_true(f->parts > 3);
	nodes = json_value_get(f->root, "nodes");
	assert_int_equal(json_value_count(nodes), NODES);
	for (const struct json_value *node = json_value_first(nodes);
		node != NULL; node = json_value_next(node)) {
		char name[32];

		(void)snprintf(name, sizeof(name), "node-%04zu", at);
		assert_string_equal(json_value_text_at(node, "name", ""), name);
		assert_int_equal(json_value_count(json_value_get(node, "vms")),
			VMS);
		at++;
	}
}

static void writes_each_vm_once_and_in_parts(void **state)
{
	struct fixture *f = *state;
	struct api_list_options options = options_of(f);
	struct httpd_stream stream;
	const struct json_value *first;

	identities_put(f->identities, "pod-7-7",
		&(struct identity){ "ns", "vm", "u", "node-0007" });
	stream = api_list_vms(&options);
	read_all(f, &stream);
	assert_true(f->parts > 3);
	assert_int_equal(json_value_count(json_value_get(f->root, "vms")),
		NODES * VMS);
	first = json_value_first(json_value_get(f->root, "vms"));
	assert_string_equal(json_value_text_at(first, "pod_uid", ""),
		"pod-0-0");
	assert_non_null(strstr(f->whole.data,
		"{\"namespace\":\"ns\",\"name\":\"vm\",\"vmi_uid\":\"u\","
		"\"pod_uid\":\"pod-7-7\",\"node\":\"node-0007\",\"age_s\":"));
}

/* The client disconnects after the first part. */
static void a_list_may_be_closed_early(void **state)
{
	struct fixture *f = *state;
	struct api_list_options options = options_of(f);
	struct httpd_stream stream = api_list_nodes(&options);
	scoped_buffer struct buffer part = BUFFER_MAX(HTTPD_PART_MAX);

	assert_true(stream.next(stream.owner, &part));
	stream.done(stream.owner);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(writes_each_node_once_in_order_and_in_parts),
		test(writes_each_vm_once_and_in_parts),
		test(a_list_may_be_closed_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
