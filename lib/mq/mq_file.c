#include "lib/mq/mq_file.h"

#include "lib/memory.h"

#include <dirent.h>
#include <errno.h>
#include <linux/tcp.h> /* glibc has a shorter struct tcp_info */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

bool mq_address_of_pipe(struct mq_address *out, nng_pipe pipe, const char *name)
{
	nng_sockaddr from;

	*out = (struct mq_address){ 0 };
	if (nng_pipe_get_addr(pipe, name, &from) != 0) {
		return false;
	}
	if (from.s_family == NNG_AF_INET) {
		memcpy(out->host, &from.s_in.sa_addr, 4);
		out->port = from.s_in.sa_port;
	} else if (from.s_family == NNG_AF_INET6) {
		memcpy(out->host, from.s_in6.sa_addr, 16);
		out->port = from.s_in6.sa_port;
	}
	return out->port != 0;
}

static bool address_of(struct mq_address *out,
	const struct sockaddr_storage *from)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	*out = (struct mq_address){ 0 };
	if (from->ss_family == AF_INET) {
		memcpy(out->host, &v4->sin_addr, 4);
		out->port = v4->sin_port;
	} else if (from->ss_family == AF_INET6) {
		memcpy(out->host, &v6->sin6_addr, 16);
		out->port = v6->sin6_port;
	}
	return out->port != 0;
}

bool mq_address_of_file(struct mq_address *peer, int fd, uint16_t port)
{
	struct sockaddr_storage name = { 0 };
	socklen_t len = sizeof(name);
	struct mq_address ours = { 0 };

	if (getsockname(fd, (struct sockaddr *)&name, &len) != 0 ||
		!address_of(&ours, &name) || ours.port != port) {
		return false;
	}
	len = sizeof(name);
	return getpeername(fd, (struct sockaddr *)&name, &len) == 0 &&
		address_of(peer, &name);
}

int mq_address_compare(const struct mq_address *a, const struct mq_address *b)
{
	int order = memcmp(a->host, b->host, sizeof(a->host));

	return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}

uint64_t mq_file_received(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0
		? info.tcpi_bytes_received
		: 0;
}

void mq_files_visit(void (*visit)(void *owner, int fd), void *owner)
{
	DIR *files = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (files == NULL) {
		return;
	}
	for (entry = readdir(files); entry != NULL; entry = readdir(files)) {
		if (entry->d_name[0] != '.') {
			visit(owner, (int)strtoul(entry->d_name, NULL, 10));
		}
	}
	(void)closedir(files);
}

static socklen_t to_kernel(struct sockaddr_storage *out,
	const nng_sockaddr *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	if (address->s_family == NNG_AF_INET6) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = address->s_in6.sa_port;
		memcpy(&v6->sin6_addr, address->s_in6.sa_addr, 16);
		return sizeof(*v6);
	}
	v4->sin_family = AF_INET;
	v4->sin_port = address->s_in.sa_port;
	v4->sin_addr.s_addr = address->s_in.sa_addr;
	return sizeof(*v4);
}

void mq_touch(nng_listener listener)
{
	struct sockaddr_storage to = { 0 };
	nng_sockaddr address;
	socklen_t len;
	scoped_fd int fd = -1;

	if (nng_listener_get_addr(listener, NNG_OPT_LOCADDR, &address) != 0) {
		return;
	}
	len = to_kernel(&to, &address);
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		0);
	if (fd >= 0) {
		(void)connect(fd, (const struct sockaddr *)&to, len);
	}
}

void mq_file_end(int fd)
{
	(void)shutdown(fd, SHUT_RDWR);
}

/* ---- activity ---- */

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
