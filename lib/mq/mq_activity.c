#include "lib/mq/mq_activity.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 256 };

struct mq_activity mq_activity_new(void)
{
	return (struct mq_activity){ epoll_create1(EPOLL_CLOEXEC) };
}

void mq_activity_close(struct mq_activity *activity)
{
	if (activity->epoll >= 0) {
		(void)close(activity->epoll);
	}
	activity->epoll = -1;
}

/* EPOLLOUT, because nng has mostly read the bytes when the next look comes:
 * epoll leaves out a file that is ready for nothing at that time, and these are
 * nearly always ready to be written. */
bool mq_activity_watch(struct mq_activity *activity, int fd, int id)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.fd = id,
	};

	if (epoll_ctl(activity->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
		return true;
	}
	return errno == EEXIST &&
		epoll_ctl(activity->epoll, EPOLL_CTL_MOD, fd, &event) == 0;
}

void mq_activity_visit(struct mq_activity *activity,
	void (*visit)(void *owner, int id), void *owner)
{
	struct epoll_event events[EVENTS];
	int count;

	do {
		count = activity->epoll < 0
			? 0
			: epoll_wait(activity->epoll, events, EVENTS, 0);
		for (int i = 0; i < count; i++) {
			visit(owner, events[i].data.fd);
		}
	} while (count == EVENTS);
}
