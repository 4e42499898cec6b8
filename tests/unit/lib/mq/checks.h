/* How often a server has checked its connections, for tests that link
 * mq_unfinished_check() wrapped. */
#pragma once

#include "lib/mq/mq_unfinished.h"
#include "tests/support/cm.h"

static size_t checks;

size_t __real_mq_unfinished_check(struct mq_unfinished *unfinished,
	uint64_t now_us);
size_t __wrap_mq_unfinished_check(struct mq_unfinished *unfinished,
	uint64_t now_us);

size_t __wrap_mq_unfinished_check(struct mq_unfinished *unfinished,
	uint64_t now_us)
{
	size_t closed = __real_mq_unfinished_check(unfinished, now_us);

	checks++;
	return closed;
}

static bool has_checked(void *owner)
{
	const size_t *before = owner;

	return checks > *before;
}

/* Until a check that begins now, or later, has ended. */
static inline void await_check(struct uv_loop_s *loop)
{
	size_t before = checks;

	run_until_true(loop, has_checked, &before);
}
