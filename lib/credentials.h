/* How a program shows itself to an aggregator and whom it takes for one: the
 * flags that agents and schedulers share, and the ServiceAccount token.
 *
 * A token is read anew for each Hello, because kubelet replaces it in place,
 * and overwritten when it was sent. It goes into no sentence and no log. */
#pragma once

#include "lib/error.h"
#include "lib/options.h"
#include "lib/tls.h"

#include <stdbool.h>

struct dial_config {
	struct tls_files tls;
	const char *server_name; /* NULL: the URL's host */
	const char *token_file;	 /* NULL: no token */
};

/* Rows of an option table whose struct has a struct dial_config member. */
#define DIAL_OPTION_ROWS(type, member)                                         \
	{ "tls-ca", "FILE", OPTION_TEXT, offsetof(type, member.tls.ca), NULL,  \
		"authorities whose certificates an aggregator may have, as "   \
		"PEM; for tls+tcp://",                                         \
		0, 0, NULL, NULL },                                            \
		{ "tls-cert", "FILE", OPTION_TEXT,                             \
			offsetof(type, member.tls.cert), NULL,                 \
			"our certificate, where the aggregator asks for one",  \
			0, 0, NULL, NULL },                                    \
		{ "tls-key", "FILE", OPTION_TEXT,                              \
			offsetof(type, member.tls.key), NULL, "its key", 0, 0, \
			NULL, NULL },                                          \
		{ "tls-server-name", "NAME", OPTION_TEXT,                      \
			offsetof(type, member.server_name), NULL,              \
			"name that the aggregator's certificate must hold; "   \
			"the URL's host if not given",                         \
			0, 0, NULL, NULL },                                    \
	{                                                                      \
		"token-file", "FILE", OPTION_TEXT,                             \
			offsetof(type, member.token_file), NULL,               \
			"ServiceAccount token to show; read again each time; " \
			"only with tls+tcp://",                                \
			0, 0, NULL, NULL                                       \
	}

/* What one flag alone cannot tell. -EINVAL: the flags do not go with each
 * other or with one of the URLs, or one of these is none. */
must_check int dial_check(const struct dial_config *config,
	const struct option_list *urls, struct error *err);

/* True: the URLs are tls+tcp://, and tls_load() has to read the files. */
bool dial_uses_tls(const struct dial_config *config);

enum { DIAL_TOKEN_MAX = 16384 };

/* Reads a token, without the newline that may end it, into *token, which
 * dial_free_token() takes back. -EINVAL: it is empty or holds what no token
 * does; -EFBIG: more than DIAL_TOKEN_MAX bytes; else what reading said. */
must_check int dial_read_token(char **token, const char *path,
	struct error *err);

void dial_free_token(char *token); /* overwrites it; NULL is fine */
