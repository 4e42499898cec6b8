#include "aggregator/ingest/batch_order.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

enum { COUNT = 4 };

/* The newest report first, then a backlog. */
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

static void sorts_reports_by_sequence_number(void **state)
{
	static const size_t indices[COUNT] = { 3, 1, 2, 0 };
	scoped_free struct batch_order_entry *order = NULL;
	struct report reports[COUNT];
	struct batch batch;

	(void)state;
	make(&batch, reports);
	order = batch_order_by_seq(&batch);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(order[i].index, indices[i]);
		assert_int_equal(order[i].seq, reports[indices[i]].seq);
	}
}

static void rejects_a_report_made_after_its_batch_was_sent(void **state)
{
	struct report reports[COUNT];
	struct error err = { 0 };
	struct batch batch;

	(void)state;
	make(&batch, reports);
	assert_int_equal(batch_order_check(&batch, &err), 0);
	batch.sent_monotonic_us--;
	assert_int_equal(batch_order_check(&batch, &err), -EBADMSG);
	assert_string_equal(err.text,
		"a report was made after its batch was sent");
}

static void an_age_is_never_negative(void **state)
{
	struct report reports[COUNT];
	struct batch batch;

	(void)state;
	make(&batch, reports);
	assert_int_equal(batch_order_age_us(&batch, &reports[3]), 8000);
	assert_int_equal(batch_order_age_us(&batch, &reports[0]), 0);
	batch.sent_monotonic_us = 1;
	assert_int_equal(batch_order_age_us(&batch, &reports[0]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_reports_by_sequence_number),
		cmocka_unit_test(
			rejects_a_report_made_after_its_batch_was_sent),
		cmocka_unit_test(an_age_is_never_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
