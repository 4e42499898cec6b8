#include "aggregator/ingest/batch_order.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>

int batch_order_check(const struct batch *batch, struct error *err)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->reports[i].monotonic_us > batch->sent_monotonic_us) {
			return error_set(err, -EBADMSG,
				"a report was made after its batch was sent");
		}
	}
	return 0;
}

uint64_t batch_order_age_us(const struct batch *batch,
	const struct report *report)
{
	return batch->sent_monotonic_us > report->monotonic_us
		? batch->sent_monotonic_us - report->monotonic_us
		: 0;
}

static int by_seq(const void *a, const void *b)
{
	const struct batch_order_entry *x = a;
	const struct batch_order_entry *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

struct batch_order_entry *batch_order_by_seq(const struct batch *batch)
{
	struct batch_order_entry *order = xcalloc(batch->count, sizeof(*order));

	for (size_t i = 0; i < batch->count; i++) {
		order[i] =
			(struct batch_order_entry){ batch->reports[i].seq, i };
	}
	if (batch->count > 1) {
		qsort(order, batch->count, sizeof(*order), by_seq);
	}
	return order;
}

size_t batch_order_packed_bytes(const struct batch *batch)
{
	size_t bytes = 0;

	for (size_t i = 0; i < batch->count; i++) {
		bytes += batch->packed[i].len;
	}
	return bytes;
}
