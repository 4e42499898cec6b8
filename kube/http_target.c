#include "kube/http_target.h"

#include "kube/http.h"
#include "lib/base64.h"
#include "lib/clock.h"
#include "lib/files.h"
#include "lib/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char http[] = "http://";
static const char https[] = "https://";

enum {
	TOKEN_MAX = 16 << 10,
	TOKEN_US = 60000000, /* a token is read again after this */
};

/* ---- checks ---- */

static bool begins_with(const char *text, const char *prefix)
{
	return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

static size_t authority_length(const char *url)
{
	return strcspn(strstr(url, "://") + 3, "/?#");
}

static bool is_loopback(const char *url)
{
	static const char *const hosts[] = { "127.0.0.1", "localhost",
		"[::1]" };
	const char *host = strstr(url, "://") + 3;

	for (size_t i = 0; i < count_of(hosts); i++) {
		size_t len = strlen(hosts[i]);

		if (strncmp(host, hosts[i], len) == 0 &&
			strchr(":/", host[len]) != NULL) {
			return true;
		}
	}
	return false;
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f) {
			return false;
		}
	}
	return true;
}

static int check_url(const char *url, const char *flag, struct error *err)
{
	const char *host;

	if ((!begins_with(url, http) && !begins_with(url, https)) ||
		authority_length(url) == 0 || !is_printable(url) ||
		strchr(url, ' ') != NULL) {
		return error_set(err, -EINVAL,
			"--%s: not an http:// or https:// URL", flag);
	}
	host = strstr(url, "://") + 3;
	if (memchr(host, '@', authority_length(url)) != NULL) {
		return error_set(err, -EINVAL,
			"--%s: the URL must not contain a password; use "
			"--%s-user and --%s-token-file",
			flag, flag, flag);
	}
	return 0;
}

static int check_secrets(const struct http_target_config *config,
	const char *flag, struct error *err)
{
	if (config->user != NULL && config->token_file == NULL) {
		return error_set(err, -EINVAL,
			"--%s-user requires a password in --%s-token-file",
			flag, flag);
	}
	if (config->user != NULL &&
		(strchr(config->user, ':') != NULL ||
			!is_printable(config->user))) {
		return error_set(err, -EINVAL,
			"--%s-user: '%s' is not a valid user name", flag,
			config->user);
	}
	if (config->token_file != NULL && begins_with(config->url, http) &&
		!is_loopback(config->url)) {
		return error_set(err, -EINVAL,
			"--%s-token-file: requires TLS; use https://", flag);
	}
	return 0;
}

/* RFC 9110, section 5.6.2: a token. */
static bool is_header_name(const char *text, size_t len)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) &&
			strchr(others, text[i]) == NULL) {
			return false;
		}
	}
	return len > 0;
}

/* Headers that the aggregator sends itself. */
static bool is_reserved(const char *header)
{
	return begins_with(header, "authorization:") ||
		begins_with(header, "content-") ||
		begins_with(header, "host:") ||
		begins_with(header, "transfer-encoding:") ||
		begins_with(header, "x-prometheus-remote-write-version:");
}

static int check_header(const char *header, const char *flag, struct error *err)
{
	const char *colon = strchr(header, ':');

	if (colon == NULL || colon[1] == '\0' || !is_printable(header) ||
		!is_header_name(header, (size_t)(colon - header)) ||
		is_reserved(header)) {
		return error_set(err, -EINVAL,
			"--%s-header: not 'NAME: VALUE', or a header that the "
			"aggregator sets itself",
			flag);
	}
	return 0;
}

static bool has_details(const struct http_target_config *config)
{
	return config->ca != NULL || config->user != NULL ||
		config->token_file != NULL || config->headers.count > 0;
}

