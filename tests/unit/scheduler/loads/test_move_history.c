#include "scheduler/loads/move_history.h"

#include "lib/log.h"
#include "lib/memory.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/scheduler/loads/fake_aggregator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A minimal aggregator with three records, two on a page. */
struct fixture {
	struct fake_aggregator aggregator;
	struct move_history *history;
	size_t requests, received;
	uint64_t first_since_us, since_us;
	char last_id[MOVE_ID_MAX];
	bool is_stuck; /* its pages never advance */
};

static struct move_record record_of(uint64_t number)
{
	struct move_record record = {
		.revision = 1,
		.namespace = "prod",
		.vm = "web",
		.vmi_uid = "u",
		.source = "node-1",
		.target = "node-2",
		.wall_us = number,
		.sentence = "s",
	};

#define X(field) record.field = NAN;
	MOVE_FIGURES(X)
#undef X
	(void)snprintf(record.id, sizeof(record.id), "id-%u", (unsigned)number);
	return record;
}

static void pack_page(const struct fixture *f, struct buffer *out,
	uint64_t after)
{
	struct move_record records[2];
	struct move_list list = { .records = records };

	for (uint64_t n = after + 1; n <= 3 && list.count < 2; n++) {
		records[list.count++] = record_of(n);
	}
	list.next = after + list.count < 3 ? after + list.count : 0;
	if (f->is_stuck) {
		list.next = 1;
	}
	wire_pack_move_list(out, &list);
}

static void serve(void *owner, struct mq_request *request, const uint8_t *bytes,
	size_t len)
{
	struct fixture *f = owner;
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 16);
	struct wire_request asked;

	assert_int_equal(wire_unpack_request(&asked, bytes, len, NULL), 0);
	assert_int_equal(asked.kind, WIRE_MOVES_REQUEST);
	if (f->requests++ == 0) {
		f->first_since_us = asked.moves_request.since_us;
	}
	f->since_us = asked.moves_request.since_us;
	pack_page(f, &out, asked.moves_request.after);
	mq_reply(request, (const uint8_t *)out.data, out.len);
	wire_request_fini(&asked);
}

static void on_move(void *owner, const struct move_record *record)
{
	struct fixture *f = owner;

	f->received++;
	(void)snprintf(f->last_id, sizeof(f->last_id), "%s", record->id);
}

static void open_history(struct fixture *f)
{
	assert_int_equal(
		move_history_new(&f->history, &f->aggregator.loop,
			&(struct aggregators_options){
				.urls = &f->aggregator.urls,
				.credentials = &f->aggregator.credentials,
				.on_move = on_move,
				.owner = f },
			NULL),
		0);
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	fake_aggregator_open(&f.aggregator,
		(struct mq_server_options){ .serve = serve, .owner = &f });
	open_history(&f);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	move_history_close(f->history);
	fake_aggregator_close(&f->aggregator);
	return 0;
}

static bool is_answered(void *owner)
{
	const struct fixture *f = owner;

	return move_history_answered(f->history) > 0;
}

static void run_until_answered(struct fixture *f)
{
	run_until_true(&f->aggregator.loop, is_answered, f);
}

static void run_until_known(struct fixture *f)
{
	run_until_answered(f);
	assert_true(move_history_is_known(f->history));
}

static void all_pages_come_twice(void **state)
{
	struct fixture *f = *state;

	assert_false(move_history_is_known(f->history));
	move_history_ask(f->history, 77, 80);
	run_until_known(f);
	assert_int_equal(f->requests, 4);
	assert_int_equal(f->received, 6);
	assert_int_equal(f->first_since_us, 77);
	assert_int_equal(f->since_us, 80);
	assert_string_equal(f->last_id, "id-3");
}

static void a_new_term_asks_again(void **state)
{
	struct fixture *f = *state;

	move_history_ask(f->history, 77, 80);
	run_until_known(f);
	move_history_ask(f->history, 88, 90);
	assert_false(move_history_is_known(f->history));
	assert_int_equal(move_history_answered(f->history), 0);
	run_until_known(f);
	assert_int_equal(f->received, 12);
	assert_int_equal(f->since_us, 90);
}

static void the_answer_to_an_earlier_term_does_not_count(void **state)
{
	struct fixture *f = *state;

	move_history_ask(f->history, 77, 80);
	move_history_ask(f->history, 88, 90);
	run_until_known(f);
	assert_int_equal(f->received, 6);
	assert_int_equal(f->since_us, 90);
}

static void pages_that_do_not_advance_end(void **state)
{
	struct fixture *f = *state;

	f->is_stuck = true;
	move_history_ask(f->history, 77, 80);
	run_until_known(f);
	assert_int_equal(f->requests, 4);
}

static void one_empty_aggregator_is_not_all_of_history(void **state)
{
	struct fixture *f = *state;
	static char nobody[] = "tcp://127.0.0.1:1";

	move_history_close(f->history);
	f->aggregator.urls.items[1] = nobody;
	f->aggregator.urls.count = 2;
	open_history(f);
	move_history_ask(f->history, 77, 80);
	run_until_answered(f);
	assert_false(move_history_is_known(f->history));
	fake_clock_move(MOVE_HISTORY_WAIT_US);
	assert_true(move_history_is_known(f->history));
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(all_pages_come_twice),
		test(a_new_term_asks_again),
		test(the_answer_to_an_earlier_term_does_not_count),
		test(pages_that_do_not_advance_end),
		test(one_empty_aggregator_is_not_all_of_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
