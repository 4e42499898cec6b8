#include "lib/tls/credentials.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void flags_must_match_each_other_and_the_urls(void **state)
{
	static const struct {
		const char *url;
		struct credentials config;
		const char *sentence; /* NULL: valid */
	} cases[] = {
		{ "tcp://a:1", { .server_name = NULL }, NULL },
		{ "tls+tcp://a:1", { .tls.ca = "x" }, NULL },
		{ "tls+tcp://1.2.3.4.example:1", { .tls.ca = "x" }, NULL },
		{ "tls+tcp://a:1", { .tls = { "x", "y", "z" } }, NULL },
		{ "tls+tcp://a:1", { .tls.ca = "x", .token_file = "t" }, NULL },
		{ "tls+tcp://127.0.0.1:1",
			{ .tls.ca = "x", .server_name = "a" }, NULL },
		{ "tls+tcp://127.0.0.1:1", { .tls.ca = "x" },
			"--tls-server-name" },
		{ "tls+tcp://[::1]:1", { .tls.ca = "x" }, "--tls-server-name" },
		{ "tls+tcp://a:1", { .server_name = "a" },
			"requires --tls-ca" },
		{ "tls+tcp://a:1", { .tls = { "x", "y", NULL } },
			"--tls-key must be given together" },
		{ "tls+tcp://a:1", { .tls.ca = "x", .server_name = "" },
			"is empty" },
		{ "tcp://a:1", { .tls.ca = "x" }, "require tls+tcp://" },
		{ "tcp://a:1", { .server_name = "a" }, "require tls+tcp://" },
		{ "tcp://a:1", { .token_file = "t" }, "requires tls+tcp://" },
		{ "http://a:1", { .server_name = NULL }, "tcp://HOST:PORT" },
		{ "tcp://a", { .server_name = NULL }, "tcp://HOST:PORT" },
		{ "tcp://:1", { .server_name = NULL }, "tcp://HOST:PORT" },
		{ "tls+tcp://a", { .tls.ca = "x" }, "tcp://HOST:PORT" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct option_list urls = { { cases[i].url }, 1 };
		struct error err = { 0 };
		int r = credentials_check(&cases[i].config, &urls, &err);

		assert_int_equal(r, cases[i].sentence == NULL ? 0 : -EINVAL);
		if (cases[i].sentence != NULL) {
			assert_non_null(strstr(err.text, cases[i].sentence));
		}
	}
}

static int read_back(char **token, const char *bytes, size_t len,
	struct error *err)
{
	char path[] = "/tmp/plimsoll-token-XXXXXX";
	int fd = mkstemp(path);
	int r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_int_equal(close(fd), 0);
	r = credentials_read_token(token, path, err);
	assert_int_equal(unlink(path), 0);
	return r;
}

static void the_trailing_newline_of_a_token_is_removed(void **state)
{
	static const char *const texts[] = { "abc.d-e_f", "abc.d-e_f\n" };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		char *token = NULL;

		assert_int_equal(
			read_back(&token, texts[i], strlen(texts[i]), NULL), 0);
		assert_string_equal(token, "abc.d-e_f");
		credentials_free_token(token);
	}
	credentials_free_token(NULL);
}

static void a_token_has_at_most_16_kib(void **state)
{
	scoped_free char *text = xcalloc(1, CREDENTIALS_TOKEN_MAX + 3);
	char *token = NULL;

	(void)state;
	memset(text, 'a', CREDENTIALS_TOKEN_MAX + 2);
	assert_int_equal(read_back(&token, text, CREDENTIALS_TOKEN_MAX, NULL),
		0);
	credentials_free_token(take_ptr(token));
	assert_int_equal(
		read_back(&token, text, CREDENTIALS_TOKEN_MAX + 1, NULL),
		-EFBIG);
	assert_int_equal(
		read_back(&token, text, CREDENTIALS_TOKEN_MAX + 2, NULL),
		-EFBIG);
	text[CREDENTIALS_TOKEN_MAX] = '\n';
	assert_int_equal(
		read_back(&token, text, CREDENTIALS_TOKEN_MAX + 1, NULL), 0);
	credentials_free_token(token);
}

static void refuses_an_invalid_token_without_quoting_it(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "", 0 },
		{ "\n", 1 },
		{ "sec ret", 7 },
		{ "sec\nret\n", 8 },
		{ "secret\r\n", 8 },
		{ "sec\0ret", 7 },
		{ "secr\xc3\xa9t", 7 },
		{ "secret\x7f", 7 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct error err = { 0 };
		char *token = NULL;

		assert_int_equal(
			read_back(&token, cases[i].bytes, cases[i].len, &err),
			-EINVAL);
		assert_null(token);
		assert_null(strstr(err.text, "sec"));
	}
}

static void the_error_names_a_missing_token_file(void **state)
{
	struct error err = { 0 };
	char *token = NULL;

	(void)state;
	assert_int_equal(credentials_read_token(&token, "/nowhere/token", &err),
		-ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/token"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_must_match_each_other_and_the_urls),
		cmocka_unit_test(the_trailing_newline_of_a_token_is_removed),
		cmocka_unit_test(a_token_has_at_most_16_kib),
		cmocka_unit_test(refuses_an_invalid_token_without_quoting_it),
		cmocka_unit_test(the_error_names_a_missing_token_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
