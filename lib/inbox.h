/* The one way from another thread into the libuv thread.
 *
 * Any thread pushes an item; the loop gets all of them in order. All state
 * belongs to the loop's thread, so an item is handed over, not shared. */
#pragma once

#include <uv.h>

struct inbox;

/* Embedded first in whatever travels. */
struct inbox_item {
	struct inbox_item *next;
};

/* Called on the loop's thread for each item; takes ownership of it. */
typedef void (*inbox_deliver)(void *owner, struct inbox_item *item);

/* Never NULL. owner outlives the inbox. */
struct inbox *inbox_new(uv_loop_t *loop, inbox_deliver deliver, void *owner);

/* From any thread, until inbox_close() was called. The inbox owns item. */
void inbox_push(struct inbox *inbox, struct inbox_item *item);

/* On the loop's thread, once no other thread can push any more: delivers what
 * is left, then frees itself in the handle's close callback. NULL is fine. */
void inbox_close(struct inbox *inbox);
