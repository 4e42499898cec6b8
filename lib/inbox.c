#include "lib/inbox.h"

#include "lib/memory.h"

#include <stdbool.h>
#include <stdlib.h>

struct inbox {
	uv_async_t wake;
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

/* uv_async_send() coalesces, so one wake-up drains everything. */
static void drain(struct inbox *inbox)
{
	struct inbox_item *item = take_all(inbox);

	while (item != NULL) {
		struct inbox_item *next = item->next;

		inbox->deliver(inbox->owner, item);
		item = next;
	}
}

static void on_wake(uv_async_t *wake)
{
	drain(wake->data);
}

struct inbox *inbox_new(uv_loop_t *loop, inbox_deliver deliver, void *owner)
{
	struct inbox *inbox = xcalloc(1, sizeof(*inbox));

	inbox->deliver = deliver;
	inbox->owner = owner;
	inbox->last = &inbox->first;
	inbox->wake.data = inbox;
	if (uv_mutex_init(&inbox->mutex) != 0 ||
		uv_async_init(loop, &inbox->wake, on_wake) != 0) {
		/* Only the lack of memory or descriptors gets here. */
		abort();
	}
	return inbox;
}

void inbox_push(struct inbox *inbox, struct inbox_item *item)
{
	item->next = NULL;
	uv_mutex_lock(&inbox->mutex);
	*inbox->last = item;
	inbox->last = &item->next;
	uv_mutex_unlock(&inbox->mutex);
	(void)uv_async_send(&inbox->wake);
}

static void on_closed(uv_handle_t *handle)
{
	struct inbox *inbox = handle->data;

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
