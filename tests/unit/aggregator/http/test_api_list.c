#include "aggregator/http/api_list.h"

#include "aggregator/live/identity.h"
#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/unit/aggregator/sample.h"

#include <stdlib.h>

/* Some parts' worth of text. */
enum { NODES = 400, VMS = 30, PART_BYTES = 300000, WHOLE_BYTES = 64 << 20 };

static const uint8_t run_a[REPORT_RUN_ID_BYTES] = { 'a' };

struct fixture {
	struct identities *identities;
	struct live *live;
	size_t running, parts;
	struct buffer whole;
	struct value *root;
};

static void take(struct fixture *f, size_t node, uint64_t seq)
{
	struct report r = steady_report(seq, 100 + 2 * (double)seq, 1);
	struct vm_pod vms[VMS];
	char name[32];
	struct live_sample sample = { name, run_a, &r, (int64_t)seq * 2000000 };

	(void)snprintf(name, sizeof(name), "node-%04zu", node);
	for (size_t i = 0; i < VMS; i++) {
		char uid[REPORT_UID_MAX];

		(void)snprintf(uid, sizeof(uid), "pod-%zu-%zu", node, i);
		vms[i] = sample_vm(uid, i + 1);
	}
	sample_add_vms(&r, vms, VMS);
	assert_int_equal(live_take(f->live, &sample, seq * 2000000, NULL), 0);
	report_fini(&r);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->identities = identities_new();
	f->live = live_new(42, f->identities);
	f->whole = BUFFER_MAX(WHOLE_BYTES);
	for (size_t i = 0; i < NODES; i++) {
		take(f, NODES - 1 - i, 1);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->running, 0);
	live_free(f->live);
	identities_free(f->identities);
	buffer_fini(&f->whole);
	value_free(f->root);
	free(f);
	return 0;
}

static struct list_options options_of(struct fixture *f)
{
	return (struct list_options){ .live = f->live,
		.identities = f->identities,
		.now_us = 3000000,
		.wall_us = 1753000000000000,
		.running = &f->running };
}

/* Reads it all; between two parts every node gets a report, so that none is
 * where it was in the table. */
static void read_all(struct fixture *f, const struct http_stream *stream)
{
	bool goes_on = true;
	uint64_t seq = 2;
	struct error error;

	assert_int_equal(f->running, 1);
	while (goes_on) {
		scoped_buffer struct buffer part = BUFFER_MAX(HTTP_PART_MAX);

		goes_on = stream->next(stream->owner, &part);
		assert_true(part.len <= PART_BYTES);
		buffer_append(&f->whole, part.data, part.len);
		f->parts++;
		for (size_t i = 0; i < NODES; i++) {
			take(f, i, seq);
		}
		seq++;
	}
	stream->done(stream->owner);
	assert_int_equal(
		value_parse(&f->root, f->whole.data, f->whole.len, &error), 0);
}

static void nodes_come_in_parts_each_once_and_in_order(void **state)
{
	struct fixture *f = *state;
	struct list_options options = options_of(f);
	struct http_stream stream = list_nodes(&options);
	const struct value *nodes;
	size_t at = 0;

	read_all(f, &stream);
	assert_true(f->parts > 3);
	nodes = value_get(f->root, "nodes");
	assert_int_equal(value_count(nodes), NODES);
	for (const struct value *node = value_first(nodes); node != NULL;
		node = value_next(node)) {
		char name[32];

		(void)snprintf(name, sizeof(name), "node-%04zu", at);
		assert_string_equal(value_text_at(node, "name", ""), name);
		assert_int_equal(value_count(value_get(node, "vms")), VMS);
		at++;
	}
}

static void vms_come_in_parts_each_once(void **state)
{
	struct fixture *f = *state;
	struct list_options options = options_of(f);
	struct http_stream stream;
	const struct value *first;

	identities_put(f->identities, "pod-7-7",
		&(struct identity){ "ns", "vm", "u", "" });
	stream = list_vms(&options);
	read_all(f, &stream);
	assert_true(f->parts > 3);
	assert_int_equal(value_count(value_get(f->root, "vms")), NODES * VMS);
	first = value_first(value_get(f->root, "vms"));
	assert_string_equal(value_text_at(first, "pod_uid", ""), "pod-0-0");
	assert_non_null(strstr(f->whole.data,
		"{\"namespace\":\"ns\",\"name\":\"vm\",\"vmi_uid\":\"u\","
		"\"pod_uid\":\"pod-7-7\",\"node\":\"node-0007\",\"age_s\":"));
}

/* The client went after the first part. */
static void a_list_may_be_left_unread(void **state)
{
	struct fixture *f = *state;
	struct list_options options = options_of(f);
	struct http_stream stream = list_nodes(&options);
	scoped_buffer struct buffer part = BUFFER_MAX(HTTP_PART_MAX);

	assert_true(stream.next(stream.owner, &part));
	stream.done(stream.owner);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(nodes_come_in_parts_each_once_and_in_order),
		test(vms_come_in_parts_each_once),
		test(a_list_may_be_left_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
