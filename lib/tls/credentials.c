#include "lib/tls/credentials.h"

#include "lib/address.h"
#include "lib/files.h"
#include "lib/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* with a newline and the NUL */
enum { TOKEN_SIZE = CREDENTIALS_TOKEN_MAX + 2 };

static const char secure[] = "tls+tcp://";

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool is_address(const char *host, size_t len)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr address;

	if (*host == '[') {
		return true;
	}
	if (len >= sizeof(text)) {
		return false;
	}
	memcpy(text, host, len);
	text[len] = '\0';
	return inet_pton(AF_INET, text, &address) == 1;
}

static int check_secure(const struct credentials *config, const char *url,
	struct error *err)
{
	const char *host = url + strlen(secure);

	if (config->tls.ca == NULL) {
		return error_set(err, -EINVAL,
			"--aggregator: '%s' requires --tls-ca", url);
	}
	/* Certificates are verified by name, not by address. */
	if (config->server_name == NULL &&
		is_address(host, (size_t)(strrchr(host, ':') - host))) {
		return error_set(err, -EINVAL,
			"--aggregator: the host of '%s' is an IP address: set "
			"--tls-server-name to the name in its certificate",
			url);
	}
	return 0;
}

static int check_plain(const struct credentials *config, const char *url,
	struct error *err)
{
	if (config->token_file != NULL) {
		return error_set(err, -EINVAL,
			"--token-file requires tls+tcp://, but --aggregator "
			"is '%s'",
			url);
	}
	if (credentials_use_tls(config) || config->server_name != NULL) {
		return error_set(err, -EINVAL,
			"the --tls flags require tls+tcp://, but --aggregator "
			"is '%s'",
			url);
	}
	return 0;
}

static int check_url(const struct credentials *config, const char *url,
	struct error *err)
{
	int r = address_check_url(url, true, err);

	if (r < 0) {
		return error_wrap(err, r, "--aggregator");
	}
	return starts_with(url, secure) ? check_secure(config, url, err)
					: check_plain(config, url, err);
}

int credentials_check(const struct credentials *config,
	const struct option_list *urls, struct error *err)
{
	if ((config->tls.cert == NULL) != (config->tls.key == NULL)) {
		return error_set(err, -EINVAL,
			"--tls-cert and --tls-key must be given together");
	}
	if (config->server_name != NULL && *config->server_name == '\0') {
		return error_set(err, -EINVAL, "--tls-server-name is empty");
	}
	for (size_t i = 0; i < urls->count; i++) {
		int r = check_url(config, urls->items[i], err);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

bool credentials_use_tls(const struct credentials *config)
{
	return config->tls.ca != NULL || config->tls.cert != NULL ||
		config->tls.key != NULL;
}

/* A token is base64 with dots; other printable characters do no harm. */
static bool is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '!' || text[i] > '~') {
			return false;
		}
	}
	return len > 0;
}

int credentials_read_token(char **token, const char *path, struct error *err)
{
	char *text = xcalloc(1, TOKEN_SIZE);
	int len = file_read_at(text, TOKEN_SIZE, AT_FDCWD, path, err);

	if (len > 0 && text[len - 1] == '\n') {
		text[--len] = '\0';
	}
	if (len > CREDENTIALS_TOKEN_MAX) {
		len = error_set(err, -EFBIG, "'%s' is larger than %d bytes",
			path, CREDENTIALS_TOKEN_MAX);
	} else if (len >= 0 && !is_token(text, (size_t)len)) {
		len = error_set(err, -EINVAL, "'%s' does not contain a token",
			path);
	}
	if (len < 0) {
		credentials_free_token(text);
		return len;
	}
	*token = text;
	return 0;
}

void credentials_free_token(char *token)
{
	if (token != NULL) {
		explicit_bzero(token, TOKEN_SIZE);
		free(token);
	}
}
