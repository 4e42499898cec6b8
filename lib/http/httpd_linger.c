#include "lib/http/httpd_linger.h"

#include "lib/clock.h"
#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EXPIRE_MS = 500, READ_BYTES = 64 << 10, READS_PER_TURN = 16 };

struct lingerer {
	struct inbox_item item;
	LIST_ENTRY(lingerer) link;
	struct linger_list *list;
	uv_poll_t poll;
	int fd;
	uint64_t due_us;
	size_t bytes;
};

struct linger_list {
	struct inbox *inbox;
	struct timer *expiry;
	uv_loop_t *loop;
	LIST_HEAD(lingerers, lingerer) open;
	_Atomic unsigned count; /* also those in the inbox */
};

static void on_closed(uv_handle_t *handle)
{
	struct lingerer *linger = handle->data;

	(void)close(linger->fd);
	free(linger);
}

static void end(struct lingerer *linger)
{
	LIST_REMOVE(linger, link);
	atomic_fetch_sub(&linger->list->count, 1);
	uv_close((uv_handle_t *)&linger->poll, on_closed);
}

/* False: the client has closed, or has sent enough. */
static bool discard(struct lingerer *linger)
{
	static char bytes[READ_BYTES];
	ssize_t len = 1;

	for (int i = 0; i < READS_PER_TURN && len > 0; i++) {
		len = recv(linger->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		linger->bytes += len > 0 ? (size_t)len : 0;
	}
	return linger->bytes < LINGER_BYTES &&
		(len > 0 || (len < 0 && errno == EAGAIN));
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct lingerer *linger = poll->data;

	(void)events;
	if (status < 0 || !discard(linger)) {
		end(linger);
	}
}

/* The client sees the end of the response now. */
static void deliver(void *owner, struct inbox_item *item)
{
	struct linger_list *list = owner;
	struct lingerer *linger = (struct lingerer *)item;

	(void)shutdown(linger->fd, SHUT_WR);
	linger->due_us = clock_monotonic_us() + LINGER_MS * UINT64_C(1000);
	linger->poll.data = linger;
	if (uv_poll_init(list->loop, &linger->poll, linger->fd) != 0 ||
		uv_poll_start(&linger->poll, UV_READABLE, on_readable) != 0) {
		/* Fails only without memory or file descriptors. */
		abort();
	}
	LIST_INSERT_HEAD(&list->open, linger, link);
}

static void expire(void *owner)
{
	struct linger_list *list = owner;
	uint64_t now_us = clock_monotonic_us();

	for (struct lingerer *l = LIST_FIRST(&list->open), *next; l != NULL;
		l = next) {
		next = LIST_NEXT(l, link);
		if (now_us > l->due_us) {
			end(l);
		}
	}
}

struct linger_list *linger_list_new(uv_loop_t *loop)
{
	struct linger_list *list = xcalloc(1, sizeof(*list));

	list->loop = loop;
	list->inbox = inbox_new(loop, deliver, list);
	list->expiry = timer_new(loop, expire, list);
	timer_start(list->expiry, EXPIRE_MS, EXPIRE_MS);
	LIST_INIT(&list->open);
	return list;
}

void linger_list_add(struct linger_list *list, int fd)
{
	struct lingerer *linger;
	int copy = -1;

	if (atomic_fetch_add(&list->count, 1) < LINGER_MAX) {
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	if (copy < 0) {
		atomic_fetch_sub(&list->count, 1);
		return;
	}
	linger = xcalloc(1, sizeof(*linger));
	linger->list = list;
	linger->fd = copy;
	inbox_push(list->inbox, &linger->item);
}

void linger_list_close(struct linger_list *list)
{
	if (list == NULL) {
		return;
	}
	timer_close(list->expiry);
	inbox_close(list->inbox);
	while (!LIST_EMPTY(&list->open)) {
		end(LIST_FIRST(&list->open));
	}
	free(list);
}
