#include "lib/http/httpd.h"

#include "lib/address.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/http/httpd_request.h"
#include "lib/http/httpd_response.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IDLE_TIMEOUT_S = 15, HEADERS_MAX = 32 << 10 };

enum { EXPIRE_MS = 500 };

/* ---- connections ---- */

static void expire(void *owner)
{
	struct httpd *httpd = owner;

	clients_expire(&httpd->clients, clock_monotonic_us());
}

/* An IPv4 client of an IPv6 socket has its address as ::ffff:1.2.3.4. */
static void write_address(char out[INET6_ADDRSTRLEN],
	struct MHD_Connection *connection)
{
	const struct sockaddr *address = MHD_get_connection_info(connection,
		MHD_CONNECTION_INFO_CLIENT_ADDRESS)
						 ->client_addr;
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	out[0] = '\0';
	if (address != NULL) {
		(void)inet_ntop(address->sa_family,
			address->sa_family == AF_INET6
				? (const void *)&v6->sin6_addr
				: &v4->sin_addr,
			out, INET6_ADDRSTRLEN);
	}
}

static void on_connection(void *cls, struct MHD_Connection *connection,
	void **context, enum MHD_ConnectionNotificationCode code)
{
	struct httpd *httpd = cls;
	char address[INET6_ADDRSTRLEN];
	struct httpd_connection *own = *context;
	struct client *client;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		own = xcalloc(1, sizeof(*own));
		own->tls.tls = httpd->tls;
		if (httpd->trust != NULL) {
			httpd_trust_ask(connection);
		}
		write_address(address, connection);
		clients_add(&httpd->clients, &own->client,
			MHD_get_connection_info(connection,
				MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd,
			address, clock_monotonic_us());
		*context = own;
	} else if (own != NULL) {
		client = &own->client;
		clients_remove(&httpd->clients, client);
		if (client->has_body_left && !client->is_disconnected) {
			linger_list_add(httpd->lingers, client->fd);
		}
		free(own);
		*context = NULL;
	}
}

/* ---- one request, on libmicrohttpd's thread ---- */

/* The source of a stream belongs to the loop thread. While the server closes,
 * httpd_close() ends the streams. */
static void end_request(struct httpd *httpd, struct httpd_request *request)
{
	if (!request->is_streamed) {
		httpd_request_free(request);
		return;
	}
	uv_mutex_lock(&httpd->mutex);
	if (!httpd->closing) {
		request->progress = PROGRESS_ENDED;
		inbox_push(httpd->inbox, &request->item);
	}
	uv_mutex_unlock(&httpd->mutex);
}

/* The next request on this connection has the full time again. */
static void on_completed(void *cls, struct MHD_Connection *connection,
	void **context, enum MHD_RequestTerminationCode code)
{
	struct httpd *httpd = cls;
	struct httpd_request *request = *context;
	struct client *client;

	(void)connection;
	(void)code;
	if (request != NULL) {
		client = request->client;
		end_request(httpd, request);
		*context = NULL;
		clients_give_back(&httpd->clients, client, CLIENT_BODY);
		clients_give_back(&httpd->clients, client, CLIENT_RESPONSE);
		clients_give_back(&httpd->clients, client, CLIENT_STREAM);
		clients_set(&httpd->clients, client, CLIENT_REQUESTING,
			clock_monotonic_us());
	}
}

static enum MHD_Result queue_reply(struct httpd_request *request)
{
	return httpd_response_queue(request) ? MHD_YES : MHD_NO;
}

/* The request may not be used after it was handed to the loop thread. */
static enum MHD_Result begin_serving(struct httpd *httpd,
	struct httpd_request *request)
{
	clients_set(&httpd->clients, request->client, CLIENT_WAITING,
		clock_monotonic_us());
	if (httpd_request_suspend(request, PROGRESS_SERVING)) {
		return MHD_YES;
	}
	httpd_request_set_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		"shutting down");
	return queue_reply(request);
}

/* libmicrohttpd does not read the body if the connection is suspended or the
 * response is queued now. */
static enum MHD_Result begin_request(struct httpd *httpd,
	struct httpd_request *request)
{
	if (!httpd_request_admit_body(request)) {
		return queue_reply(request);
	}
	return request->is_body_left ? begin_serving(httpd, request) : MHD_YES;
}

