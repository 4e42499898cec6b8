#include "scheduler/cache/time_shares.h"

static int64_t level_of(const struct time_share *share, int64_t now_us)
{
	int64_t drained = (now_us - share->at_us) / TIME_SHARES_PART;

	return share->namespace == 0 || drained >= share->level_us
		? 0
		: share->level_us - drained;
}

/* The bucket of the namespace, or the one that holds least. */
static struct time_share *find(struct time_shares *shares, uint32_t namespace,
	int64_t now_us)
{
	struct time_share *least = &shares->list[0];

	for (size_t i = 0; i < TIME_SHARES_MAX; i++) {
		struct time_share *one = &shares->list[i];

		if (one->namespace == namespace) {
			return one;
		}
		if (level_of(one, now_us) < level_of(least, now_us)) {
			least = one;
		}
	}
	*least = (struct time_share){ .namespace = namespace };
	return least;
}

void time_shares_add(struct time_shares *shares, uint32_t namespace,
	int64_t spent_us, int64_t now_us)
{
	struct time_share *share = find(shares, namespace, now_us);
	int64_t level = level_of(share, now_us) + spent_us;

	share->level_us =
		level < TIME_SHARES_DEBT_US ? level : TIME_SHARES_DEBT_US;
	share->at_us = now_us;
}

bool time_shares_is_over(const struct time_shares *shares, uint32_t namespace,
	int64_t now_us)
{
	for (size_t i = 0; i < TIME_SHARES_MAX; i++) {
		const struct time_share *one = &shares->list[i];

		if (one->namespace == namespace &&
			level_of(one, now_us) > TIME_SHARES_BURST_US) {
			return true;
		}
	}
	return false;
}

bool time_shares_any_is_over(const struct time_shares *shares, int64_t now_us)
{
	for (size_t i = 0; i < TIME_SHARES_MAX; i++) {
		if (level_of(&shares->list[i], now_us) > TIME_SHARES_BURST_US) {
			return true;
		}
	}
	return false;
}
