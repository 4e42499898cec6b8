#include "agent/check.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/memory.h"

enum { ANSWER_MAX = 512, BACKLOG = 16, ASK_S = 5 };

static const char good = '+';
static const char bad = '-';

struct check {
	uv_poll_t poll;
	int fd;
	check_say say;
	void *owner;
};

/* unix(7): an abstract name begins with a NUL. A node's name may be longer than
 * fits: then its end decides, which differs where names are cut. */
static socklen_t address_of(struct sockaddr_un *address, const char *node)
{
	static const char prefix[] = "plimsoll-agent/";
	size_t room = sizeof(address->sun_path) - 1 - (sizeof(prefix) - 1);
	size_t len = strlen(node);
	const char *tail = len > room ? node + len - room : node;
	char *at = address->sun_path + 1;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(at, prefix, sizeof(prefix) - 1);
	at += sizeof(prefix) - 1;
	memcpy(at, tail, strlen(tail));
	at += strlen(tail);
	return (socklen_t)(at - (char *)address);
}

static void answer(struct check *check, int fd)
{
	scoped_buffer struct buffer text = BUFFER_MAX(ANSWER_MAX);
	char first[] = { bad, '\0' };

	buffer_text(&text, first);
	if (check->say(check->owner, &text)) {
		text.data[0] = good;
	}
	/* It fits the socket's buffer; who went away is no concern. */
	(void)send(fd, text.data, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct check *check = poll->data;
	int fd;

	(void)status;
	(void)events;
	fd = accept4(check->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		answer(check, fd);
		(void)close(fd);
	}
}

int check_new(struct check **out, uv_loop_t *loop, const char *node,
	check_say say, void *owner, struct error *err)
{
	struct sockaddr_un address;
	socklen_t len = address_of(&address, node);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct check *check;
	int r = 0;

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
		listen(fd, BACKLOG) < 0) {
		r = errno == EADDRINUSE
			? error_set(err, -EADDRINUSE,
				  "another agent runs here for node '%s'", node)
			: error_errno(err, "cannot listen for --check");
		if (fd >= 0) {
			(void)close(fd);
		}
		return r;
	}
	check = xcalloc(1, sizeof(*check));
	check->fd = fd;
	check->say = say;
	check->owner = owner;
	check->poll.data = check;
	r = uv_poll_init(loop, &check->poll, fd);
	if (r == 0) {
		r = uv_poll_start(&check->poll, UV_READABLE, on_readable);
	}
	if (r < 0) {
		abort(); /* a socket can be polled */
	}
	*out = check;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct check *check = handle->data;

	(void)close(check->fd);
	free(check);
}

void check_close(struct check *check)
{
	if (check != NULL) {
		uv_close((uv_handle_t *)&check->poll, on_closed);
	}
}

/* -ECONNREFUSED, -ETIMEDOUT; else the length. */
static ssize_t ask(char *out, size_t size, const char *node)
{
	struct timeval limit = { .tv_sec = ASK_S };
	struct sockaddr_un address;
	socklen_t len = address_of(&address, node);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t got = -ECONNREFUSED;

	if (fd < 0) {
		return -errno;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&address, len) == 0) {
		got = recv(fd, out, size, MSG_WAITALL);
		got = got < 0 ? -ETIMEDOUT : got;
	}
	(void)close(fd);
	return got;
}

int check_ask(const char *node, FILE *out, struct error *err)
{
	char text[ANSWER_MAX];
	ssize_t len = ask(text, sizeof(text) - 1, node);

	if (len == -ETIMEDOUT) {
		return error_set(err, -ETIMEDOUT,
			"the agent of node '%s' does not answer", node);
	}
	if (len <= 0) {
		return error_set(err, -ECONNREFUSED,
			"no agent runs here for node '%s'", node);
	}
	text[len] = '\0';
	if (text[0] != good) {
		return error_set(err, -EIO, "%s", text + 1);
	}
	(void)fprintf(out, "%s\n", text + 1);
	return 0;
}
