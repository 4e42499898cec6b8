/* Replies that several routes share: bodies, errors, the page's files. */
#pragma once

#include "aggregator/http/context.h"
#include "lib/buffer.h"

/* 20,000 nodes with 30 VMs each are about 100 MB. */
enum { REPLY_BODY_MAX = 256 << 20 };

extern const char reply_json[]; /* the media type */

/* Ends the request with 200 and the body, or with 500 if the body is larger
 * than REPLY_BODY_MAX. */
void reply_body(struct httpd_request *request, const char *type,
	const struct buffer *body);

/* Ends the request with 404: the VM is unknown, or VMs have no names here. */
void reply_vm_not_found(const struct api *api, struct httpd_request *request,
	const struct api_vm *vm);

/* The page for people: its files are in page/ and, of dygraphs, in Debian's
 * package libjs-dygraphs. They hold no data and are served to anybody. */

/* An httpd_serve: the page itself, index.html. */
void reply_page(void *owner, struct httpd_request *request);

/* A file of the page by its name; 404 if there is none. */
void reply_page_file(struct httpd_request *request, const char *name);