int http_target_check(const struct http_target_config *config, bool has_more,
	const char *flag, struct error *err)
{
	int r;

	if (config->url == NULL) {
		return !has_more && !has_details(config)
			? 0
			: error_set(err, -EINVAL,
				  "--%s is missing, but its other flags are "
				  "set",
				  flag);
	}
	r = check_url(config->url, flag, err);
	r = r == 0 ? check_secrets(config, flag, err) : r;
	for (size_t i = 0; r == 0 && i < config->headers.count; i++) {
		r = check_header(config->headers.items[i], flag, err);
	}
	return r;
}

/* ---- the files ---- */

static char *make_authorization(const char *user, const char *token)
{
	char *joined, *encoded, *header;

	if (user == NULL) {
		return xasprintf("Authorization: Bearer %s", token);
	}
	joined = xasprintf("%s:%s", user, token);
	encoded = base64_encode(joined, strlen(joined));
	header = xasprintf("Authorization: Basic %s", encoded);
	secret_free(joined);
	secret_free(encoded);
	return header;
}

static int read_token(struct http_target *target, struct error *err)
{
	const struct http_target_config *config = target->config;
	scoped_buffer struct buffer text = BUFFER_SECRET(TOKEN_MAX);
	int r = file_read(&text, config->token_file, err);

	while (text.len > 0 &&
		isspace((unsigned char)text.data[text.len - 1])) {
		text.len--;
		text.data[text.len] = '\0';
	}
	if (r == 0 &&
		(text.len == 0 || strlen(text.data) != text.len ||
			!is_printable(text.data))) {
		r = error_set(err, -EINVAL,
			"'%s' does not contain a token or password",
			config->token_file);
	}
	if (r == 0) {
		secret_free(target->authorization);
		target->authorization =
			make_authorization(config->user, text.data);
	}
	return r;
}

/* An image has no CA bundle. Without this check, each request would fail with
 * curl's words for it. */
static int check_system_ca(const struct http_target_config *config,
	const char *flag, struct error *err)
{
	const char *path = http_system_ca();

	if (config->ca != NULL || !begins_with(config->url, https) ||
		(path != NULL && access(path, R_OK) == 0)) {
		return 0;
	}
	return error_set(err, -ENOENT,
		"--%s-ca is missing, and this system has no CA bundle to "
		"verify %.*s",
		flag, (int)(strlen(https) + authority_length(config->url)),
		config->url);
}

int http_target_init(struct http_target *out,
	const struct http_target_config *config, const char *flag,
	struct error *err)
{
	struct http_target target = { .config = config,
		.token_us = clock_monotonic_us() };
	const char *url = config->url;
	int r = check_system_ca(config, flag, err);

	if (r == 0 && config->token_file != NULL) {
		r = read_token(&target, err);
	}
	if (r < 0) {
		http_target_fini(&target);
		return r;
	}
	target.origin = xstrndup(url,
		(size_t)(strstr(url, "://") + 3 - url) + authority_length(url));
	*out = target;
	return 0;
}

void http_target_fini(struct http_target *target)
{
	free(target->origin);
	secret_free(target->authorization);
	*target = (struct http_target){ 0 };
}

void http_target_refresh(struct http_target *target)
{
	uint64_t now_us = clock_monotonic_us();

	if (target->config->token_file != NULL &&
		(target->token_us == 0 ||
			now_us - target->token_us > TOKEN_US)) {
		target->token_us = now_us;
		(void)(read_token(target, NULL) < 0);
	}
}

void http_target_distrust(struct http_target *target)
{
	target->token_us = 0;
}

void http_target_headers(const char *out[HTTP_TARGET_HEADERS_MAX],
	const struct http_target *target, const char *const *fixed)
{
	const struct option_list *headers = &target->config->headers;
	size_t count = 0;

	while (count < HTTP_TARGET_FIXED_MAX && fixed[count] != NULL) {
		out[count] = fixed[count];
		count++;
	}
	for (size_t i = 0; i < headers->count; i++) {
		out[count++] = headers->items[i];
	}
	if (target->authorization != NULL) {
		out[count++] = target->authorization;
	}
	out[count] = NULL;
}
