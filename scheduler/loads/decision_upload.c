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
	/* A batch's envelope adds less than this to each record. */
	ENVELOPE_BYTES = 16,
};
#define LOG_AGAIN_US UINT64_C(60000000)

/* One aggregator. */
struct sender {
	struct decision_upload *upload;
	struct aggregator_client *client;
	uint64_t stored; /* all records before this one */
	size_t sent;	 /* records in the current request */
};

struct decision_upload {
	struct sender senders[OPTION_LIST_MAX];
	size_t count;
	/* Record n is at n % DECISION_UPLOAD_MAX while oldest <= n < next. */
	struct buffer pending[DECISION_UPLOAD_MAX];
	uint64_t oldest, next;
	size_t bytes;
	uint64_t dropped;
	struct log_limit limit;
};

static struct buffer *at(struct decision_upload *upload, uint64_t number)
{
	return &upload->pending[number % DECISION_UPLOAD_MAX];
}

static void free_oldest(struct decision_upload *upload)
{
	struct buffer *packed = at(upload, upload->oldest);

	upload->bytes -= packed->len;
	buffer_fini(packed);
	upload->oldest++;
}

static void free_stored(struct decision_upload *upload)
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

static void drop_oldest(struct decision_upload *upload)
{
	uint64_t held = 0;

	free_oldest(upload);
	upload->dropped++;
	if (log_allow(&upload->limit, clock_monotonic_us(), LOG_AGAIN_US,
		    &held)) {
		log_warning(
			"dropped decision records: not stored by every "
			"aggregator",
			log_int("dropped", (int64_t)upload->dropped), LOG_END);
	}
}

static bool pack_next(void *owner, struct buffer *out)
{
	struct sender *sender = owner;
	struct decision_upload *upload = sender->upload;
	struct packed_decision batch[WIRE_DECISIONS_MAX];
	size_t bytes = 0;
	size_t count = 0;

	/* Older ones were dropped. */
	if (sender->stored < upload->oldest) {
		sender->stored = upload->oldest;
	}
	while (count < WIRE_DECISIONS_MAX &&
		sender->stored + count < upload->next) {
		const struct buffer *one = at(upload, sender->stored + count);

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
	free_stored(sender->upload);
	return AGGREGATOR_CLIENT_NEXT;
}

int decision_upload_new(struct decision_upload **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	struct decision_upload *upload = xcalloc(1, sizeof(*upload));
	int r = 0;

	while (r == 0 && upload->count < options->urls->count) {
		struct sender *sender = &upload->senders[upload->count];

		sender->upload = upload;
		r = aggregator_client_new(&sender->client, loop,
			&(const struct aggregator_client_options){
				.url = options->urls->items[upload->count],
				.credentials = options->credentials,
				.request_max = REQUEST_MAX,
				.failure = "cannot upload decisions",
				.next = pack_next,
				.reply = on_reply,
				.owner = sender,
			},
			err);
		upload->count += r == 0;
	}
	if (r < 0) {
		decision_upload_close(upload);
		return r;
	}
	*out = upload;
	return 0;
}

void decision_upload_add(struct decision_upload *upload,
	const struct decision_record *record)
{
	struct buffer packed = BUFFER_MAX(REQUEST_MAX - ENVELOPE_BYTES);

	if (upload->count == 0) {
		return;
	}
	wire_pack_decision(&packed, record);
	while (upload->next - upload->oldest == DECISION_UPLOAD_MAX ||
		(upload->next > upload->oldest &&
			upload->bytes + packed.len >
				DECISION_UPLOAD_BYTES_MAX)) {
		drop_oldest(upload);
	}
	*at(upload, upload->next) = packed;
	upload->bytes += packed.len;
	upload->next++;
	for (size_t i = 0; i < upload->count; i++) {
		aggregator_client_send_next(upload->senders[i].client);
	}
}

size_t decision_upload_pending(const struct decision_upload *upload)
{
	return (size_t)(upload->next - upload->oldest);
}

void decision_upload_close(struct decision_upload *upload)
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
	free(upload);
}
