/* A request, shared by the files of the HTTP server. httpd.c has the server and
 * all code on libmicrohttpd's thread but for httpd_response.c, which sends the
 * responses; httpd_request.c has the functions that handlers call on the loop
 * thread. */
#pragma once

#include "lib/buffer.h"
#include "lib/http/httpd.h"
#include "lib/http/httpd_clients.h"
#include "lib/http/httpd_linger.h"
#include "lib/http/httpd_response.h"
#include "lib/http/httpd_stream.h"
#include "lib/http/httpd_tls.h"
#include "lib/http/httpd_trust.h"
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

/* The context of a connection in libmicrohttpd. */
struct httpd_connection {
	struct httpd_tls_context tls; /* must be first */
	struct client client;
};

struct httpd_header {
	const char *name, *value;
};

/* A response of bytes that outlive the server, and so do the headers. They come
 * beside Content-Type and X-Content-Type-Options, and say whether the response
 * may be kept. */
struct httpd_fixed {
	int status;
	const char *type;
	const unsigned char *bytes; /* NULL: none */
	size_t len;
	const char *tag; /* ETag; copied */
	const struct httpd_header *headers;
	size_t header_count;
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
	bool is_chunked;   /* the body has no length before its end */
	enum progress progress;
	int status;
	char *type;
	char *reply;
	size_t reply_len;
	char *tag;		  /* or NULL */
	const char *header_name;  /* of httpd_header_set(), or NULL */
	char *header_value;	  /* owned */
	struct httpd_fixed fixed; /* without a status: not of this kind */
	bool is_streamed;
	struct stream stream; /* also of a reply that is compressed */
};

struct httpd {
	struct MHD_Daemon *daemon;
	struct httpd_options options; /* without the TLS material */
	struct httpd_tls *tls;	      /* NULL: plain HTTP */
	struct httpd_trust *trust;    /* NULL: no client certificates */
	struct inbox *inbox;
	struct timer *expiry;
	struct linger_list *lingers;
	LIST_HEAD(request_list, httpd_request) open; /* loop thread only */
	uv_mutex_t mutex;
	bool closing; /* guarded by mutex */
	struct clients clients;
	struct httpd_responses responses;
	uint16_t port;
};

struct httpd_request *httpd_request_new(struct httpd *httpd,
	struct MHD_Connection *connection, const char *url, const char *method);

/* Decides on the headers alone. False: the request is not allowed to send its
 * body and has an error as its response. True: either the body is to be read,
 * or is_body_left says that it is not. */
bool httpd_request_admit_body(struct httpd_request *request);

/* The body is complete. False: it is too large, and has an error as its
 * response. */
bool httpd_request_end_body(struct httpd_request *request);

void httpd_request_free(struct httpd_request *request);

/* Hands a request to the loop thread. False: the server is closing. */
bool httpd_request_suspend(struct httpd_request *request,
	enum progress progress);

/* Sets an error as the response. */
void httpd_request_set_error(struct httpd_request *request, int status,
	const char *sentence);

/* Ends the request. Works on the loop thread. */
void httpd_request_reply_fixed(struct httpd_request *request,
	const struct httpd_fixed *fixed);
