/* The sockets of curl, watched by libuv. Private to kube/http*.c.
 *
 * curl stops watching a socket after each request. The watch of a connection
 * lasts until the connection is closed nevertheless: six system calls fewer for
 * each request. */
#pragma once

#include <curl/curl.h>
#include <stddef.h>
#include <uv.h>

struct http_socket;

/* fd is ready: events are CURL_CSELECT_*. */
typedef void (*http_sockets_ready)(void *owner, curl_socket_t fd, int events);

struct http_sockets {
	uv_loop_t *loop;
	http_sockets_ready on_ready;
	void *owner;
	struct http_socket **by_fd; /* NULL: not watched */
	size_t size;
};

/* Watches the sockets of multi. The struct must not move any more. */
void http_sockets_init(struct http_sockets *sockets, uv_loop_t *loop,
	CURLM *multi, http_sockets_ready on_ready, void *owner);

/* To be called for each handle before its request: its connections tell when
 * they open and close. */
void http_sockets_set_up(struct http_sockets *sockets, CURL *easy);

/* After curl_multi_cleanup(), which closes the connections. */
void http_sockets_fini(struct http_sockets *sockets);
