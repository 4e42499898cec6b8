#include "scheduler/loads/decision_upload.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"

#include <stdlib.h>

enum {
	REQUEST_MAX = 512 << 10,
	/* What a batch's envelope adds to each record, generously. */
	ENVELOPE_BYTES = 16,
};
#define COMPLAIN_US UINT64_C(60000000)

/* One aggregator. */
struct sender {
	struct records *records;
	struct speaker *speaker;
	uint64_t stored; /* the records before this one */
	size_t sent;	 /* of the request under way */
};

struct records {
	struct sender senders[OPTION_LIST_MAX];
	size_t count;
	/* Record n is at n % RECORDS_MAX while oldest <= n < next. */
	struct buffer waiting[RECORDS_MAX];
	uint64_t oldest, next;
	size_t bytes;
	uint64_t dropped;
	struct log_limit limit;
};

static struct buffer *at(struct records *records, uint64_t number)
{
	return &records->waiting[number % RECORDS_MAX];
}

static void forget_oldest(struct records *records)
{
	struct buffer *packed = at(records, records->oldest);

	records->bytes -= packed->len;
	buffer_fini(packed);
	records->oldest++;
}

static void forget_stored(struct records *records)
{
	uint64_t stored = records->next;

	for (size_t i = 0; i < records->count; i++) {
		if (records->senders[i].stored < stored) {
			stored = records->senders[i].stored;
		}
	}
	while (records->oldest < stored) {
		forget_oldest(records);
	}
}

static void drop_oldest(struct records *records)
{
	uint64_t held = 0;

	forget_oldest(records);
	records->dropped++;
	if (log_allow(&records->limit, clock_monotonic_us(), COMPLAIN_US,
		    &held)) {
		log_warning(
			"records of decisions are dropped: they cannot be "
			"stored anywhere",
			log_int("dropped", (int64_t)records->dropped), LOG_END);
	}
}

static bool pack_next(void *owner, struct buffer *out)
{
	struct sender *sender = owner;
	struct records *records = sender->records;
	struct packed_decision batch[WIRE_DECISIONS_MAX];
	size_t bytes = 0;
	size_t count = 0;

	/* Dropped meanwhile. */
	if (sender->stored < records->oldest) {
		sender->stored = records->oldest;
	}
	while (count < WIRE_DECISIONS_MAX &&
		sender->stored + count < records->next) {
		const struct buffer *one = at(records, sender->stored + count);

		bytes += one->len + ENVELOPE_BYTES;
		if (bytes > REQUEST_MAX) {
			break;
		}
		batch[count] =
			(struct packed_decision){ (const uint8_t *)one->data,
				one->len };
		count++;
	}
	sender->sent = count;
	if (count > 0) {
		wire_pack_decisions(out, batch, count);
	}
	return count > 0;
}

static enum speaker_turn on_reply(void *owner, const struct wire_reply *reply)
{
	struct sender *sender = owner;

	if (reply->kind != WIRE_ACK) {
		return SPEAKER_MISFIT;
	}
	if (!reply->ack.stored) {
		return SPEAKER_WAIT;
	}
	sender->stored += sender->sent;
	forget_stored(sender->records);
	return SPEAKER_GO_ON;
}

int records_new(struct records **out, uv_loop_t *loop,
	const struct option_list *aggregators, const struct dial_config *dial,
	struct error *err)
{
	struct records *records = xcalloc(1, sizeof(*records));
	int r = 0;

	while (r == 0 && records->count < aggregators->count) {
		struct sender *sender = &records->senders[records->count];

		sender->records = records;
		r = speaker_new(&sender->speaker, loop,
			&(const struct speaker_options){
				.url = aggregators->items[records->count],
				.dial = dial,
				.request_max = REQUEST_MAX,
				.complaint = "decisions are not stored",
				.next = pack_next,
				.reply = on_reply,
				.owner = sender,
			},
			err);
		records->count += r == 0;
	}
	if (r < 0) {
		records_close(records);
		return r;
	}
	*out = records;
	return 0;
}

void records_add(struct records *records, const struct decision_record *record)
{
	struct buffer packed = BUFFER_MAX(REQUEST_MAX - ENVELOPE_BYTES);

	if (records->count == 0) {
		return;
	}
	wire_pack_decision(&packed, record);
	while (records->next - records->oldest == RECORDS_MAX ||
		(records->next > records->oldest &&
			records->bytes + packed.len > RECORDS_BYTES_MAX)) {
		drop_oldest(records);
	}
	*at(records, records->next) = packed;
	records->bytes += packed.len;
	records->next++;
	for (size_t i = 0; i < records->count; i++) {
		speaker_go_on(records->senders[i].speaker);
	}
}

size_t records_waiting(const struct records *records)
{
	return (size_t)(records->next - records->oldest);
}

void records_close(struct records *records)
{
	if (records == NULL) {
		return;
	}
	for (size_t i = 0; i < records->count; i++) {
		speaker_close(records->senders[i].speaker);
	}
	while (records->oldest < records->next) {
		forget_oldest(records);
	}
	free(records);
}
