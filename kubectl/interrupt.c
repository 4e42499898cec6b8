#include "kubectl/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t both(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	return set;
}

struct interrupt interrupt_open(void)
{
	sigset_t set = both();

	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	return (struct interrupt){ signalfd(-1, &set, SFD_CLOEXEC) };
}

bool interrupt_wait(const struct interrupt *interrupt, int ms)
{
	struct pollfd poll_fd = { .fd = interrupt->fd, .events = POLLIN };

	return poll(&poll_fd, 1, ms) > 0;
}

void interrupt_close(struct interrupt *interrupt)
{
	struct signalfd_siginfo info;
	sigset_t set = both();

	while (interrupt_wait(interrupt, 0)) {
		if (read(interrupt->fd, &info, sizeof(info)) <= 0) {
			break;
		}
	}
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (interrupt->fd >= 0) {
		(void)close(interrupt->fd);
	}
	interrupt->fd = -1;
}
