/* A queue from any thread to the libuv thread, in order.
 *
 * All state belongs to the loop thread, so an item is handed over, not
 * shared. */
#pragma once

#include <uv.h>

struct inbox;

/* The first member of everything that is pushed. */
struct inbox_item {
	struct inbox_item *next;
};

/* Called on the loop thread for each item; takes ownership of it. */
typedef void (*inbox_deliver)(void *owner, struct inbox_item *item);

/* Never NULL. owner outlives the inbox. */
struct inbox *inbox_new(uv_loop_t *loop, inbox_deliver deliver, void *owner);

/* Items that come often are taken once in so many ms: each time the loop wakes
 * up is a context switch. Items that come less often than that, or 32 at a
 * time, are taken at once. 0, as at first: all are. On the loop thread. */
void inbox_set_interval(struct inbox *inbox, uint64_t ms);

/* From any thread, before inbox_close(). The inbox takes ownership of item. */
void inbox_push(struct inbox *inbox, struct inbox_item *item);

/* On the loop thread, when no other thread can push any more. Delivers the
 * remaining items; frees itself in the handle's close callback. NULL is
 * fine. */
void inbox_close(struct inbox *inbox);
