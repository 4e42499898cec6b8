#include "auth/subject_access.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

#define REVIEW                                                                 \
	"{\"apiVersion\":\"authorization.k8s.io/v1\","                         \
	"\"kind\":\"SubjectAccessReview\",\"spec\":{"

static void assert_body(const struct account *account,
	const struct subject_access *access, const char *expected)
{
	scoped_buffer struct buffer out = BUFFER_MAX(10000);

	subject_access_write(&out, account, access);
	assert_string_equal(out.data, expected);
}

static struct account jane(void)
{
	static const char *const groups[] = { "staff", "ops" };
	static const struct account_extra extra[] = { { "k", "v" } };
	struct account account;

	assert_int_equal(account_make(&account,
				 &(struct account_names){ .user = "jane",
					 .uid = "u-1",
					 .groups = groups,
					 .group_count = count_of(groups),
					 .extra = extra,
					 .extra_count = count_of(extra) },
				 NULL),
		0);
	return account;
}

static void writes_the_account_and_what_is_asked(void **state)
{
	struct account account = jane();

	(void)state;
	assert_body(&account,
		&(struct subject_access){ .verb = "get", .path = "/v1/a\"b" },
		REVIEW
		"\"nonResourceAttributes\":{\"path\":\"/v1/a\\\"b\","
		"\"verb\":\"get\"},\"user\":\"jane\",\"uid\":\"u-1\","
		"\"groups\":[\"staff\",\"ops\"],"
		"\"extra\":{\"k\":[\"v\"]}}}");
	assert_body(&account,
		&(struct subject_access){ .verb = "get",
			.group = "load.plimsoll.io",
			.version = "v1alpha1",
			.resource = "vmloads",
			.subresource = "history",
			.namespace = "ns",
			.name = "vm-1" },
		REVIEW
		"\"resourceAttributes\":{\"namespace\":\"ns\","
		"\"verb\":\"get\",\"group\":\"load.plimsoll.io\","
		"\"version\":\"v1alpha1\",\"resource\":\"vmloads\","
		"\"subresource\":\"history\",\"name\":\"vm-1\"},"
		"\"user\":\"jane\",\"uid\":\"u-1\","
		"\"groups\":[\"staff\",\"ops\"],"
		"\"extra\":{\"k\":[\"v\"]}}}");
	account_fini(&account);
}

static void leaves_out_what_is_not_given(void **state)
{
	struct account account = jane();

	(void)state;
	assert_body(&account,
		&(struct subject_access){ .verb = "list",
			.group = "load.plimsoll.io",
			.resource = "nodeloads",
			.namespace = "" },
		REVIEW
		"\"resourceAttributes\":{\"verb\":\"list\","
		"\"group\":\"load.plimsoll.io\","
		"\"resource\":\"nodeloads\"},"
		"\"user\":\"jane\",\"uid\":\"u-1\","
		"\"groups\":[\"staff\",\"ops\"],"
		"\"extra\":{\"k\":[\"v\"]}}}");
	account_fini(&account);
}

static void reads_whether_access_is_allowed(void **state)
{
	static const struct {
		const char *body;
		bool is_allowed;
		int code;
	} cases[] = {
		{ "{\"status\":{\"allowed\":true}}", true, 0 },
		{ "{\"status\":{\"allowed\":false}}", false, 0 },
		{ "{\"status\":{}}", false, 0 },
		{ "{\"status\":{\"allowed\":\"true\"}}", false, 0 },
		{ "{\"status\":{\"allowed\":true,\"denied\":true}}", false, 0 },
		{ "{\"spec\":{\"allowed\":true}}", false, -EBADMSG },
		{ "nonsense", false, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		bool is_allowed = false;

		assert_int_equal(subject_access_read(&is_allowed, cases[i].body,
					 strlen(cases[i].body), NULL),
			cases[i].code);
		assert_int_equal(is_allowed, cases[i].is_allowed);
	}
}

static void refuses_in_the_words_of_kube_apiserver(void **state)
{
	static const struct {
		struct subject_access access;
		const char *sentence;
	} cases[] = {
		{ { .verb = "list",
			  .group = "load.plimsoll.io",
			  .resource = "vmloads",
			  .namespace = "ns" },
			"User \"jane\" cannot list resource \"vmloads\" in API "
			"group \"load.plimsoll.io\" in the namespace \"ns\"" },
		{ { .verb = "get",
			  .group = "load.plimsoll.io",
			  .resource = "nodeloads",
			  .subresource = "history",
			  .namespace = "",
			  .name = "n1" },
			"User \"jane\" cannot get resource "
			"\"nodeloads/history\" in API group "
			"\"load.plimsoll.io\" at the cluster scope" },
		{ { .verb = "list", .resource = "pods" },
			"User \"jane\" cannot list resource \"pods\" in API "
			"group \"\" at the cluster scope" },
		{ { .verb = "get", .path = "/x" },
			"'jane' is not allowed to get /x" },
	};
	struct account account = jane();

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct error err = { 0 };

		subject_access_refuse(&err, &account, &cases[i].access);
		assert_int_equal(err.code, -EACCES);
		assert_string_equal(err.text, cases[i].sentence);
	}
	account_fini(&account);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_account_and_what_is_asked),
		cmocka_unit_test(leaves_out_what_is_not_given),
		cmocka_unit_test(reads_whether_access_is_allowed),
		cmocka_unit_test(refuses_in_the_words_of_kube_apiserver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
