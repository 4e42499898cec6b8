/* Shared by the files of the HTTP server. lib/httpd.c has the server and all
 * code on libmicrohttpd's thread; lib/httpd_request.c has the functions that
 * handlers call on the loop thread. */
#pragma once

#include "lib/buffer.h"
#include "lib/httpd.h"
#include "lib/httpd_clients.h"
#include "lib/httpd_linger.h"
#include "lib/httpd_stream.h"
#include "lib/inbox.h"

#include <stdbool.h>
#include <sys/queue.h>

struct MHD_Connection;
struct MHD_Daemon;
struct timer;

enum progress {
	PROGRESS_READING,	/* receiving headers and body */
	PROGRESS_SERVING,	/* suspended; with the handler */
	PROGRESS_REPLIED,	/* resumed; the response is to be queued */
	PROGRESS_AWAITING_PART, /* suspended; awaits the stream's next part */
	PROGRESS_SENDING_PART,	/* resumed; the part is being sent */
	PROGRESS_ENDED, /* the connection is closed; the stream is not */
};

struct httpd_request {
	struct inbox_item item;
	struct httpd *httpd;
	struct MHD_Connection *connection;
	struct client *client;
	char *user; /* NULL: not known */
	LIST_ENTRY(httpd_request)
	link; /* in httpd->open (loop thread): not replied to, or streamed */
	const char *method;
	char *path;
	struct buffer body;
	bool is_body_left; /* the headers announced a body that is not read */
	enum progress progress;
	int status;
	char *type;
	char *reply;
	size_t reply_len;
	bool is_streamed;
	struct stream stream;
};

struct httpd {
	struct MHD_Daemon *daemon;
	struct inbox *inbox;
	struct timer *expiry;
	struct linger_list *lingers;
	httpd_serve serve;
	void *owner;
	const struct httpd_body *bodies;
	size_t body_count;
	LIST_HEAD(request_list, httpd_request) open; /* loop thread only */
	uv_mutex_t mutex;
	bool closing; /* guarded by mutex */
	struct clients clients;
	uint16_t port;
};

struct httpd_request *httpd_request_new(struct httpd *httpd,
	struct MHD_Connection *connection, const char *url, const char *method);

/* Decides on the headers alone. False: the request is not allowed to send its
 * body and has an error as its response. True: either the body is to be read,
 * or is_body_left says that it is not. */
bool httpd_request_admit_body(struct httpd_request *request);

void httpd_request_free(struct httpd_request *request);

/* Sets the response {"error":"sentence"}. */
void httpd_request_set_error(struct httpd_request *request, int status,
	const char *sentence);
