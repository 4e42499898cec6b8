#include "lib/credentials.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void flags_must_go_with_each_other_and_the_urls(void **state)
{
	static const struct {
		const char *url;
		struct dial_config config;
		const char *sentence; /* NULL: fine */
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
		{ "tls+tcp://a:1", { .server_name = "a" }, "needs --tls-ca" },
		{ "tls+tcp://a:1", { .tls = { "x", "y", NULL } },
			"--tls-key go together" },
		{ "tls+tcp://a:1", { .tls.ca = "x", .server_name = "" },
			"not empty" },
		{ "tcp://a:1", { .tls.ca = "x" }, "does not use the --tls" },
		{ "tcp://a:1", { .server_name = "a" },
			"does not use the --tls" },
		{ "tcp://a:1", { .token_file = "t" }, "over TLS only" },
		{ "http://a:1", { .server_name = NULL }, "tcp://HOST:PORT" },
		{ "tcp://a", { .server_name = NULL }, "tcp://HOST:PORT" },
		{ "tcp://:1", { .server_name = NULL }, "tcp://HOST:PORT" },
		{ "tls+tcp://a", { .tls.ca = "x" }, "tcp://HOST:PORT" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct option_list urls = { { cases[i].url }, 1 };
		struct error err = { 0 };
		int r = dial_check(&cases[i].config, &urls, &err);

		assert_int_equal(r, cases[i].sentence == NULL ? 0 : -EINVAL);
		if (cases[i].sentence != NULL) {
			assert_non_null(strstr(err.text, cases[i].sentence));
		}
	}
}

static int read_back(char **token, const char *bytes, size_t len,
	struct error *err)
{
	char path[] = "/tmp/plimsoll-dial-XXXXXX";
	int fd = mkstemp(path);
	int r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_int_equal(close(fd), 0);
	r = dial_read_token(token, path, err);
	assert_int_equal(unlink(path), 0);
	return r;
}

static void a_token_comes_without_the_newline_that_ends_it(void **state)
{
	static const char *const texts[] = { "abc.d-e_f", "abc.d-e_f\n" };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		char *token = NULL;

		assert_int_equal(
			read_back(&token, texts[i], strlen(texts[i]), NULL), 0);
		assert_string_equal(token, "abc.d-e_f");
		dial_free_token(token);
	}
	dial_free_token(NULL);
}

static void a_token_has_at_most_16_kib(void **state)
{
	scoped_free char *text = xcalloc(1, DIAL_TOKEN_MAX + 3);
	char *token = NULL;

	(void)state;
	memset(text, 'a', DIAL_TOKEN_MAX + 2);
	assert_int_equal(read_back(&token, text, DIAL_TOKEN_MAX, NULL), 0);
	dial_free_token(take_ptr(token));
	assert_int_equal(read_back(&token, text, DIAL_TOKEN_MAX + 1, NULL),
		-EFBIG);
	assert_int_equal(read_back(&token, text, DIAL_TOKEN_MAX + 2, NULL),
		-EFBIG);
	text[DIAL_TOKEN_MAX] = '\n';
	assert_int_equal(read_back(&token, text, DIAL_TOKEN_MAX + 1, NULL), 0);
	dial_free_token(token);
}

static void what_is_no_token_is_refused_without_being_shown(void **state)
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

static void a_token_that_is_not_there_is_named(void **state)
{
	struct error err = { 0 };
	char *token = NULL;

	(void)state;
	assert_int_equal(dial_read_token(&token, "/nowhere/token", &err),
		-ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/token"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_must_go_with_each_other_and_the_urls),
		cmocka_unit_test(
			a_token_comes_without_the_newline_that_ends_it),
		cmocka_unit_test(a_token_has_at_most_16_kib),
		cmocka_unit_test(
			what_is_no_token_is_refused_without_being_shown),
		cmocka_unit_test(a_token_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
