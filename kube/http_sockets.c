#include "kube/http_sockets.h"

#include "lib/memory.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A silent peer is detected after 15 + 3 * 5 s; see kube/http_handle.c. */
enum { PROBES = 3 };

struct http_socket {
	uv_poll_t poll;
	struct http_sockets *sockets;
	curl_socket_t fd;
	int wanted;  /* by curl: UV_READABLE, UV_WRITABLE */
	int watched; /* by the loop */
	/* A connection, which curl closes by on_close(). curl closes other
	 * sockets itself, soon after it stops watching them. */
	bool is_connection;
};

static struct http_socket *find(const struct http_sockets *sockets,
	curl_socket_t fd)
{
	return (size_t)fd < sockets->size ? sockets->by_fd[fd] : NULL;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct http_socket *s = poll->data;
	int flags = status < 0 ? CURL_CSELECT_ERR : 0;

	if (s->wanted == 0) {
		/* The server closed an idle connection. The next request
		 * finds that out. */
		(void)uv_poll_stop(poll);
		s->watched = 0;
		return;
	}
	flags |= (events & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0;
	flags |= (events & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0;
	if (status < 0) {
		s->watched = 0; /* libuv stopped it */
	}
	s->sockets->on_ready(s->sockets->owner, s->fd, flags);
}

/* A connection that nobody reads stays watched for its next request. */
static void update(struct http_socket *s, int wanted)
{
	int watched = wanted != 0 ? wanted : s->watched & UV_READABLE;

	s->wanted = wanted;
	if (watched == s->watched) {
		return;
	}
	s->watched = watched;
	if (watched != 0) {
		(void)uv_poll_start(&s->poll, watched, on_poll);
	} else {
		(void)uv_poll_stop(&s->poll);
	}
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void forget(struct http_sockets *sockets, curl_socket_t fd)
{
	struct http_socket *s = find(sockets, fd);

	if (s != NULL) {
		sockets->by_fd[fd] = NULL;
		uv_close((uv_handle_t *)&s->poll, on_closed);
	}
}

static struct http_socket *add(struct http_sockets *sockets, curl_socket_t fd)
{
	struct http_socket *s = xcalloc(1, sizeof(*s));
	int result;

	while ((size_t)fd >= sockets->size) {
		size_t old = sockets->size;

		sockets->by_fd = xgrow(sockets->by_fd, old, &sockets->size,
			sizeof(struct http_socket *));
		(void)memset(sockets->by_fd + old, 0,
			(sockets->size - old) * sizeof(struct http_socket *));
	}
	forget(sockets, fd);
	result = uv_poll_init_socket(sockets->loop, &s->poll, fd);
	/* fd is a socket, and nothing else watches it. */
	assert(result == 0);
	(void)result;
	/* An idle connection alone must not keep the loop running. */
	uv_unref((uv_handle_t *)&s->poll);
	s->poll.data = s;
	s->sockets = sockets;
	s->fd = fd;
	sockets->by_fd[fd] = s;
	return s;
}

/* ---- called by curl ---- */

static int on_open(void *owner, curl_socket_t fd, curlsocktype purpose)
{
	const int probes = PROBES;

	(void)purpose;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	add(owner, fd)->is_connection = true;
	return CURL_SOCKOPT_OK;
}

static int on_close(void *owner, curl_socket_t fd)
{
	forget(owner, fd);
	return close(fd);
}

static int on_change(CURL *easy, curl_socket_t fd, int what, void *owner,
	void *assigned)
{
	struct http_sockets *sockets = owner;
	struct http_socket *s = find(sockets, fd);
	int wanted = 0;

	(void)easy;
	(void)assigned;
	if (what == CURL_POLL_REMOVE && (s == NULL || !s->is_connection)) {
		forget(sockets, fd);
		return 0;
	}
	if (what != CURL_POLL_REMOVE) {
		wanted |= (what & CURL_POLL_IN) != 0 ? UV_READABLE : 0;
		wanted |= (what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0;
	}
	update(s != NULL ? s : add(sockets, fd), wanted);
	return 0;
}

/* ---- life ---- */

void http_sockets_init(struct http_sockets *sockets, uv_loop_t *loop,
	CURLM *multi, http_sockets_ready on_ready, void *owner)
{
	*sockets = (struct http_sockets){
		.loop = loop,
		.on_ready = on_ready,
		.owner = owner,
	};
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_change);
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, sockets);
}

void http_sockets_set_up(struct http_sockets *sockets, CURL *easy)
{
	(void)curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_open);
	(void)curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, sockets);
	(void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
	(void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, sockets);
}

void http_sockets_fini(struct http_sockets *sockets)
{
	for (size_t fd = 0; fd < sockets->size; fd++) {
		forget(sockets, (curl_socket_t)fd);
	}
	free(sockets->by_fd);
	sockets->by_fd = NULL;
	sockets->size = 0;
}
