#include "lib/inbox.h"

#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* So many items at a time keep the loop busy. */
enum { MANY = 32 };

/* Uses an own eventfd instead of uv_async_t: with uv_async_t the loop spins
 * until the sender returns from its system call, which took 50 us whenever the
 * loop preempted that thread. fd is readable from the first item until the loop
 * takes all items. During an interval the loop does not wait for it. */
struct inbox {
	uv_poll_t wake;
	int fd;
	uv_mutex_t mutex;
	struct inbox_item *first; /* guarded by mutex */
	struct inbox_item **last; /* guarded by mutex */
	inbox_deliver deliver;
	void *owner;
	struct timer *interval;
	uint64_t interval_ms;
	uint64_t drained_us; /* the last drain began; 0: there was none */
};

static struct inbox_item *take_all(struct inbox *inbox)
{
	struct inbox_item *items;

	uv_mutex_lock(&inbox->mutex);
	items = inbox->first;
	inbox->first = NULL;
	inbox->last = &inbox->first;
	uv_mutex_unlock(&inbox->mutex);
	return items;
}

/* Returns the number of items. */
static size_t drain(struct inbox *inbox)
{
	struct inbox_item *item = take_all(inbox);
	size_t count = 0;

	while (item != NULL) {
		struct inbox_item *next = item->next;

		inbox->deliver(inbox->owner, item);
		item = next;
		count++;
	}
	return count;
}

static void start_poll(struct inbox *inbox);

/* Waits for fd, or for the interval. A timer's time counts from the begin of
 * the loop's turn, which is when the drain began. */
static void wait_for_more(struct inbox *inbox, bool has_interval)
{
	if (uv_is_closing((uv_handle_t *)&inbox->wake) != 0) {
		return;
	}
	if (has_interval) {
		(void)uv_poll_stop(&inbox->wake);
		timer_start(inbox->interval, inbox->interval_ms, 0);
	} else if (uv_is_active((uv_handle_t *)&inbox->wake) == 0) {
		start_poll(inbox);
	}
}

/* Reads before it takes the items: a later push writes again. */
static void drain_and_wait(struct inbox *inbox)
{
	uint64_t begin_us = clock_monotonic_us();
	bool is_often = inbox->drained_us != 0 &&
		begin_us - inbox->drained_us < 2000 * inbox->interval_ms;
	uint64_t written;
	size_t count;

	if (read(inbox->fd, &written, sizeof(written)) < 0 && errno != EAGAIN) {
		abort();
	}
	inbox->drained_us = begin_us;
	count = drain(inbox);
	wait_for_more(inbox, is_often && count > 0 && count < MANY);
}

static void on_wake(uv_poll_t *wake, int status, int events)
{
	(void)status;
	(void)events;
	drain_and_wait(wake->data);
}

static void on_interval(void *owner)
{
	drain_and_wait(owner);
}

static void start_poll(struct inbox *inbox)
{
	if (uv_poll_start(&inbox->wake, UV_READABLE, on_wake) != 0) {
		abort(); /* fd is open */
	}
}

struct inbox *inbox_new(uv_loop_t *loop, inbox_deliver deliver, void *owner)
{
	struct inbox *inbox = xcalloc(1, sizeof(*inbox));

	inbox->deliver = deliver;
	inbox->owner = owner;
	inbox->last = &inbox->first;
	inbox->wake.data = inbox;
	inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inbox->fd < 0 || uv_mutex_init(&inbox->mutex) != 0 ||
		uv_poll_init(loop, &inbox->wake, inbox->fd) != 0) {
		/* Fails only without memory or file descriptors. */
		abort();
	}
	inbox->interval = timer_new(loop, on_interval, inbox);
	start_poll(inbox);
	return inbox;
}

void inbox_set_interval(struct inbox *inbox, uint64_t ms)
{
	inbox->interval_ms = ms;
}

/* Writes only once until the loop wakes up. */
void inbox_push(struct inbox *inbox, struct inbox_item *item)
{
	const uint64_t one = 1;
	bool is_first;

	item->next = NULL;
	uv_mutex_lock(&inbox->mutex);
	is_first = inbox->first == NULL;
	*inbox->last = item;
	inbox->last = &item->next;
	uv_mutex_unlock(&inbox->mutex);
	if (is_first && write(inbox->fd, &one, sizeof(one)) != sizeof(one)) {
		abort(); /* the counter goes up to 2^64 */
	}
}

static void on_closed(uv_handle_t *handle)
{
	struct inbox *inbox = handle->data;

	(void)close(inbox->fd);
	uv_mutex_destroy(&inbox->mutex);
	free(inbox);
}

void inbox_close(struct inbox *inbox)
{
	if (inbox == NULL) {
		return;
	}
	(void)drain(inbox);
	timer_close(inbox->interval);
	uv_close((uv_handle_t *)&inbox->wake, on_closed);
}
