/* The page for people: its files are in page/ and, of dygraphs, in Debian's
 * package libjs-dygraphs. They hold no data and are served to anybody. */
#pragma once

#include "lib/http/httpd.h"

/* An httpd_serve: the page itself, index.html. */
void web_page_serve(void *owner, struct httpd_request *request);

/* A file of the page by its name; 404 if there is none. */
void web_page_serve_file(struct httpd_request *request, const char *name);
