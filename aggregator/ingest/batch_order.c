#include "aggregator/ingest/batch_order.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>

int arrival_check(const struct batch *batch, struct error *err)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->reports[i].monotonic_us > batch->sent_monotonic_us) {
			return error_set(err, -EBADMSG,
				"a report was taken after its batch was sent");
		}
	}
	return 0;
}

uint64_t arrival_age_us(const struct batch *batch, const struct report *report)
{
	return batch->sent_monotonic_us > report->monotonic_us
		? batch->sent_monotonic_us - report->monotonic_us
		: 0;
}

static int by_seq(const void *a, const void *b)
{
	const struct arrival_place *x = a;
	const struct arrival_place *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

struct arrival_place *arrival_order(const struct batch *batch)
{
	struct arrival_place *order = xcalloc(batch->count, sizeof(*order));

	for (size_t i = 0; i < batch->count; i++) {
		order[i] = (struct arrival_place){ batch->reports[i].seq, i };
	}
	if (batch->count > 1) {
		qsort(order, batch->count, sizeof(*order), by_seq);
	}
	return order;
}
