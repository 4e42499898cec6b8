#include "scheduler/loads/record_upload.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/loads/aggregator_client.h"

#include <stdlib.h>

/* A batch's envelope adds less than this to each record. */
enum { ENVELOPE_BYTES = 16 };
#define LOG_AGAIN_US UINT64_C(60000000)

/* One aggregator. */
struct sender {
	struct record_upload *upload;
	struct aggregator_client *client;
	uint64_t stored; /* all records before this one */
	size_t sent;	 /* records in the current request */
	size_t batch;	 /* the most in a request */
};

struct record_upload {
	struct record_kind kind;
	struct sender senders[OPTION_LIST_MAX];
	size_t count;
	/* Record n is at n % RECORD_UPLOAD_MAX while oldest <= n < next. */
	struct buffer pending[RECORD_UPLOAD_MAX];
	uint64_t oldest, next;
	uint64_t due;	      /* all records before this one may be sent */
	struct timer *gather; /* runs while some are not due */
	size_t bytes;
	uint64_t dropped;
	struct log_limit limit;
};

static struct buffer *at(struct record_upload *upload, uint64_t number)
{
	return &upload->pending[number % RECORD_UPLOAD_MAX];
}

static void free_oldest(struct record_upload *upload)
{
	struct buffer *packed = at(upload, upload->oldest);

	upload->bytes -= packed->len;
	buffer_fini(packed);
	upload->oldest++;
}

static void free_stored(struct record_upload *upload)
{
	uint64_t stored = upload->next;

	for (size_t i = 0; i < upload->count; i++) {
		if (upload->senders[i].stored < stored) {
			stored = upload->senders[i].stored;
		}
	}
	while (upload->oldest < stored) {
		free_oldest(upload);
	}
}

static void tell_dropped(struct record_upload *upload)
{
	uint64_t held = 0;

	upload->dropped++;
	if (log_allow(&upload->limit, clock_monotonic_us(), LOG_AGAIN_US,
		    &held)) {
		log_warning(upload->kind.dropped,
			log_int("dropped", (int64_t)upload->dropped), LOG_END);
	}
}

static void drop_oldest(struct record_upload *upload)
{
	free_oldest(upload);
	tell_dropped(upload);
}

static bool pack_next(void *owner, struct buffer *out)
{
	struct sender *sender = owner;
	struct record_upload *upload = sender->upload;
	struct packed_record batch[RECORD_UPLOAD_BATCH_MAX];
	size_t bytes = 0;
	size_t count = 0;

	/* Older ones were dropped. */
	if (sender->stored < upload->oldest) {
		sender->stored = upload->oldest;
	}
	while (count < sender->batch && sender->stored + count < upload->due) {
		const struct buffer *one = at(upload, sender->stored + count);

		bytes += one->len + ENVELOPE_BYTES;
		if (bytes > RECORD_UPLOAD_REQUEST_MAX) {
			break;
		}
		batch[count] =
			(struct packed_record){ (const uint8_t *)one->data,
				one->len };
		count++;
	}
	sender->sent = count;
	if (count > 0) {
		upload->kind.pack(out, batch, count);
	}
	return count > 0;
}

static enum aggregator_client_verdict on_reply(void *owner,
	const struct wire_reply *reply)
{
	struct sender *sender = owner;

	if (reply->kind != WIRE_ACK) {
		return AGGREGATOR_CLIENT_UNEXPECTED;
	}
	if (!reply->ack.stored) {
		return AGGREGATOR_CLIENT_WAIT;
	}
	sender->stored += sender->sent;
	sender->batch = sender->upload->kind.batch_max;
	free_stored(sender->upload);
	return AGGREGATOR_CLIENT_NEXT;
}

/* One record that the aggregator does not take must not hold back the others:
 * a refused batch is halved, and a record that is refused alone is skipped. */
static bool on_refused(void *owner)
{
	struct sender *sender = owner;
	struct record_upload *upload = sender->upload;

	if (sender->sent > 1) {
		sender->batch = sender->sent / 2;
		return true;
	}
	sender->stored += sender->sent;
	sender->batch = upload->kind.batch_max;
	tell_dropped(upload);
	free_stored(upload);
	return true;
}

void record_upload_send(struct record_upload *upload)
{
	timer_stop(upload->gather);
	upload->due = upload->next;
	for (size_t i = 0; i < upload->count; i++) {
		aggregator_client_send_next(upload->senders[i].client);
	}
}

static void on_gathered(void *owner)
{
	record_upload_send(owner);
}

int record_upload_new(struct record_upload **out, uv_loop_t *loop,
	const struct aggregators_options *options,
	const struct record_kind *kind, struct error *err)
{
	struct record_upload *upload = xcalloc(1, sizeof(*upload));
	int r = 0;

	upload->kind = *kind;
	upload->gather = timer_new(loop, on_gathered, upload);
	while (r == 0 && upload->count < options->urls->count) {
		struct sender *sender = &upload->senders[upload->count];

		sender->upload = upload;
		sender->batch = kind->batch_max;
		r = aggregator_client_new(&sender->client, loop,
			&(const struct aggregator_client_options){
				.url = options->urls->items[upload->count],
				.credentials = options->credentials,
				.tls = options->tls,
				.request_max = RECORD_UPLOAD_REQUEST_MAX,
				.failure = kind->failure,
				.next = pack_next,
				.reply = on_reply,
				.refused = on_refused,
				.owner = sender,
			},
			err);
		upload->count += r == 0;
	}
	if (r < 0) {
		record_upload_close(upload);
		return r;
	}
	*out = upload;
	return 0;
}

struct buffer record_upload_buffer(void)
{
	return BUFFER_MAX(RECORD_UPLOAD_REQUEST_MAX - ENVELOPE_BYTES);
}

bool record_upload_is_needed(const struct record_upload *upload)
{
	return upload->count > 0;
}

void record_upload_add(struct record_upload *upload, struct buffer packed)
{
	if (upload->count == 0) {
		buffer_fini(&packed);
		return;
	}
	while (upload->next - upload->oldest == RECORD_UPLOAD_MAX ||
		(upload->next > upload->oldest &&
			upload->bytes + packed.len > RECORD_UPLOAD_BYTES_MAX)) {
		drop_oldest(upload);
	}
	*at(upload, upload->next) = packed;
	upload->bytes += packed.len;
	upload->next++;
	if (upload->kind.gather_ms == 0 ||
		upload->next - upload->due >= upload->kind.batch_max) {
		record_upload_send(upload);
	} else if (upload->next == upload->due + 1) {
		timer_start(upload->gather, upload->kind.gather_ms, 0);
	}
}

size_t record_upload_pending(const struct record_upload *upload)
{
	return (size_t)(upload->next - upload->oldest);
}

void record_upload_close(struct record_upload *upload)
{
	if (upload == NULL) {
		return;
	}
	for (size_t i = 0; i < upload->count; i++) {
		aggregator_client_close(upload->senders[i].client);
	}
	while (upload->oldest < upload->next) {
		free_oldest(upload);
	}
	timer_close(upload->gather);
	free(upload);
}
