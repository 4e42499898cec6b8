#include "aggregator/ingest/snapshot.h"

#include "aggregator/ingest/ingest_reply.h"
#include "aggregator/ingest/long_poll.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>

void snapshot_write(struct buffer *out, const struct live *live,
	const struct snapshot_request *request, uint64_t now_us)
{
	struct snapshot snapshot = {
		.epoch = live_epoch(live),
		.full = request->epoch != live_epoch(live),
	};
	const struct live_node *node;
	size_t capacity = 0, bytes = 0;

	snapshot.rev = snapshot.full ? 0 : request->rev;
	node = live_after(live, snapshot.rev);
	while (node != NULL && snapshot.count < WIRE_NODES_MAX) {
		struct node_load load;

		live_node_load(&load, node, now_us);
		bytes += wire_node_load_bytes(&load);
		if (snapshot.count > 0 && bytes > SNAPSHOT_BYTES_MAX) {
			node_load_fini(&load);
			break;
		}
		snapshot.nodes = xgrow(snapshot.nodes, snapshot.count,
			&capacity, sizeof(*snapshot.nodes));
		snapshot.nodes[snapshot.count++] = load;
		snapshot.rev = live_node_revision(node);
		node = live_next(node);
	}
	if (node == NULL) {
		/* The newest change may be a removal. */
		snapshot.rev = live_revision(live);
	}
	wire_pack_snapshot(out, &snapshot);
	for (size_t i = 0; i < snapshot.count; i++) {
		node_load_fini(&snapshot.nodes[i]);
	}
	free(snapshot.nodes);
}

struct snapshot_poll {
	const struct live *live;
	struct long_poll long_poll;
	struct timer *timer;
	uint64_t count;
};

/* The last answer of this turn of the loop. */
struct answer {
	struct snapshot_request request;
	struct buffer bytes; /* empty: there is none */
};

static void answer_waiter(struct snapshot_poll *poll,
	const struct waiter *waiter, struct answer *last)
{
	poll->count++;
	if (last->bytes.len == 0 ||
		last->request.epoch != waiter->request.epoch ||
		last->request.rev != waiter->request.rev) {
		buffer_clear(&last->bytes);
		last->request = waiter->request;
		snapshot_write(&last->bytes, poll->live, &waiter->request,
			clock_monotonic_us());
	}
	if (last->bytes.overflowed) {
		struct error error;

		(void)error_set(&error, -EMSGSIZE,
			"the snapshot is larger than a message");
		ingest_reply_refused(waiter->handle, &error, 0);
		return;
	}
	ingest_reply_bytes(waiter->handle, &last->bytes);
}

void snapshot_poll_serve(struct snapshot_poll *poll)
{
	const struct snapshot_request now = { live_epoch(poll->live),
		live_revision(poll->live) };
	struct answer last = { .bytes = BUFFER_MAX(MQ_RECV_MAX) };
	uint64_t now_us = clock_monotonic_us();
	uint64_t due_us = now_us;
	struct waiter waiter;
	uint64_t wait_us;

	while (long_poll_take_due(&waiter, &poll->long_poll, &now, due_us)) {
		answer_waiter(poll, &waiter, &last);
		/* Those that are nearly due go along. From then on they ask
		 * for the same at the same time. */
		due_us = now_us + LONG_POLL_COALESCE_US / 2;
	}
	buffer_fini(&last.bytes);
	wait_us = long_poll_wait_us(&poll->long_poll, &now, now_us);
	if (wait_us == UINT64_MAX) {
		timer_stop(poll->timer);
	} else {
		timer_start(poll->timer, wait_us / 1000 + 1, 0);
	}
}

void snapshot_poll_ask(struct snapshot_poll *poll, struct mq_request *request,
	const struct snapshot_request *wanted, uint64_t peer)
{
	const struct waiter waiter = { request, *wanted, clock_monotonic_us(),
		mq_request_pipe(request), peer };
	struct answer last = { .bytes = BUFFER_MAX(MQ_RECV_MAX) };
	struct waiter displaced;

	if (long_poll_add(&poll->long_poll, &waiter, &displaced)) {
		answer_waiter(poll, &displaced, &last);
	}
	buffer_fini(&last.bytes);
	snapshot_poll_serve(poll);
}

static void on_timer(void *owner)
{
	snapshot_poll_serve(owner);
}

struct snapshot_poll *snapshot_poll_new(uv_loop_t *loop,
	const struct live *live)
{
	struct snapshot_poll *poll = xcalloc(1, sizeof(*poll));

	poll->live = live;
	long_poll_init(&poll->long_poll);
	poll->timer = timer_new(loop, on_timer, poll);
	return poll;
}

void snapshot_poll_free(struct snapshot_poll *poll)
{
	if (poll != NULL) {
		timer_close(poll->timer);
		long_poll_fini(&poll->long_poll);
		free(poll);
	}
}

uint64_t snapshot_poll_count(const struct snapshot_poll *poll)
{
	return poll->count;
}