/* libmicrohttpd defines the parameters. */
// NOLINTNEXTLINE(readability-function-size)
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection,
	const char *url, const char *method, const char *version,
	const char *upload, size_t *upload_len, void **context)
{
	struct httpd *httpd = cls;
	struct httpd_request *request = *context;

	(void)version;
	if (request == NULL) {
		*context = httpd_request_new(httpd, connection, url, method);
		return begin_request(httpd, *context);
	}
	if (*upload_len > 0) {
		buffer_append(&request->body, upload, *upload_len);
		*upload_len = 0;
		return MHD_YES;
	}
	if (request->progress == PROGRESS_READING) {
		return httpd_request_end_body(request)
			? begin_serving(httpd, request)
			: queue_reply(request);
	}
	if (request->progress == PROGRESS_REPLIED) {
		return queue_reply(request);
	}
	return MHD_YES;
}

/* ---- on the loop thread ---- */

static void end_stream(struct httpd_request *request)
{
	LIST_REMOVE(request, link);
	stream_fini(&request->stream);
	httpd_request_free(request);
}

static void resume_stream(struct httpd_request *request)
{
	request->progress = PROGRESS_SENDING_PART;
	MHD_resume_connection(request->connection);
}

static void deliver(void *owner, struct inbox_item *item)
{
	struct httpd *httpd = owner;
	struct httpd_request *request = (struct httpd_request *)item;

	if (request->progress == PROGRESS_ENDED) {
		end_stream(request);
	} else if (request->progress == PROGRESS_SERVING) {
		LIST_INSERT_HEAD(&httpd->open, request, link);
		httpd->options.serve(httpd->options.owner, request);
	} else if (stream_fill(&request->stream)) {
		resume_stream(request);
	} else {
		inbox_push(httpd->inbox, item);
	}
}

/* ---- the server ---- */

/* A socket of IPv6 takes connections of IPv4 as well, unless the machine says
 * otherwise; without a host it is to take both. */
static bool open_found(int *fd, const struct addrinfo *found)
{
	int on = 1, off = 0;

	*fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd >= 0 &&
		setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ==
			0 &&
		(found->ai_family != AF_INET6 ||
			setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &off,
				sizeof(off)) == 0) &&
		bind(*fd, found->ai_addr, found->ai_addrlen) == 0 &&
		listen(*fd, SOMAXCONN) == 0) {
		return true;
	}
	if (*fd >= 0) {
		int cause = errno;

		(void)close(*fd);
		errno = cause;
	}
	return false;
}

static int open_host(int *fd, const char *host, const char *address,
	struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICHOST };
	struct addrinfo *found = NULL;
	int r = getaddrinfo(host, strrchr(address, ':') + 1, &hints, &found);

	if (r != 0) {
		return error_set(err, -EINVAL,
			"'%s' is not a numeric address and port: %s", address,
			gai_strerror(r));
	}
	if (!open_found(fd, found)) {
		r = error_errno(err, "cannot listen on '%s'", address);
	}
	freeaddrinfo(found);
	return r;
}

/* Opens a listening socket for "HOST:PORT", "[V6]:PORT" or, for all families
 * that the machine has, ":PORT". -EINVAL: not a numeric address and port;
 * otherwise the error of socket(2), bind(2) or listen(2). */
static int open_socket(int *fd, const char *address, struct error *err)
{
	char host[ADDRESS_HOST_MAX];
	int r;

	if (!address_split(host, address)) {
		return error_set(err, -EINVAL,
			"'%s' is not an IP address and port", address);
	}
	if (*host != '\0') {
		return open_host(fd, host, address, err);
	}
	r = open_host(fd, "::", address, err);
	/* A kernel without IPv6. */
	return r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL
		? open_host(fd, "0.0.0.0", address, err)
		: r;
}

static uint16_t port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { .v6 = { 0 } };
	socklen_t len = sizeof(address);

	if (getsockname(fd, &address.any, &len) < 0) {
		return 0;
	}
	return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
						       : address.v4.sin_port);
}

/* poll instead of epoll: with epoll libmicrohttpd misses a FIN after an
 * incomplete request until the timeout. */
static struct MHD_Daemon *start_daemon(struct httpd *httpd, int fd)
{
	bool is_tls = httpd->tls != NULL;
	unsigned int flags =
		MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
	struct MHD_OptionItem plain[] = { { MHD_OPTION_END, 0, NULL } };
	struct MHD_OptionItem secure[] = {
		httpd_tls_option(),
		{ MHD_OPTION_HTTPS_PRIORITIES, 0,
			(void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ MHD_OPTION_END, 0, NULL },
	};

	return MHD_start_daemon(flags | (is_tls ? MHD_USE_TLS : 0), 0, NULL,
		NULL, on_request, httpd, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)HTTPD_CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, httpd,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, httpd,
		MHD_OPTION_ARRAY, is_tls ? secure : plain, MHD_OPTION_END);
}

