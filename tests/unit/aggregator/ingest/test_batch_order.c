#include "aggregator/ingest/batch_order.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

enum { COUNT = 4 };

/* Of the newest first and the backlog behind it. */
static void make(struct batch *batch, struct report *reports)
{
	static const uint64_t seqs[COUNT] = { 9, 3, 4, 1 };

	for (size_t i = 0; i < COUNT; i++) {
		report_init(&reports[i]);
		reports[i].seq = seqs[i];
		reports[i].monotonic_us = seqs[i] * 1000;
	}
	*batch = (struct batch){ .sent_monotonic_us = 9000,
		.reports = reports,
		.count = COUNT };
}

static void reports_are_put_in_the_order_they_were_made_in(void **state)
{
	static const size_t indices[COUNT] = { 3, 1, 2, 0 };
	scoped_free struct arrival_place *order = NULL;
	struct report reports[COUNT];
	struct batch batch;

	(void)state;
	make(&batch, reports);
	order = arrival_order(&batch);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(order[i].index, indices[i]);
		assert_int_equal(order[i].seq, reports[indices[i]].seq);
	}
}

static void a_report_from_after_its_sending_is_refused(void **state)
{
	struct report reports[COUNT];
	struct error err = { 0 };
	struct batch batch;

	(void)state;
	make(&batch, reports);
	assert_int_equal(arrival_check(&batch, &err), 0);
	batch.sent_monotonic_us--;
	assert_int_equal(arrival_check(&batch, &err), -EBADMSG);
	assert_string_equal(err.text,
		"a report was taken after its batch was sent");
}

static void an_age_is_never_below_nothing(void **state)
{
	struct report reports[COUNT];
	struct batch batch;

	(void)state;
	make(&batch, reports);
	assert_int_equal(arrival_age_us(&batch, &reports[3]), 8000);
	assert_int_equal(arrival_age_us(&batch, &reports[0]), 0);
	batch.sent_monotonic_us = 1;
	assert_int_equal(arrival_age_us(&batch, &reports[0]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			reports_are_put_in_the_order_they_were_made_in),
		cmocka_unit_test(a_report_from_after_its_sending_is_refused),
		cmocka_unit_test(an_age_is_never_below_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
