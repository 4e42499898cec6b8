/* The query of a URL, parameter by parameter. */
#pragma once

struct buffer;

/* Appends ?key=value or &key=value with value percent-encoded, depending on
 * whether out holds a query already. A NULL value appends nothing. */
void query_add(struct buffer *out, const char *key, const char *value);
