#include "aggregator/apiserver/page_token.h"

#include "lib/base64.h"
#include "lib/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_MAX = 1024 };

/* RFC 4648, section 5: a token is a part of URLs. */
static void translate(char *text, const char *from, const char *to)
{
	for (char *at = text; *at != '\0'; at++) {
		const char *found = strchr(from, *at);

		if (found != NULL) {
			*at = to[found - from];
		}
	}
}

char *page_token_write(uint64_t epoch, const char *resource, const char *key)
{
	scoped_free char *plain =
		xasprintf("1 %" PRIx64 " %s %s", epoch, resource, key);
	char *token = base64_encode(plain, strlen(plain));

	translate(token, "+/", "-_");
	return token;
}

static bool is_digits(const char *text)
{
	return *text != '\0' && text[strspn(text, "0123456789abcdef")] == '\0';
}

/* The parts of "1 EPOCH RESOURCE KEY" in place. */
static bool split(char *parts[4], char *text)
{
	char *at = text;

	for (size_t i = 0; i < 4; i++) {
		parts[i] = strsep(&at, " ");
		if (parts[i] == NULL || *parts[i] == '\0') {
			return false;
		}
	}
	return at == NULL && strcmp(parts[0], "1") == 0 &&
		is_digits(parts[1]) && strlen(parts[3]) < PAGE_KEY_MAX;
}

static char *decode(const char *text)
{
	scoped_free char *copy = NULL;

	if (strlen(text) > TOKEN_MAX ||
		text[strspn(text,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			"0123456789-_=")] != '\0') {
		return NULL;
	}
	copy = xstrdup(text);
	translate(copy, "-_", "+/");
	return base64_decode_text(copy);
}

int page_token_read(char key[PAGE_KEY_MAX], const char *text, uint64_t epoch,
	const char *resource, struct error *err)
{
	scoped_free char *ours = xasprintf("%" PRIx64, epoch);
	scoped_free char *plain = NULL;
	char *parts[4];

	if (text == NULL || *text == '\0') {
		key[0] = '\0';
		return 0;
	}
	plain = decode(text);
	if (plain == NULL || !split(parts, plain) ||
		strcmp(parts[2], resource) != 0) {
		return error_set(err, -EINVAL,
			"continue: not a token of a list of %s", resource);
	}
	if (strcmp(parts[1], ours) != 0) {
		return error_set(err, -ESTALE,
			"the continue token is of an aggregator that was "
			"restarted, or of another one: start the list again");
	}
	(void)snprintf(key, PAGE_KEY_MAX, "%s", parts[3]);
	return 0;
}
