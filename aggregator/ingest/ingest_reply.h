/* Answers to agents and schedulers. Each ends its request. */
#pragma once

#include "lib/buffer.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"

void ingest_reply_bytes(struct mq_request *request, const struct buffer *bytes);
void ingest_reply_ack(struct mq_request *request, const struct ack *ack);

/* retry_ms: when the peer may try again; 0: as it likes. */
void ingest_reply_refused(struct mq_request *request, const struct error *why,
	uint32_t retry_ms);
