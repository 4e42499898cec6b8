/* Compresses a response as gzip (RFC 1952) while the client reads it. The
 * output is written where the reader wants it, so nothing but zlib's state of
 * 256 KiB is in memory beside the text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Level 1 takes a third of the time of level 6 for lists of VMs, and its output
 * is a tenth longer (make bench-api). */
enum { HTTPD_GZIP_LEVEL = 1 };

struct httpd_gzip;

/* NULL: no memory for it. */
struct httpd_gzip *httpd_gzip_new(void);
void httpd_gzip_free(struct httpd_gzip *gzip); /* NULL is fine */

/* Text that is not compressed yet. */
struct httpd_gzip_text {
	const char *at;
	size_t len;   /* less than 4 GiB */
	bool is_last; /* none follows it */
};

/* Writes at most max bytes to out, takes what it has read off the text, and
 * returns how many it wrote. 0: it has taken the whole text; if that was the
 * last, all is written. max is not 0. */
size_t httpd_gzip_write(struct httpd_gzip *gzip, struct httpd_gzip_text *text,
	char *out, size_t max);

/* The version of zlib that the program runs with. */
const char *httpd_gzip_library_version(void);
