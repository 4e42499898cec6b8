#include "lib/inbox.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Uses an own eventfd instead of uv_async_t: with uv_async_t the loop spins
 * until the sender returns from its system call, which took 50 us whenever the
 * loop preempted that thread. fd is readable from the first item until the loop
 * takes all items. */
struct inbox {
	uv_poll_t wake;
	int fd;
	uv_mutex_t mutex;
	struct inbox_item *first; /* guarded by mutex */
	struct inbox_item **last; /* guarded by mutex */
	inbox_deliver deliver;
	void *owner;
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

static void drain(struct inbox *inbox)
{
	struct inbox_item *item = take_all(inbox);

	while (item != NULL) {
		struct inbox_item *next = item->next;

		inbox->deliver(inbox->owner, item);
		item = next;
	}
}

/* Reads before it takes the items: a later push writes again. */
static void on_wake(uv_poll_t *wake, int status, int events)
{
	struct inbox *inbox = wake->data;
	uint64_t count;

	(void)status;
	(void)events;
	if (read(inbox->fd, &count, sizeof(count)) < 0 && errno != EAGAIN) {
		abort();
	}
	drain(inbox);
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
		uv_poll_init(loop, &inbox->wake, inbox->fd) != 0 ||
		uv_poll_start(&inbox->wake, UV_READABLE, on_wake) != 0) {
		/* Fails only without memory or file descriptors. */
		abort();
	}
	return inbox;
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
	drain(inbox);
	uv_close((uv_handle_t *)&inbox->wake, on_closed);
}
