/* The flags by which agents and schedulers authenticate to an aggregator and
 * verify it: TLS files, server name and ServiceAccount token.
 *
 * The token is read for every Hello, because the kubelet replaces the file in
 * place, and overwritten after sending. It never appears in errors or logs. */
#pragma once

#include "lib/error.h"
#include "lib/options.h"
#include "lib/tls/tls.h"

#include <stdbool.h>

struct credentials {
	struct tls_files tls;
	const char *server_name; /* NULL: the URL's host */
	const char *token_file;	 /* NULL: no token */
};

/* Rows of an option table whose struct has a struct credentials member. */
#define CREDENTIALS_OPTION_ROWS(type_, member_)                                \
	OPTION_ROW(type_, member_.tls.ca, "tls-ca", OPTION_TEXT, "FILE",       \
		.help = "CA bundle used to verify the aggregator, PEM; for "   \
			"tls+tcp://"),                                         \
		OPTION_ROW(type_, member_.tls.cert, "tls-cert", OPTION_TEXT,   \
			"FILE",                                                \
			.help = "client certificate (for mutual TLS), PEM"),   \
		OPTION_ROW(type_, member_.tls.key, "tls-key", OPTION_TEXT,     \
			"FILE",                                                \
			.help = "private key of the client certificate, PEM"), \
		OPTION_ROW(type_, member_.server_name, "tls-server-name",      \
			OPTION_TEXT, "NAME",                                   \
			.help = "name expected in the aggregator's "           \
				"certificate; the "                            \
				"URL's host if not given"),                    \
		OPTION_ROW(type_, member_.token_file, "token-file",            \
			OPTION_TEXT, "FILE",                                   \
			.help = "ServiceAccount token to send, read again "    \
				"each time; "                                  \
				"only with tls+tcp://")

/* Checks what the option table cannot: -EINVAL if the flags contradict each
 * other or a URL, or if a URL is malformed. */
must_check int credentials_check(const struct credentials *config,
	const struct option_list *urls, struct error *err);

/* True if the URLs are tls+tcp://, so that tls_load() has to read the files. */
bool credentials_use_tls(const struct credentials *config);

enum { CREDENTIALS_TOKEN_MAX = 16384 };

/* Reads a token without its trailing newline. The caller releases it with
 * credentials_free_token().
 * -EINVAL: empty, or not a token; -EFBIG: longer than CREDENTIALS_TOKEN_MAX
 * bytes; otherwise the error of open(2) or read(2). */
must_check int credentials_read_token(char **token, const char *path,
	struct error *err);

void credentials_free_token(char *token); /* overwrites it; NULL is fine */
