#include "aggregator/remote_write/target.h"

#include "lib/files.h"
#include "lib/memory.h"
#include "lib/tls.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Required by remote write 1.0. */
static const char *const fixed_headers[] = {
	"Content-Type: application/x-protobuf",
	"Content-Encoding: snappy",
	"X-Prometheus-Remote-Write-Version: 0.1.0",
};

static const char http[] = "http://";
static const char https[] = "https://";

enum {
	TOKEN_MAX = 16 << 10,
	LABELS_BYTES_MAX = 1024, /* of all labels, which each series has */
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

static int check_url(const char *url, struct error *err)
{
	const char *host;

	if ((!begins_with(url, http) && !begins_with(url, https)) ||
		authority_length(url) == 0 || !is_printable(url) ||
		strchr(url, ' ') != NULL) {
		return error_set(err, -EINVAL,
			"--remote-write: not an http:// or https:// URL");
	}
	host = strstr(url, "://") + 3;
	if (memchr(host, '@', authority_length(url)) != NULL) {
		return error_set(err, -EINVAL,
			"--remote-write: the URL must not contain a password; "
			"use --remote-write-user and "
			"--remote-write-token-file");
	}
	return 0;
}

static int check_secrets(const struct target_config *config, struct error *err)
{
	if (config->user != NULL && config->token_file == NULL) {
		return error_set(err, -EINVAL,
			"--remote-write-user requires a password in "
			"--remote-write-token-file");
	}
	if (config->user != NULL &&
		(strchr(config->user, ':') != NULL ||
			!is_printable(config->user))) {
		return error_set(err, -EINVAL,
			"--remote-write-user: '%s' is not a valid user name",
			config->user);
	}
	if (config->token_file != NULL && begins_with(config->url, http) &&
		!is_loopback(config->url)) {
		return error_set(err, -EINVAL,
			"--remote-write-token-file: requires TLS; use "
			"https://");
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

static int check_header(const char *header, struct error *err)
{
	const char *colon = strchr(header, ':');

	if (colon == NULL || colon[1] == '\0' || !is_printable(header) ||
		!is_header_name(header, (size_t)(colon - header)) ||
		is_reserved(header)) {
		return error_set(err, -EINVAL,
			"--remote-write-header: not 'NAME: VALUE', or a header "
			"that the aggregator sets itself");
	}
	return 0;
}

/* Prometheus' data model; names with __ are reserved. */
static bool is_label_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '_' && !isalpha((unsigned char)text[i]) &&
			(i == 0 || !isdigit((unsigned char)text[i]))) {
			return false;
		}
	}
	return len > 0 && strncmp(text, "__", 2) != 0;
}

static int check_label(const char *label, struct error *err)
{
	const char *equals = strchr(label, '=');

	if (equals == NULL || equals[1] == '\0' ||
		!request_body_is_label_value(equals) ||
		!is_label_name(label, (size_t)(equals - label))) {
		return error_set(err, -EINVAL,
			"--remote-write-label: '%s' is not NAME=VALUE", label);
	}
	return 0;
}

int target_check(const struct target_config *config, struct error *err)
{
	size_t bytes = 0;
	int r;

	if (config->url == NULL) {
		return config->ca == NULL && config->user == NULL &&
				config->token_file == NULL &&
				config->headers.count == 0 &&
				config->labels.count == 0
			? 0
			: error_set(err, -EINVAL,
				  "--remote-write is missing, but its other "
				  "flags are set");
	}
	r = check_url(config->url, err);
	r = r == 0 ? check_secrets(config, err) : r;
	for (size_t i = 0; r == 0 && i < config->headers.count; i++) {
		r = check_header(config->headers.items[i], err);
	}
	for (size_t i = 0; r == 0 && i < config->labels.count; i++) {
		bytes += strlen(config->labels.items[i]);
		r = check_label(config->labels.items[i], err);
	}
	return r == 0 && bytes > LABELS_BYTES_MAX
		? error_set(err, -EINVAL,
			  "--remote-write-label: all labels together have more "
			  "than %d bytes",
			  LABELS_BYTES_MAX)
		: r;
}

