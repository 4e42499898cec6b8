/* The headers Accept and Accept-Encoding of HTTP (RFC 9110 12.5): lists of what
 * a client takes, each with a quality from 0 to 1. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ACCEPT_Q_ONE = 1000 }; /* the quality 1; 0 refuses */

/* A part of a header. */
struct header_span {
	const char *at; /* NULL: no rest is left */
	size_t len;
};

/* The whole of a header; NULL is fine. */
struct header_span header_span_of(const char *header);

/* Takes the text up to the separator, without the spaces around it. False:
 * nothing is left. */
bool header_span_next(struct header_span *out, struct header_span *rest,
	char separator);

struct header_span header_span_trim(struct header_span span);

/* The same text, whatever its case. */
bool header_span_is(struct header_span span, const char *text);

/* The value of a parameter q, from 0 to ACCEPT_Q_ONE: "0.75" is 750. Anything
 * that is no quality counts as 1. */
int header_span_q(struct header_span span);

/* The quality of a media type or of an encoding: that of the item that names
 * it, else that of "TYPE/" followed by an asterisk, else that of everything; 0
 * if none does. header NULL or empty: 0. */
int accept_header_q(const char *header, const char *value);

/* The client prefers HTML to JSON. False without a header. */
bool accept_header_prefers_html(const char *header);

/* The client takes gzip, and does not prefer the text as it is. */
bool accept_header_takes_gzip(const char *header);
