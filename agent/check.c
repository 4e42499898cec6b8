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

enum { ANSWER_MAX = 512, BACKLOG = 16, QUERY_S = 5 };

struct check {
	uv_poll_t poll;
	int fd;
	check_describe describe;
	void *owner;
};

/* unix(7): an abstract name begins with a NUL. A node name that is too long
 * loses its beginning, because long names usually differ at the end. */
static socklen_t address_of(struct sockaddr_un *address, const char *node)
{
	static const char prefix[] = "plimsoll-agent/";
	size_t used = offsetof(struct sockaddr_un, sun_path) + sizeof(prefix);
	size_t room = sizeof(*address) - used;
	size_t len = strlen(node);
	size_t cut = len > room ? len - room : 0;

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, prefix, sizeof(prefix) - 1);
	memcpy((char *)address + used, node + cut, len - cut);
	return (socklen_t)(used + len - cut);
}

/* Sends '+' if the agent works, or else '-', and the sentence. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
	scoped_buffer struct buffer text = BUFFER_MAX(ANSWER_MAX);
	struct check *check = poll->data;
	scoped_fd int fd =
		accept4(check->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)status;
	(void)events;
	buffer_char(&text, '-');
	if (check->describe(check->owner, &text)) {
		text.data[0] = '+';
	}
	/* The answer fits the socket's buffer; the client may be gone. */
	(void)send(fd, text.data, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int check_new(struct check **out, uv_loop_t *loop, const char *node,
	check_describe describe, void *owner, struct error *err)
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
			: error_errno(err,
				  "cannot open the socket for --check");
		if (fd >= 0) {
			(void)close(fd);
		}
		return r;
	}
	check = xcalloc(1, sizeof(*check));
	check->fd = fd;
	check->describe = describe;
	check->owner = owner;
	check->poll.data = check;
	r = uv_poll_init(loop, &check->poll, fd);
	if (r == 0) {
		r = uv_poll_start(&check->poll, UV_READABLE, on_readable);
	}
	if (r < 0) {
		abort(); /* only if a socket cannot be polled */
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

/* Returns the length, -ECONNREFUSED or -ETIMEDOUT. */
static ssize_t query(char *out, size_t size, const char *node)
{
	struct timeval limit = { .tv_sec = QUERY_S };
	struct sockaddr_un address;
	socklen_t len = address_of(&address, node);
	scoped_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t got;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&address, len) < 0) {
		return -ECONNREFUSED;
	}
	got = recv(fd, out, size, MSG_WAITALL);
	return got < 0 ? -ETIMEDOUT : got;
}

int check_query(const char *node, FILE *out, struct error *err)
{
	char text[ANSWER_MAX];
	ssize_t len = query(text, sizeof(text) - 1, node);

	if (len == -ETIMEDOUT) {
		return error_set(err, -ETIMEDOUT,
			"the agent of node '%s' does not answer", node);
	}
	if (len <= 0) {
		return error_set(err, -ECONNREFUSED,
			"no agent runs here for node '%s'", node);
	}
	text[len] = '\0';
	if (text[0] != '+') {
		return error_set(err, -EIO, "%s", text + 1);
	}
	(void)fprintf(out, "%s\n", text + 1);
	return 0;
}