/* ---- the files ---- */

/* RFC 4648, section 4: up to three bytes as four digits. */
static void put_quantum(char out[4], const char *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;

	for (size_t i = 0; i < 3; i++) {
		bits = bits << 8 | (i < len ? (unsigned char)bytes[i] : 0U);
	}
	memset(out, '=', 4);
	for (size_t i = 0; i <= len; i++) {
		out[i] = digits[bits >> (18 - 6 * i) & 63];
	}
}

static char *base64(const char *text)
{
	size_t len = strlen(text);
	char *out = xcalloc(len / 3 * 4 + 5, 1);

	for (size_t i = 0; i < len; i += 3) {
		put_quantum(out + i / 3 * 4, text + i,
			len - i < 3 ? len - i : 3);
	}
	return out;
}

static void wipe(char *secret)
{
	if (secret != NULL) {
		explicit_bzero(secret, strlen(secret));
		free(secret);
	}
}

static char *make_authorization(const char *user, const char *token)
{
	char *joined, *encoded, *header;

	if (user == NULL) {
		return xasprintf("Authorization: Bearer %s", token);
	}
	joined = xasprintf("%s:%s", user, token);
	encoded = base64(joined);
	header = xasprintf("Authorization: Basic %s", encoded);
	wipe(joined);
	wipe(encoded);
	return header;
}

static int read_token(struct target *target, struct error *err)
{
	const struct target_config *config = target->config;
	struct buffer text = BUFFER_MAX(TOKEN_MAX);
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
		wipe(target->authorization);
		target->authorization =
			make_authorization(config->user, text.data);
	}
	if (text.data != NULL) {
		explicit_bzero(text.data, text.capacity);
	}
	buffer_fini(&text);
	return r;
}

static int read_ca(struct target *target, struct error *err)
{
	const struct tls_files files = { .ca = target->config->ca };
	struct tls_material material = { 0 };
	int r = tls_load(&material, &files, err);

	if (r == 0) {
		target->ca = take_ptr(material.ca);
		tls_fini(&material);
	}
	return r;
}

static void split_labels(struct target *target)
{
	const struct option_list *labels = &target->config->labels;

	for (size_t i = 0; i < labels->count; i++) {
		char *name = xstrdup(labels->items[i]);
		char *equals = strchr(name, '=');

		*equals = '\0';
		target->label_names[i] = name;
		target->extra.labels[i] =
			(struct remote_label){ name, equals + 1 };
	}
	target->extra.count = labels->count;
}

int target_init(struct target *out, const struct target_config *config,
	struct error *err)
{
	struct target target = { .config = config };
	const char *url = config->url;
	int r = read_ca(&target, err);

	if (r == 0 && config->token_file != NULL) {
		r = read_token(&target, err);
	}
	if (r < 0) {
		target_fini(&target);
		return r;
	}
	split_labels(&target);
	target.origin = xstrndup(url,
		(size_t)(strstr(url, "://") + 3 - url) + authority_length(url));
	*out = target;
	return 0;
}

void target_fini(struct target *target)
{
	free(target->origin);
	free(target->ca);
	wipe(target->authorization);
	for (size_t i = 0; i < REQUEST_EXTRA_MAX; i++) {
		free(target->label_names[i]);
	}
	*target = (struct target){ 0 };
}

void target_refresh(struct target *target)
{
	if (target->config->token_file != NULL) {
		(void)(read_token(target, NULL) < 0);
	}
}

void target_headers(const char *out[TARGET_HEADERS_MAX],
	const struct target *target)
{
	const struct option_list *headers = &target->config->headers;
	size_t count = 0;

	for (size_t i = 0; i < count_of(fixed_headers); i++) {
		out[count++] = fixed_headers[i];
	}
	for (size_t i = 0; i < headers->count; i++) {
		out[count++] = headers->items[i];
	}
	if (target->authorization != NULL) {
		out[count++] = target->authorization;
	}
	out[count] = NULL;
}
