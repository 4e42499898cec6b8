#include "agent/health.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/address.h"
#include "lib/memory.h"

enum { SENTENCE_MAX = 512, ANSWER_MAX = 1024, BACKLOG = 16 };

union any_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A connection whose request is not complete. */
struct client {
	uv_poll_t poll;
	struct health *health;
	int fd;
	size_t len;
	char request[HEALTH_REQUEST_MAX];
};

struct health {
	uv_poll_t poll;
	int fd;
	check_describe describe;
	void *owner;
	struct client *clients[HEALTH_CLIENTS]; /* the oldest first */
	size_t client_count;
};

/* ---- connections ---- */

static void on_client_closed(uv_handle_t *handle)
{
	struct client *client = handle->data;

	(void)close(client->fd);
	free(client);
}

static void drop(struct client *client)
{
	struct health *health = client->health;
	size_t i = 0;

	while (health->clients[i] != client) {
		i++;
	}
	health->client_count--;
	memmove(&health->clients[i], &health->clients[i + 1],
		(health->client_count - i) * sizeof(struct client *));
	uv_close((uv_handle_t *)&client->poll, on_client_closed);
}

static bool asks_for(const char *text, size_t len, const char *path)
{
	size_t path_len = strlen(path);

	return len > path_len + 4 && memcmp(text, "GET ", 4) == 0 &&
		memcmp(text + 4, path, path_len) == 0 &&
		(text[4 + path_len] == ' ' || text[4 + path_len] == '?');
}

enum health_request health_read(const char *text, size_t len)
{
	static const char *const paths[] = { "/healthz", "/livez", "/readyz" };

	if (memmem(text, len, "\r\n\r\n", 4) == NULL) {
		return HEALTH_REQUEST_INCOMPLETE;
	}
	for (size_t i = 0; i < count_of(paths); i++) {
		if (asks_for(text, len, paths[i])) {
			return HEALTH_REQUEST_PROBE;
		}
	}
	return HEALTH_REQUEST_UNKNOWN;
}

static const char *status_of(const struct health *health,
	enum health_request request, struct buffer *body)
{
	if (request == HEALTH_REQUEST_UNKNOWN) {
		buffer_text(body,
			"no such path; known paths: /healthz, "
			"/livez, /readyz");
		return "404 Not Found";
	}
	return health->describe(health->owner, body)
		? "200 OK"
		: "503 Service Unavailable";
}

/* The answer fits the socket's buffer; the client may be gone. */
static void answer(const struct client *client, enum health_request request)
{
	scoped_buffer struct buffer body = BUFFER_MAX(SENTENCE_MAX);
	scoped_buffer struct buffer text = BUFFER_MAX(ANSWER_MAX);
	const char *status = status_of(client->health, request, &body);

	buffer_char(&body, '\n');
	buffer_printf(&text,
		"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: "
		"%zu\r\nConnection: close\r\n\r\n%s",
		status, body.len, body.data);
	(void)send(client->fd, text.data, text.len,
		MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_request(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;
	ssize_t got = recv(client->fd, client->request + client->len,
		sizeof(client->request) - client->len, MSG_DONTWAIT);
	enum health_request request;

	(void)status;
	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (got > 0) {
		client->len += (size_t)got;
		request = health_read(client->request, client->len);
		if (request != HEALTH_REQUEST_INCOMPLETE) {
			answer(client, request);
		} else if (client->len < sizeof(client->request)) {
			return;
		}
	}
	drop(client);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct health *health = poll->data;
	int fd = accept4(health->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client;

	(void)status;
	(void)events;
	if (fd < 0) {
		return;
	}
	if (health->client_count == HEALTH_CLIENTS) {
		drop(health->clients[0]);
	}
	client = xcalloc(1, sizeof(*client));
	client->health = health;
	client->fd = fd;
	client->poll.data = client;
	if (uv_poll_init(health->poll.loop, &client->poll, fd) < 0) {
		(void)close(fd);
		free(client);
		return;
	}
	(void)uv_poll_start(&client->poll, UV_READABLE, on_request);
	health->clients[health->client_count++] = client;
}

/* ---- the listener ---- */

/* The host is empty: all addresses, also where IPv6 is switched off. */
static int any_host(union any_address *out, in_port_t port)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	bool has_v6 = fd >= 0 &&
		bind(fd, (const struct sockaddr *)&v6, sizeof(v6)) == 0;

	if (fd >= 0) {
		(void)close(fd);
	}
	if (has_v6) {
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_port = port;
		return sizeof(out->v6);
	}
	out->v4.sin_family = AF_INET;
	out->v4.sin_port = port;
	return sizeof(out->v4);
}

/* Returns the length of the address; 0: not an address. */
static int read_address(union any_address *out, const char *address)
{
	char host[ADDRESS_HOST_MAX];
	in_port_t port;

	*out = (union any_address){ 0 };
	if (!address_split(host, address)) {
		return 0;
	}
	port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
	if (*address == ':') {
		return any_host(out, port);
	}
	if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_port = port;
		return sizeof(out->v6);
	}
	out->v4.sin_family = AF_INET;
	out->v4.sin_port = port;
	return inet_pton(AF_INET, host, &out->v4.sin_addr) == 1
		? (int)sizeof(out->v4)
		: 0;
}

static int listen_on(const char *address, struct error *err)
{
	union any_address at;
	const int on = 1, off = 0;
	int len = read_address(&at, address);
	int fd, r;

	if (len == 0) {
		return error_set(err, -EINVAL, "'%s' is not an address",
			address);
	}
	fd = socket(at.any.sa_family,
		SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at.any.sa_family == AF_INET6) {
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off,
			sizeof(off));
	}
	if (fd < 0 || bind(fd, &at.any, (socklen_t)len) < 0 ||
		listen(fd, BACKLOG) < 0) {
		r = error_errno(err, "cannot listen on '%s'", address);
		if (fd >= 0) {
			(void)close(fd);
		}
		return r;
	}
	return fd;
}

int health_new(struct health **out, uv_loop_t *loop, const char *address,
	check_describe describe, void *owner, struct error *err)
{
	int fd = listen_on(address, err);
	struct health *health;

	if (fd < 0) {
		return fd;
	}
	health = xcalloc(1, sizeof(*health));
	health->fd = fd;
	health->describe = describe;
	health->owner = owner;
	health->poll.data = health;
	if (uv_poll_init(loop, &health->poll, fd) < 0 ||
		uv_poll_start(&health->poll, UV_READABLE, on_connection) < 0) {
		abort(); /* only if a socket cannot be polled */
	}
	*out = health;
	return 0;
}

uint16_t health_port(const struct health *health)
{
	union any_address at = { 0 };
	socklen_t len = sizeof(at);

	(void)getsockname(health->fd, &at.any, &len);
	return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port
						  : at.v4.sin_port);
}

static void on_closed(uv_handle_t *handle)
{
	struct health *health = handle->data;

	(void)close(health->fd);
	free(health);
}

void health_close(struct health *health)
{
	if (health == NULL) {
		return;
	}
	while (health->client_count > 0) {
		drop(health->clients[0]);
	}
	uv_close((uv_handle_t *)&health->poll, on_closed);
}
