#include "aggregator/remote_write/target.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check {
	struct target_config config;
	const char *word; /* of the error; NULL: accepted */
};

static void assert_checked(const struct check *check)
{
	struct error err = { 0 };
	int r = target_check(&check->config, &err);
	bool is_accepted = check->word == NULL;

	if (is_accepted != (r == 0) ||
		(!is_accepted && strstr(err.text, check->word) == NULL) ||
		strstr(err.text, "s3cret") != NULL) {
		fail_msg("%s: %d '%s'", check->config.http.url, r, err.text);
	}
}

static const struct check checks[] = {
	{ { .http.url = NULL }, NULL },
	{ { .http.url = "http://a/b" }, NULL },
	{ { .http.url = "https://a:1/b?c=d@e" }, NULL },
	{ { .http.url = "HTTPS://[::1]:1/" }, NULL },
	{ { .http.url = "a:9090" }, "URL" },
	{ { .http.url = "ftp://a/" }, "URL" },
	{ { .http.url = "http:///x" }, "URL" },
	{ { .http.url = "http://a/b c" }, "URL" },
	{ { .http.url = "http://a/\x01" }, "URL" },
	{ { .http.url = "https://user:s3cret@a/b" }, "password" },
	{ { .http.ca = "f" }, "missing" },
	{ { .http.token_file = "f" }, "missing" },
	{ { .labels = { { "a=b" }, 1 } }, "missing" },
	{ { .http.url = "https://a/", .http.token_file = "f" }, NULL },
	{ { .http.url = "https://a/",
		  .http.token_file = "f",
		  .http.user = "u" },
		NULL },
	{ { .http.url = "https://a/", .http.user = "u" }, "password" },
	{ { .http.url = "https://a/",
		  .http.token_file = "f",
		  .http.user = "u:v" },
		"name" },
	{ { .http.url = "http://a/", .http.token_file = "f" }, "TLS" },
	{ { .http.url = "http://127.0.0.1:9090/x", .http.token_file = "f" },
		NULL },
	{ { .http.url = "http://[::1]:9090/x", .http.token_file = "f" }, NULL },
	{ { .http.url = "http://localhost", .http.token_file = "f" }, NULL },
	{ { .http.url = "http://localhost.evil/", .http.token_file = "f" },
		"TLS" },
	{ { .http.url = "http://127.0.0.1.evil/", .http.token_file = "f" },
		"TLS" },
	{ { .http.url = "http://a/", .http.headers = { { "X-A: b" }, 1 } },
		NULL },
	{ { .http.url = "http://a/", .http.headers = { { "X-A" }, 1 } },
		"header" },
	{ { .http.url = "http://a/", .http.headers = { { "X A: b" }, 1 } },
		"header" },
	{ { .http.url = "http://a/",
		  .http.headers = { { "X: a\r\nY: b" }, 1 } },
		"header" },
	{ { .http.url = "http://a/",
		  .http.headers = { { "Authorization: Bearer t" }, 1 } },
		"header" },
	{ { .http.url = "http://a/",
		  .http.headers = { { "content-type: x" }, 1 } },
		"header" },
	{ { .http.url = "http://a/", .labels = { { "a_1=b=c" }, 1 } }, NULL },
	{ { .http.url = "http://a/", .labels = { { "a" }, 1 } }, "label" },
	{ { .http.url = "http://a/", .labels = { { "a=" }, 1 } }, "label" },
	{ { .http.url = "http://a/", .labels = { { "1a=b" }, 1 } }, "label" },
	{ { .http.url = "http://a/", .labels = { { "__a=b" }, 1 } }, "label" },
	{ { .http.url = "http://a/", .labels = { { "a-b=c" }, 1 } }, "label" },
	{ { .http.url = "http://a/", .labels = { { "a=\xff" }, 1 } }, "label" },
};

static void accepts_or_rejects_flags(void **state)
{
	(void)state;
	for (size_t i = 0; i < count_of(checks); i++) {
		assert_checked(&checks[i]);
	}
}

