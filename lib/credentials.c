#include "lib/credentials.h"

#include "lib/files.h"
#include "lib/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* With a newline and the NUL. */
enum { TOKEN_SIZE = DIAL_TOKEN_MAX + 2 };

static const char plain[] = "tcp://";
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

static int check_secure(const struct dial_config *config, const char *url,
	struct error *err)
{
	const char *host = url + strlen(secure);

	if (config->tls.ca == NULL) {
		return error_set(err, -EINVAL,
			"--aggregator: '%s' needs --tls-ca: whose certificates "
			"are to be trusted",
			url);
	}
	/* Certificates are checked by name; addresses in them are not. */
	if (config->server_name == NULL &&
		is_address(host, (size_t)(strrchr(host, ':') - host))) {
		return error_set(err, -EINVAL,
			"--aggregator: '%s' has an address for a host: give "
			"the name in its certificate with --tls-server-name",
			url);
	}
	return 0;
}

static int check_plain(const struct dial_config *config, const char *url,
	struct error *err)
{
	if (config->token_file != NULL) {
		return error_set(err, -EINVAL,
			"--token-file: a token is sent over TLS only, and '%s' "
			"does not use it; say tls+tcp://",
			url);
	}
	if (dial_uses_tls(config) || config->server_name != NULL) {
		return error_set(err, -EINVAL,
			"--aggregator: '%s' does not use the --tls flags that "
			"are given; say tls+tcp://",
			url);
	}
	return 0;
}

static int check_url(const struct dial_config *config, const char *url,
	struct error *err)
{
	bool is_secure = starts_with(url, secure);
	const char *host = url + strlen(is_secure ? secure : plain);

	if ((!is_secure && !starts_with(url, plain)) || *host == ':' ||
		!options_has_port(host)) {
		return error_set(err, -EINVAL,
			"--aggregator: '%s' is not of the form tcp://HOST:PORT "
			"or tls+tcp://HOST:PORT",
			url);
	}
	return is_secure ? check_secure(config, url, err)
			 : check_plain(config, url, err);
}

int dial_check(const struct dial_config *config, const struct option_list *urls,
	struct error *err)
{
	if ((config->tls.cert == NULL) != (config->tls.key == NULL)) {
		return error_set(err, -EINVAL,
			"--tls-cert and --tls-key go together: one of them is "
			"missing");
	}
	if (config->server_name != NULL && *config->server_name == '\0') {
		return error_set(err, -EINVAL,
			"--tls-server-name: a name is not empty");
	}
	for (size_t i = 0; i < urls->count; i++) {
		int r = check_url(config, urls->items[i], err);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

bool dial_uses_tls(const struct dial_config *config)
{
	return config->tls.ca != NULL || config->tls.cert != NULL ||
		config->tls.key != NULL;
}

/* A token is base64 with dots; what else is printable does no harm. */
static bool is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '!' || text[i] > '~') {
			return false;
		}
	}
	return len > 0;
}

int dial_read_token(char **token, const char *path, struct error *err)
{
	char *text = xcalloc(1, TOKEN_SIZE);
	int len = file_read_at(text, TOKEN_SIZE, AT_FDCWD, path, err);

	if (len > 0 && text[len - 1] == '\n') {
		text[--len] = '\0';
	}
	if (len > DIAL_TOKEN_MAX) {
		len = error_set(err, -EFBIG, "'%s' holds more than %d bytes",
			path, DIAL_TOKEN_MAX);
	} else if (len >= 0 && !is_token(text, (size_t)len)) {
		len = error_set(err, -EINVAL, "'%s' holds no token", path);
	}
	if (len < 0) {
		dial_free_token(text);
		return len;
	}
	*token = text;
	return 0;
}

void dial_free_token(char *token)
{
	if (token != NULL) {
		explicit_bzero(token, TOKEN_SIZE);
		free(token);
	}
}
