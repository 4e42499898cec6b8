#include "scheduler/loads/aggregators.h"
#include "scheduler/loads/loads.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"
#include "tests/support/cm.h"
#include "tests/unit/scheduler/loads/fake_aggregator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A minimal aggregator on the same event loop. A strict one requires Hello
 * before it sends snapshots. */
struct fixture {
	struct fake_aggregator aggregator;
	struct loads *loads;
	bool strict, forgetful, has_hello, done;
	size_t hellos, snapshots, nodes;
	struct hello hello; /* the last, without the token */
	char token[64];
};

static void take_hello(struct fixture *f, const struct hello *hello,
	struct buffer *out)
{
	f->hellos++;
	f->has_hello = true;
	f->hello = *hello;
	f->hello.token = NULL;
	(void)snprintf(f->token, sizeof(f->token), "%s",
		hello->token == NULL ? "" : hello->token);
	wire_pack_welcome(out, "test");
}

static void give_snapshot(struct fixture *f, struct buffer *out)
{
	struct node_load node = { .name = "node-1" };

	f->snapshots++;
	wire_pack_snapshot(out,
		&(struct snapshot){ .epoch = 1,
			.rev = f->snapshots,
			.nodes = &node,
			.count = 1 });
}

/* True: replied. The second snapshot is never ready. */
static bool reply_to(struct fixture *f, const struct wire_request *asked,
	struct buffer *out)
{
	if (asked->kind == WIRE_HELLO) {
		take_hello(f, &asked->hello, out);
	} else if (f->strict && !f->has_hello) {
		wire_pack_ack(out, &(struct ack){ .need_hello = true });
	} else if (f->snapshots == 0 || f->forgetful) {
		give_snapshot(f, out);
		f->has_hello = !f->forgetful;
		f->forgetful = false;
	} else {
		f->done = true;
		return false;
	}
	return true;
}

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct wire_request asked;

	assert_int_equal(wire_unpack_request(&asked, bytes, len, NULL), 0);
	if (reply_to(f, &asked, &out)) {
		mq_reply(request, (const uint8_t *)out.data, out.len);
	}
	wire_request_fini(&asked);
}

static void on_node(void *owner, const struct node_load *load,
	int64_t sample_us)
{
	struct fixture *f = owner;

	(void)sample_us;
	assert_string_equal(load->name, "node-1");
	f->nodes++;
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	fake_aggregator_open(&f.aggregator,
		(struct mq_server_options){ .serve = serve, .owner = &f });
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	loads_close(f->loads);
	fake_aggregator_close(&f->aggregator);
	return 0;
}

static void open_loads(struct fixture *f)
{
	const struct aggregators_options options = {
		.urls = &f->aggregator.urls,
		.credentials = &f->aggregator.credentials,
		.on_node = on_node,
		.owner = f
	};

	assert_int_equal(
		loads_new(&f->loads, &f->aggregator.loop, &options, NULL), 0);
}

/* An answer may be here before the word that the connection is. */
static bool is_connected(void *owner)
{
	const struct fixture *f = owner;
	size_t total = 0;

	return f->done && loads_connected(f->loads, &total) == 1 && total == 1;
}

static void without_a_token_it_sends_no_hello(void **state)
{
	struct fixture *f = *state;

	open_loads(f);
	run_until_true(&f->aggregator.loop, is_connected, f);
	assert_int_equal(f->hellos, 0);
	assert_int_equal(f->nodes, 1);
	assert_true(loads_complete(f->loads));
}

static void with_a_token_it_sends_hello_first(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/plimsoll-loads-XXXXXX";
	int fd = mkstemp(path);
	char host[REPORT_NODE_MAX] = "";
	static const uint8_t none[REPORT_RUN_ID_BYTES];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "abc\n", 4), 4);
	(void)close(fd);
	f->aggregator.credentials.token_file = path;
	open_loads(f);
	run_until(&f->aggregator.loop, &f->done);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	assert_int_equal(f->hellos, 1);
	assert_int_equal(f->hello.role, HELLO_SCHEDULER);
	assert_string_equal(f->hello.node, host);
	assert_memory_not_equal(f->hello.run_id, none, sizeof(none));
	assert_string_equal(f->token, "abc");
	assert_int_equal(f->nodes, 1);
}

static void sends_hello_whenever_it_is_asked(void **state)
{
	struct fixture *f = *state;

	f->strict = true;
	f->forgetful = true;
	open_loads(f);
	run_until(&f->aggregator.loop, &f->done);
	assert_int_equal(f->hellos, 2);
	assert_string_equal(f->token, "");
	assert_int_equal(f->snapshots, 1);
}

static void reports_a_bad_tls_file(void **state)
{
	struct fixture *f = *state;
	const struct aggregators_options options = {
		.urls = &f->aggregator.urls,
		.credentials = &f->aggregator.credentials,
		.on_node = on_node,
		.owner = f
	};
	struct aggregators all;
	struct error err = { 0 };

	f->aggregator.credentials.tls.ca = "/nowhere/ca.crt";
	assert_true(aggregators_open(&all, &f->aggregator.loop, &options,
			    &err) < 0);
	assert_non_null(strstr(err.text, "/nowhere/ca.crt"));
	assert_null(all.loads);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_token_it_sends_no_hello),
		TEST(with_a_token_it_sends_hello_first),
		TEST(sends_hello_whenever_it_is_asked),
		TEST(reports_a_bad_tls_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
