/* Files of a page that are part of the program. The Makefile makes their table
 * with lib/embed_files.sh.
 *
 * An answer has an ETag, and a request that knows it gets a 304. The headers
 * forbid a browser everything that such files do not need: scripts and styles
 * of elsewhere, frames, forms. */
#pragma once

#include "lib/http/httpd.h"

struct httpd_static_file {
	const char *name;
	const char *tag; /* hexadecimal digits of a hash of the content */
	const unsigned char *bytes, *gzip; /* the content, twice */
	size_t len, gzip_len;
};

/* Ends the request with the file of this name, compressed if the client takes
 * gzip, or with 404. files outlive the server. */
void httpd_static_serve(const struct httpd_static_file *files, size_t count,
	const char *name, struct httpd_request *request);
