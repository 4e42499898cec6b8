/* Which connections received bytes since the last look.
 *
 * A look costs as much as the connections that received something, and not as
 * all: with agents that report every 10 s, that is one in twenty. An epoll of
 * its own keeps the list. It reports edges, and nothing waits for it, so the
 * kernel only notes each arrival. Private to lib/mq/mq*.c. */
#pragma once

#include <stdbool.h>

struct mq_activity {
	int epoll; /* negative: the kernel has none for us */
};

struct mq_activity mq_activity_new(void);
void mq_activity_close(struct mq_activity *activity);

/* Watches a socket under a number of the caller's, until its file is closed.
 * A socket that is watched already gets the new number. The next look visits it
 * in any case. False: the kernel does not watch it, so the caller looks at it
 * itself. */
bool mq_activity_watch(struct mq_activity *activity, int fd, int id);

/* Visits the numbers of the sockets that received bytes, or closed, since the
 * last call. */
void mq_activity_visit(struct mq_activity *activity,
	void (*visit)(void *owner, int id), void *owner);
