#include "aggregator/remote_write/shard.h"

#include "aggregator/remote_write/request_body.h"
#include "kube/backoff.h"

/* A longer Retry-After is cut to this. */
static const uint64_t asked_max_ms = 300000;

enum shard_verdict shard_judge(int status)
{
	switch (status) {
	case 401:
	case 403:
	case 404:
	case 408:
	case 429:
		return SHARD_AGAIN;
	default:
		return status / 100 == 2    ? SHARD_SENT
			: status / 100 == 4 ? SHARD_REFUSED
					    : SHARD_AGAIN;
	}
}

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
	shard->limit = count > 1 ? count / 2 : 1;
	shard->state = SHARD_IDLE;
	shard->is_due = true;
}

void shard_grow(struct shard *shard)
{
	shard->limit = shard->limit > REQUEST_REPORTS_MAX / 2
		? REQUEST_REPORTS_MAX
		: shard->limit * 2;
}

static uint64_t wait_ms(unsigned failures, uint64_t asked_ms, double random)
{
	uint64_t ms = backoff_ms(failures, random);

	if (asked_ms > asked_max_ms) {
		asked_ms = asked_max_ms;
	}
	return ms > asked_ms ? ms : asked_ms;
}

void shard_wait(struct shard *shard, uint64_t now_us, uint64_t asked_ms,
	double random)
{
	shard->failures++;
	shard->retry_us =
		now_us + wait_ms(shard->failures, asked_ms, random) * 1000;
	shard->state = SHARD_WAITING;
}

bool shard_is_retry_due(const struct shard *shard, uint64_t now_us)
{
	return shard->state == SHARD_WAITING && now_us >= shard->retry_us;
}
