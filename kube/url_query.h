/* Builds the query of a URL. */
#pragma once

struct buffer;

/* Appends ?key=value, or &key=value if out has a query already. value is
 * percent-encoded; a NULL value appends nothing. */
void url_query_add(struct buffer *out, const char *key, const char *value);