int httpd_new(struct httpd **out, uv_loop_t *loop,
	const struct httpd_options *options, struct error *err)
{
	static const struct client_limits limits[] = {
		[CLIENT_CONNECTION].sum.max = HTTPD_CONNECTIONS_FULL,
		[CLIENT_BODY] = { { .max = HTTPD_BODIES_MAX,
					  .reserve = HTTPD_BODIES_RESERVE },
			HTTPD_BODY_SMALL },
		[CLIENT_PLACE] = { { HTTPD_PLACES, HTTPD_PLACES_OF_PEER,
					   HTTPD_PLACES_RESERVE },
			1 },
		[CLIENT_RESPONSE].sum.max = HTTPD_UNREAD_MAX,
		[CLIENT_STREAM].sum.max = HTTPD_STREAMS,
	};
	struct httpd *httpd;
	struct httpd_tls *tls = NULL;
	int fd = -1;
	int r = options->tls == NULL ? 0
				     : httpd_tls_new(&tls, options->tls, err);

	if (r < 0) {
		return error_wrap(err, r, "cannot serve HTTP on '%s'",
			options->address);
	}
	r = open_socket(&fd, options->address, err);
	if (r < 0) {
		httpd_tls_free(tls);
		return r;
	}
	httpd = xcalloc(1, sizeof(*httpd));
	httpd->tls = tls;
	httpd->trust = options->asks_certificates && tls != NULL
		? httpd_trust_new()
		: NULL;
	httpd->options = *options;
	httpd->options.tls = NULL;
	httpd->port = port_of(fd);
	if (uv_mutex_init(&httpd->mutex) != 0) {
		abort();
	}
	clients_init(&httpd->clients, limits);
	httpd->inbox = inbox_new(loop, deliver, httpd);
	httpd->lingers = linger_list_new(loop);
	httpd->expiry = timer_new(loop, expire, httpd);
	timer_start(httpd->expiry, EXPIRE_MS, EXPIRE_MS);
	httpd->daemon = start_daemon(httpd, fd);
	if (httpd->daemon == NULL) {
		(void)close(fd);
		httpd_close(httpd);
		return error_set(err, -EINVAL, "cannot serve HTTP on '%s'",
			options->address);
	}
	*out = httpd;
	return 0;
}

int httpd_set_tls(struct httpd *httpd, const struct tls_material *tls,
	struct error *err)
{
	if (httpd->tls == NULL) {
		return error_set(err, -EINVAL, "the HTTP server has no TLS");
	}
	return httpd_tls_set(httpd->tls, tls, err);
}

int httpd_set_client_ca(struct httpd *httpd, const char *pem, struct error *err)
{
	if (httpd->trust == NULL) {
		return error_set(err, -EINVAL,
			"the HTTP server asks for no client certificates");
	}
	return httpd_trust_set(httpd->trust, pem, err);
}

uint16_t httpd_port(const struct httpd *httpd)
{
	return httpd->port;
}

struct client_counts httpd_client_counts(struct httpd *httpd)
{
	return clients_counts(&httpd->clients);
}

/* Replies 503 to requests without a response and aborts streams that wait for
 * their next part. */
static void finish_open_requests(struct httpd *httpd)
{
	for (struct httpd_request *r = LIST_FIRST(&httpd->open), *next;
		r != NULL; r = next) {
		next = LIST_NEXT(r, link);
		if (!r->is_streamed) {
			httpd_reply_error(r, MHD_HTTP_SERVICE_UNAVAILABLE,
				"shutting down");
		} else if (r->progress == PROGRESS_AWAITING_PART) {
			r->stream.is_aborted = true;
			resume_stream(r);
		}
	}
}

void httpd_close(struct httpd *httpd)
{
	if (httpd == NULL) {
		return;
	}
	uv_mutex_lock(&httpd->mutex);
	httpd->closing = true;
	uv_mutex_unlock(&httpd->mutex);
	timer_close(httpd->expiry);
	/* Delivers all items that were already pushed. */
	inbox_close(httpd->inbox);
	finish_open_requests(httpd);
	if (httpd->daemon != NULL) {
		MHD_stop_daemon(httpd->daemon);
	}
	linger_list_close(httpd->lingers);
	while (!LIST_EMPTY(&httpd->open)) {
		end_stream(LIST_FIRST(&httpd->open));
	}
	clients_fini(&httpd->clients);
	httpd_tls_free(httpd->tls);
	httpd_trust_free(httpd->trust);
	uv_mutex_destroy(&httpd->mutex);
	free(httpd);
}

const char *httpd_library_version(void)
{
	return MHD_get_version();
}
