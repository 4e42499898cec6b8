#include "auth/access_review_text.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

#define STATUS(text) "{\"kind\":\"TokenReview\",\"status\":{" text "}}"
#define USER(extra)                                                            \
	"\"authenticated\":true,\"audiences\":[\"x\",\"ours\"],\"user\":{"     \
	"\"username\":\"system:serviceaccount:ns:agent\",\"uid\":\"u-1\","     \
	"\"groups\":[\"system:serviceaccounts\",\"a\\\"b\"],"                  \
	"\"extra\":{" extra "}}"
#define KEY "authentication.kubernetes.io/"

static struct account read_good(const char *extra)
{
	struct account account = { 0 };
	struct error err = { 0 };
	scoped_free char *body = xasprintf(STATUS(USER("%s")), extra);

	if (access_review_read_account(&account, body, strlen(body), "ours",
		    &err) != 0) {
		fail_msg("%s", err.text);
	}
	return account;
}

static void assert_error_has(const struct error *err, const char *word)
{
	if (strstr(err->text, word) == NULL) {
		fail_msg("'%s' lacks '%s'", err->text, word);
	}
}

static void accepts_only_the_characters_of_a_token(void **state)
{
	static const struct {
		const char *token;
		bool is_good;
	} cases[] = {
		{ "eyJh.eyJp-_c3.c2ln", true },
		{ "a~b+c/d==", true },
		{ "", false },
		{ "a b", false },
		{ "a\"b", false },
		{ "a\\", false },
		{ "a\n", false },
		{ "\xc3\xa4", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(access_review_is_token(cases[i].token),
			cases[i].is_good);
	}
}

static void writes_a_token_review_with_and_without_audience(void **state)
{
	char *with = access_review_token_body("t.o.k", "ours");
	char *without = access_review_token_body("t.o.k", NULL);

	(void)state;
	assert_string_equal(with,
		"{\"apiVersion\":\"authentication.k8s.io/v1\","
		"\"kind\":\"TokenReview\",\"spec\":{\"token\":\"t.o.k\","
		"\"audiences\":[\"ours\"]}}");
	assert_string_equal(without,
		"{\"apiVersion\":\"authentication.k8s.io/v1\","
		"\"kind\":\"TokenReview\",\"spec\":{\"token\":\"t.o.k\"}}");
	secret_free(with);
	secret_free(without);
}

static void reads_the_account_of_a_token(void **state)
{
	struct account account =
		read_good("\"" KEY "node-name\":[\"n1\"],\"" KEY
			  "pod-name\":[\"p1\"],\"" KEY "pod-uid\":[\"pu\"]");

	(void)state;
	assert_string_equal(account.user, "system:serviceaccount:ns:agent");
	assert_string_equal(account.uid, "u-1");
	assert_string_equal(account.groups,
		"[\"system:serviceaccounts\",\"a\\\"b\"]");
	assert_string_equal(account.node, "n1");
	assert_string_equal(account.pod, "p1");
	assert_string_equal(account.pod_uid, "pu");
	account_fini(&account);
}

static void copies_extra_but_only_lists_of_texts(void **state)
{
	struct account account = read_good("\"k\":[\"v\",\"w\",3],\"l\":[]");

	(void)state;
	assert_string_equal(account.extra, "{\"k\":[\"v\",\"w\"],\"l\":[]}");
	account_fini(&account);
}

static void rejects_a_response_that_is_not_a_token_review(void **state)
{
	static const struct {
		const char *body;
		int code;
		const char *word;
	} cases[] = {
		{ "", -EBADMSG, "TokenReview" },
		{ "{}", -EBADMSG, "not a TokenReview" },
		{ "[1]", -EBADMSG, "not a TokenReview" },
		{ "{\"status\":1}", -EBADMSG, "not a TokenReview" },
		{ STATUS(""), -EACCES, "not accepted: not authenticated" },
		{ STATUS("\"error\":\"token has expired\""), -EACCES,
			"not accepted: token has expired" },
		{ STATUS("\"authenticated\":\"true\""), -EACCES,
			"not authenticated" },
		{ STATUS("\"authenticated\":false," USER("")), -EACCES,
			"not authenticated" },
		/* A server that does not support audiences. */
		{ STATUS("\"authenticated\":true,\"user\":"
			 "{\"username\":\"a\"}"),
			-EACCES, "its audience is not 'ours'" },
		{ STATUS("\"authenticated\":true,\"audiences\":[\"theirs\"],"
			 "\"user\":{\"username\":\"a\"}"),
			-EACCES, "its audience is not 'ours'" },
		{ STATUS("\"authenticated\":true,\"audiences\":[\"ours\"]"),
			-EBADMSG, "has no user name" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct account account = { 0 };
		struct error err = { 0 };

		assert_int_equal(
			access_review_read_account(&account, cases[i].body,
				strlen(cases[i].body), "ours", &err),
			cases[i].code);
		assert_error_has(&err, cases[i].word);
		assert_null(account.user);
	}
}

static void rejects_an_account_with_too_many_groups(void **state)
{
	scoped_buffer struct buffer body = BUFFER_MAX(1 << 20);
	struct account account = { 0 };

	(void)state;
	buffer_text(&body,
		"{\"status\":{\"authenticated\":true,\"user\":{"
		"\"username\":\"a\",\"groups\":[\"g\"");
	for (int i = 0; i < 300; i++) {
		buffer_text(&body, ",\"g\"");
	}
	buffer_text(&body, "]}}}");
	assert_int_equal(access_review_read_account(&account, body.data,
				 body.len, NULL, NULL),
		-EBADMSG);
}

static void leaves_out_extra_that_is_not_an_object(void **state)
{
	static const char body[] =
		"{\"status\":{\"authenticated\":true,"
		"\"user\":{\"username\":\"a\",\"extra\":[[\"v\"]]}}}";
	struct account account = { 0 };

	(void)state;
	assert_int_equal(access_review_read_account(&account, body,
				 strlen(body), NULL, NULL),
		0);
	assert_string_equal(account.extra, "{}");
	account_fini(&account);
}

static void compares_the_node_of_an_account(void **state)
{
	const struct account account = { .user = "sam", .node = "n1" };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(access_review_check_node(&account, "n1", &err), 0);
	assert_int_equal(access_review_check_node(&account, "N1", &err),
		-EPERM);
	assert_int_equal(access_review_check_node(&account, "", &err), -EPERM);
	assert_int_equal(access_review_check_node(&account, "n2", &err),
		-EPERM);
	assert_string_equal(err.text,
		"the token of 'sam' belongs to node 'n1', not 'n2'");
}

static void finds_the_pod_in_the_namespace_of_the_account(void **state)
{
	static const struct {
		const char *user, *pod, *uid;
		const char *path; /* NULL: refused */
	} cases[] = {
		{ "system:serviceaccount:ns:a", "p-1.x", "u",
			"/api/v1/namespaces/ns/pods/p-1.x" },
		{ "system:serviceaccount:ns:a", NULL, "u", NULL },
		{ "system:serviceaccount:ns:a", "p", NULL, NULL },
		{ "system:serviceaccount:ns", "p", "u", NULL },
		{ "system:serviceaccount::a", "p", "u", NULL },
		{ "system:serviceaccount:n/s:a", "p", "u", NULL },
		{ "system:serviceaccount:..:a", "p", "u", NULL },
		{ "system:serviceaccount:ns:a", "../x", "u", NULL },
		{ "system:serviceaccount:ns:a", "p?x", "u", NULL },
		{ "system:node:n1", "p", "u", NULL },
		{ "", "p", "u", NULL },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *user = xstrdup(cases[i].user);
		scoped_free char *pod =
			cases[i].pod == NULL ? NULL : xstrdup(cases[i].pod);
		scoped_free char *uid =
			cases[i].uid == NULL ? NULL : xstrdup(cases[i].uid);
		const struct account account = { .user = user,
			.pod = pod,
			.pod_uid = uid };
		scoped_free char *path = NULL;

		assert_int_equal(access_review_pod_path(&path, &account, NULL),
			cases[i].path == NULL ? -EPERM : 0);
		if (cases[i].path != NULL) {
			assert_string_equal(path, cases[i].path);
		}
	}
}

static void compares_the_node_of_a_pod(void **state)
{
	static const struct {
		const char *body;
		int code;
		const char *word;
	} cases[] = {
		{ "{\"metadata\":{\"uid\":\"u\"},"
		  "\"spec\":{\"nodeName\":\"n1\"}}",
			0, "" },
		{ "{\"metadata\":{\"uid\":\"u\"},"
		  "\"spec\":{\"nodeName\":\"n2\"}}",
			-EPERM, "belongs to node 'n2', not 'n1'" },
		{ "{\"metadata\":{\"uid\":\"u\"},\"spec\":{}}", -EPERM,
			"node '', not" },
		{ "{\"metadata\":{\"uid\":\"v\"},"
		  "\"spec\":{\"nodeName\":\"n1\"}}",
			-EPERM, "earlier pod" },
		{ "{\"spec\":{\"nodeName\":\"n1\"}}", -EBADMSG, "not a pod" },
		{ "{", -EBADMSG, "pod" },
	};
	const struct account account = { .user = "sam",
		.pod = "p",
		.pod_uid = "u" };

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct error err = { 0 };

		assert_int_equal(
			access_review_check_pod(&account, "n1", cases[i].body,
				strlen(cases[i].body), &err),
			cases[i].code);
		assert_error_has(&err, cases[i].word);
	}
}

static void a_pod_leaves_if_it_is_deleted_or_not_listed(void **state)
{
	static const struct {
		const char *body;
		bool leaves;
	} cases[] = {
		{ "{\"items\":[]}", true },
		{ "{\"items\":[{\"metadata\":{\"uid\":\"u2\"}}]}", true },
		{ "{\"items\":[{\"metadata\":{\"uid\":\"u1\"}}]}", false },
		{ "{\"items\":[{\"metadata\":{\"uid\":\"u1\","
		  "\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}]}",
			true },
	};
	bool leaves = false;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		assert_int_equal(
			access_review_read_pods(&leaves, "u1", cases[i].body,
				strlen(cases[i].body), NULL),
			0);
		assert_int_equal(leaves, cases[i].leaves);
	}
	assert_int_equal(access_review_read_pods(&leaves, "u1", "{}", 2, NULL),
		-EBADMSG);
	assert_int_equal(access_review_read_pods(&leaves, "u1", "x", 1, NULL),
		-EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_only_the_characters_of_a_token),
		cmocka_unit_test(a_pod_leaves_if_it_is_deleted_or_not_listed),
		cmocka_unit_test(
			writes_a_token_review_with_and_without_audience),
		cmocka_unit_test(reads_the_account_of_a_token),
		cmocka_unit_test(copies_extra_but_only_lists_of_texts),
		cmocka_unit_test(rejects_a_response_that_is_not_a_token_review),
		cmocka_unit_test(rejects_an_account_with_too_many_groups),
		cmocka_unit_test(leaves_out_extra_that_is_not_an_object),
		cmocka_unit_test(compares_the_node_of_an_account),
		cmocka_unit_test(finds_the_pod_in_the_namespace_of_the_account),
		cmocka_unit_test(compares_the_node_of_a_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