/* Writes a file, which the caller removes. */
static void write_file(char *path, size_t size, const char *text)
{
	const char *tmpdir = getenv("TMPDIR");
	int fd;

	(void)snprintf(path, size, "%s/plimsoll-test-XXXXXX",
		tmpdir != NULL ? tmpdir : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

static const char *header_of(const struct target *target, const char *prefix)
{
	const char *headers[HTTP_TARGET_HEADERS_MAX];

	target_headers(headers, target);
	for (size_t i = 0; headers[i] != NULL; i++) {
		if (strncmp(headers[i], prefix, strlen(prefix)) == 0) {
			return headers[i] + strlen(prefix);
		}
	}
	return "";
}

static void requests_have_all_headers(void **state)
{
	struct target_config config = { .http.url = "https://a:1/b",
		.http.headers = { { "X-Scope-OrgID: fleet" }, 1 },
		.labels = { { "cluster=berlin" }, 1 } };
	struct target target;
	char path[128];

	(void)state;
	write_file(path, sizeof(path), "abc\n");
	config.http.token_file = path;
	assert_int_equal(target_init(&target, &config, NULL), 0);
	assert_string_equal(target.http.origin, "https://a:1");
	assert_string_equal(header_of(&target, "Authorization: "),
		"Bearer abc");
	assert_string_equal(header_of(&target, "Content-Encoding: "), "snappy");
	assert_string_equal(header_of(&target, "Content-Type: "),
		"application/x-protobuf");
	assert_string_equal(
		header_of(&target, "X-Prometheus-Remote-Write-Version: "),
		"0.1.0");
	assert_string_equal(header_of(&target, "X-Scope-OrgID: "), "fleet");
	assert_int_equal(target.extra.count, 1);
	assert_string_equal(target.extra.labels[0].name, "cluster");
	assert_string_equal(target.extra.labels[0].value, "berlin");
	target_fini(&target);
	assert_int_equal(unlink(path), 0);
}

/* The example of RFC 7617, section 2, and all lengths of padding. */
static void encodes_user_and_password(void **state)
{
	static const char *const cases[][3] = {
		{ "Aladdin", "open sesame",
			"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" },
		{ "a", "bc", "Basic YTpiYw==" },
		{ "a", "b", "Basic YTpi" },
		{ "a", "bcd", "Basic YTpiY2Q=" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct target_config config = { .http.url = "https://a/",
			.http.user = cases[i][0] };
		struct target target;
		char path[128];

		write_file(path, sizeof(path), cases[i][1]);
		config.http.token_file = path;
		assert_int_equal(target_init(&target, &config, NULL), 0);
		assert_string_equal(header_of(&target, "Authorization: "),
			cases[i][2]);
		target_fini(&target);
		assert_int_equal(unlink(path), 0);
	}
}

static void reads_the_token_again_and_keeps_it_on_failure(void **state)
{
	struct target_config config = { .http.url = "https://a/" };
	struct target target;
	char first[128], second[128];

	(void)state;
	write_file(first, sizeof(first), "one");
	write_file(second, sizeof(second), "two");
	config.http.token_file = first;
	assert_int_equal(target_init(&target, &config, NULL), 0);
	assert_int_equal(rename(second, first), 0);
	http_target_distrust(&target.http);
	http_target_refresh(&target.http);
	assert_string_equal(header_of(&target, "Authorization: "),
		"Bearer two");
	assert_int_equal(unlink(first), 0);
	http_target_distrust(&target.http);
	http_target_refresh(&target.http);
	assert_string_equal(header_of(&target, "Authorization: "),
		"Bearer two");
	target_fini(&target);
}

static void names_a_bad_file(void **state)
{
	static const char *const texts[] = { "", "\n", "a\nb", "a\x01" };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct target_config config = { .http.url = "https://a/" };
		struct target target;
		struct error err = { 0 };
		char path[128];

		write_file(path, sizeof(path), texts[i]);
		config.http.token_file = path;
		assert_int_equal(target_init(&target, &config, &err), -EINVAL);
		assert_non_null(strstr(err.text, path));
		assert_int_equal(unlink(path), 0);
		assert_int_equal(target_init(&target, &config, &err), -ENOENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_or_rejects_flags),
		cmocka_unit_test(requests_have_all_headers),
		cmocka_unit_test(encodes_user_and_password),
		cmocka_unit_test(reads_the_token_again_and_keeps_it_on_failure),
		cmocka_unit_test(names_a_bad_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
