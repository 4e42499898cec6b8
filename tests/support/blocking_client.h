/* An HTTP client for tests of a server on the same event loop: the client
 * blocks on a thread. */
#pragma once

#include "lib/http/httpd.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct blocking_client {
	uv_work_t work;
	uint16_t port;
	char request[512], answer[20000];
	bool is_answered;
};

static inline void blocking_client_exchange(uv_work_t *work)
{
	struct blocking_client *c = work->data;
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(c->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	scoped_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	ssize_t got = 1;

	c->answer[0] = '\0';
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		write(fd, c->request, strlen(c->request)) < 0) {
		return;
	}
	while (got > 0 && len < sizeof(c->answer) - 1) {
		got = read(fd, c->answer + len, sizeof(c->answer) - 1 - len);
		len += got > 0 ? (size_t)got : 0;
	}
	c->answer[len] = '\0';
}

static inline void blocking_client_done(uv_work_t *work, int status)
{
	struct blocking_client *c = work->data;

	(void)status;
	c->is_answered = true;
}

/* header: further lines, each with its line end. The answer is complete when
 * is_answered is true. */
static inline void blocking_client_send(struct blocking_client *c,
	uv_loop_t *loop, const char *method, const char *path,
	const char *header)
{
	(void)snprintf(c->request, sizeof(c->request),
		"%s %s HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n",
		method, path, header);
	c->is_answered = false;
	c->work.data = c;
	assert_int_equal(uv_queue_work(loop, &c->work, blocking_client_exchange,
				 blocking_client_done),
		0);
}

/* Fails the test if the answer, once it is there, has another status. */
static inline void blocking_client_check(const struct blocking_client *c,
	int status)
{
	char line[32];

	(void)snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
	if (strncmp(c->answer, line, strlen(line)) != 0) {
		fail_msg("%.100s gave %.300s", c->request, c->answer);
	}
}
