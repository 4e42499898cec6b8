#include "aggregator/remote_write/shard.h"

#include "aggregator/remote_write/request_body.h"
#include "aggregator/remote_write/retry_rules.h"

void shard_init(struct shard *shard)
{
	*shard = (struct shard){ .limit = REQUEST_REPORTS_MAX };
}

void shard_note_queue(struct shard *shard, uint64_t last_id)
{
	shard->is_due = last_id > shard->sent_id;
}

bool shard_may_read(const struct shard *shard)
{
	return shard->state == SHARD_IDLE && shard->is_due;
}

void shard_advance(struct shard *shard, uint64_t last_id, bool has_more)
{
	shard->sent_id = last_id;
	shard->state = SHARD_IDLE;
	shard->is_due = has_more;
}

void shard_split(struct shard *shard, uint64_t count)
{
	shard->limit = retry_shrink(count);
	shard->state = SHARD_IDLE;
	shard->is_due = true;
}

void shard_grow(struct shard *shard)
{
	shard->limit = retry_grow(shard->limit, REQUEST_REPORTS_MAX);
}

void shard_wait(struct shard *shard, uint64_t now_us, uint64_t asked_ms,
	double random)
{
	shard->failures++;
	shard->retry_us = now_us +
		retry_wait_ms(shard->failures, asked_ms, random) * 1000;
	shard->state = SHARD_WAITING;
}

bool shard_is_retry_due(const struct shard *shard, uint64_t now_us)
{
	return shard->state == SHARD_WAITING && now_us >= shard->retry_us;
}
