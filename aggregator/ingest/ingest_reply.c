#include "aggregator/ingest/ingest_reply.h"

void ingest_reply_bytes(struct mq_request *request, const struct buffer *bytes)
{
	mq_reply(request, (const uint8_t *)bytes->data, bytes->len);
}

void ingest_reply_ack(struct mq_request *request, const struct ack *ack)
{
	scoped_buffer struct buffer out = BUFFER_MAX(256);

	wire_pack_ack(&out, ack);
	ingest_reply_bytes(request, &out);
}

void ingest_reply_refused(struct mq_request *request, const struct error *why,
	uint32_t retry_ms)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);

	wire_pack_refused(&out, why->text, retry_ms);
	ingest_reply_bytes(request, &out);
}
