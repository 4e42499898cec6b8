#include "aggregator/apiserver/load_wait.h"

#include "lib/clock.h"
#include "lib/fair_share.h"
#include "lib/hash.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <sys/queue.h>

enum { CHECK_MS = 500 };

struct waiting {
	TAILQ_ENTRY(waiting) link;
	struct load_wait_request asked;
	struct seat *seat;
	uint64_t due_us;
};

struct load_wait {
	const struct live *live;
	struct timer *timer;
	TAILQ_HEAD(waiting_list, waiting) list; /* the longest wait first */
	size_t count;
	struct fair_share share;
	bool is_stopped;
};

static struct load_wait_request take(struct load_wait *waits,
	struct waiting *waiting)
{
	struct load_wait_request asked = waiting->asked;

	TAILQ_REMOVE(&waits->list, waiting, link);
	waits->count--;
	if (waits->count == 0) {
		timer_stop(waits->timer);
	}
	seat_remove(waiting->seat);
	free(waiting);
	return asked;
}

static void resume(const struct load_wait_request *asked)
{
	asked->resume(asked->owner, asked->request);
	free(asked->owner);
}

static void end(const struct load_wait_request *asked, const char *why)
{
	httpd_reply_error(asked->request, 503, "%s", why);
	free(asked->owner);
}

static void check_waiting(void *owner)
{
	struct load_wait *waits = owner;
	uint64_t now_us = clock_monotonic_us();
	uint64_t revision = live_revision(waits->live);
	struct waiting *next;

	for (struct waiting *w = TAILQ_FIRST(&waits->list); w != NULL;
		w = next) {
		struct load_wait_request asked;

		next = TAILQ_NEXT(w, link);
		if (httpd_is_abandoned(w->asked.request)) {
			asked = take(waits, w);
			end(&asked, "the client has hung up");
		} else if (w->asked.after != revision || w->due_us <= now_us) {
			asked = take(waits, w);
			resume(&asked);
		}
	}
}

struct load_wait *load_wait_new(uv_loop_t *loop, const struct live *live)
{
	struct load_wait *waits = xcalloc(1, sizeof(*waits));

	waits->live = live;
	waits->share.limits.max = LOAD_WAIT_MAX;
	waits->share.limits.flow_max = LOAD_WAIT_OF_PEER;
	waits->timer = timer_new(loop, check_waiting, waits);
	TAILQ_INIT(&waits->list);
	return waits;
}

void load_wait_add(struct load_wait *waits,
	const struct load_wait_request *request)
{
	uint64_t now_us = clock_monotonic_us();
	struct seat_request wanted = { .flow = hash_text(HASH_SEED,
					       httpd_peer(request->request)),
		.size = 1,
		.state = SEAT_YIELDING,
		.now_us = now_us };
	struct waiting *waiting;
	struct seat *victim;

	if (waits->is_stopped || live_revision(waits->live) != request->after) {
		resume(request);
		return;
	}
	if (fair_share_check(&waits->share, &wanted, &victim) < 0) {
		struct load_wait_request asked =
			take(waits, seat_owner(victim));

		resume(&asked);
	}
	if (waits->count == 0) {
		timer_start(waits->timer, CHECK_MS, CHECK_MS);
	}
	waiting = xcalloc(1, sizeof(*waiting));
	waiting->asked = *request;
	waiting->due_us = now_us + (uint64_t)request->seconds * 1000000;
	wanted.owner = waiting;
	waiting->seat = fair_share_add(&waits->share, &wanted);
	TAILQ_INSERT_TAIL(&waits->list, waiting, link);
	waits->count++;
}

void load_wait_stop(struct load_wait *waits)
{
	struct waiting *next;

	if (waits == NULL || waits->is_stopped) {
		return;
	}
	waits->is_stopped = true;
	for (struct waiting *w = TAILQ_FIRST(&waits->list); w != NULL;
		w = next) {
		struct load_wait_request asked;

		next = TAILQ_NEXT(w, link);
		asked = take(waits, w);
		end(&asked, "shutting down");
	}
	timer_close(take_ptr(waits->timer));
}

void load_wait_free(struct load_wait *waits)
{
	free(waits);
}
