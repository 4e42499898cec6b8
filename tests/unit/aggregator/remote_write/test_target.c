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
		fail_msg("%s: %d '%s'", check->config.url, r, err.text);
	}
}

static const struct check checks[] = {
	{ { .url = NULL }, NULL },
	{ { .url = "http://a/b" }, NULL },
	{ { .url = "https://a:1/b?c=d@e" }, NULL },
	{ { .url = "HTTPS://[::1]:1/" }, NULL },
	{ { .url = "a:9090" }, "URL" },
	{ { .url = "ftp://a/" }, "URL" },
	{ { .url = "http:///x" }, "URL" },
	{ { .url = "http://a/b c" }, "URL" },
	{ { .url = "http://a/\x01" }, "URL" },
	{ { .url = "https://user:s3cret@a/b" }, "password" },
	{ { .ca = "f" }, "missing" },
	{ { .token_file = "f" }, "missing" },
	{ { .labels = { { "a=b" }, 1 } }, "missing" },
	{ { .url = "https://a/", .token_file = "f" }, NULL },
	{ { .url = "https://a/", .token_file = "f", .user = "u" }, NULL },
	{ { .url = "https://a/", .user = "u" }, "password" },
	{ { .url = "https://a/", .token_file = "f", .user = "u:v" }, "name" },
	{ { .url = "http://a/", .token_file = "f" }, "TLS" },
	{ { .url = "http://127.0.0.1:9090/x", .token_file = "f" }, NULL },
	{ { .url = "http://[::1]:9090/x", .token_file = "f" }, NULL },
	{ { .url = "http://localhost", .token_file = "f" }, NULL },
	{ { .url = "http://localhost.evil/", .token_file = "f" }, "TLS" },
	{ { .url = "http://127.0.0.1.evil/", .token_file = "f" }, "TLS" },
	{ { .url = "http://a/", .headers = { { "X-A: b" }, 1 } }, NULL },
	{ { .url = "http://a/", .headers = { { "X-A" }, 1 } }, "header" },
	{ { .url = "http://a/", .headers = { { "X A: b" }, 1 } }, "header" },
	{ { .url = "http://a/", .headers = { { "X: a\r\nY: b" }, 1 } },
		"header" },
	{ { .url = "http://a/",
		  .headers = { { "Authorization: Bearer t" }, 1 } },
		"header" },
	{ { .url = "http://a/", .headers = { { "content-type: x" }, 1 } },
		"header" },
	{ { .url = "http://a/", .labels = { { "a_1=b=c" }, 1 } }, NULL },
	{ { .url = "http://a/", .labels = { { "a" }, 1 } }, "label" },
	{ { .url = "http://a/", .labels = { { "a=" }, 1 } }, "label" },
	{ { .url = "http://a/", .labels = { { "1a=b" }, 1 } }, "label" },
	{ { .url = "http://a/", .labels = { { "__a=b" }, 1 } }, "label" },
	{ { .url = "http://a/", .labels = { { "a-b=c" }, 1 } }, "label" },
	{ { .url = "http://a/", .labels = { { "a=\xff" }, 1 } }, "label" },
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
	const char *headers[TARGET_HEADERS_MAX];

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
	struct target_config config = { .url = "https://a:1/b",
		.headers = { { "X-Scope-OrgID: fleet" }, 1 },
		.labels = { { "cluster=berlin" }, 1 } };
	struct target target;
	char path[128];

	(void)state;
	write_file(path, sizeof(path), "abc\n");
	config.token_file = path;
	assert_int_equal(target_init(&target, &config, NULL), 0);
	assert_string_equal(target.origin, "https://a:1");
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
		struct target_config config = { .url = "https://a/",
			.user = cases[i][0] };
		struct target target;
		char path[128];

		write_file(path, sizeof(path), cases[i][1]);
		config.token_file = path;
		assert_int_equal(target_init(&target, &config, NULL), 0);
		assert_string_equal(header_of(&target, "Authorization: "),
			cases[i][2]);
		target_fini(&target);
		assert_int_equal(unlink(path), 0);
	}
}

static void reads_the_token_again_and_keeps_it_on_failure(void **state)
{
	struct target_config config = { .url = "https://a/" };
	struct target target;
	char first[128], second[128];

	(void)state;
	write_file(first, sizeof(first), "one");
	write_file(second, sizeof(second), "two");
	config.token_file = first;
	assert_int_equal(target_init(&target, &config, NULL), 0);
	assert_int_equal(rename(second, first), 0);
	target_refresh(&target);
	assert_string_equal(header_of(&target, "Authorization: "),
		"Bearer two");
	assert_int_equal(unlink(first), 0);
	target_refresh(&target);
	assert_string_equal(header_of(&target, "Authorization: "),
		"Bearer two");
	target_fini(&target);
}

static void names_a_bad_file(void **state)
{
	static const char *const texts[] = { "", "\n", "a\nb", "a\x01" };

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		struct target_config config = { .url = "https://a/" };
		struct target target;
		struct error err = { 0 };
		char path[128];

		write_file(path, sizeof(path), texts[i]);
		config.token_file = path;
		assert_int_equal(target_init(&target, &config, &err), -EINVAL);
		assert_non_null(strstr(err.text, path));
		config.token_file = NULL;
		config.ca = path;
		assert_int_equal(target_init(&target, &config, &err), -EINVAL);
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
