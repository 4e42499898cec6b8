/* What the files of the HTTP server share: lib/httpd.c has the server and all
 * that runs on libmicrohttpd's thread, lib/httpd_request.c what handlers call
 * on the loop's. */
#pragma once

#include "lib/buffer.h"
#include "lib/httpd.h"
#include "lib/httpd_clients.h"
#include "lib/httpd_stream.h"
#include "lib/inbox.h"

#include <stdbool.h>
#include <sys/queue.h>

struct MHD_Connection;
struct MHD_Daemon;
struct timer;

enum progress {
	PROGRESS_READING, /* headers and body are coming in */
	PROGRESS_SERVING, /* suspended; the loop has it */
	PROGRESS_REPLIED, /* resumed; the reply is to be queued */
	PROGRESS_FILLING, /* suspended; the loop owes the next part */
	PROGRESS_GIVING,  /* resumed; the part is being read */
	PROGRESS_ENDED,	  /* the connection is gone, the stream is left */
};

struct http_request {
	struct inbox_item item;
	struct httpd *httpd;
	struct MHD_Connection *connection;
	LIST_ENTRY(http_request)
	link; /* in httpd->open, the loop's: without a
	                                * reply, or streamed */
	const char *method;
	char *path;
	struct buffer body;
	enum progress progress;
	int status;
	char *type;
	char *reply;
	size_t reply_len;
	size_t unread; /* its part of httpd->unread */
	bool is_streamed;
	struct stream stream;
};

struct httpd {
	struct MHD_Daemon *daemon;
	struct inbox *inbox;
	struct timer *reaper;
	http_serve serve;
	void *owner;
	LIST_HEAD(request_list, http_request) open; /* the loop's */
	uv_mutex_t mutex;
	size_t unread; /* guarded by mutex */
	bool closing;  /* guarded by mutex */
	struct clients clients;
	uint16_t port;
};

struct http_request *httpd_request_new(struct httpd *httpd,
	struct MHD_Connection *connection, const char *url, const char *method);
void httpd_request_free(struct http_request *request);

/* Sets the answer {"error":"sentence"}. */
void httpd_request_set_error(struct http_request *request, int status,
	const char *sentence);
