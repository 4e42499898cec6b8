#include "aggregator/ingest/answer.h"

void answer_bytes(struct mq_request *request, const struct buffer *bytes)
{
	mq_reply(request, (const uint8_t *)bytes->data, bytes->len);
}

void answer_ack(struct mq_request *request, const struct ack *ack)
{
	scoped_buffer struct buffer out = BUFFER_MAX(256);

	wire_pack_ack(&out, ack);
	answer_bytes(request, &out);
}

void answer_refused(struct mq_request *request, const struct error *why,
	uint32_t retry_ms)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1024);

	wire_pack_refused(&out, why->text, retry_ms);
	answer_bytes(request, &out);
}
