#include "kubectl/api_client.h"

#include "kube/json_value.h"
#include "kubectl/call.h"
#include "lib/files.h"
#include "tests/support/fake_kubectl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES "/api/v1/nodes"
#define NO_RESOURCE                                                            \
	"Error from server (NotFound): the server could not find the "         \
	"requested resource\n"
#define NO_SERVICE                                                             \
	"Error from server (ServiceUnavailable): the server is currently "     \
	"unable to handle the request\n"

static const char *pod_namespace; /* that a pod's account has, or NULL */

int __wrap_file_read_at(char *out, size_t size, int dir, const char *name,
	struct error *err);
int __wrap_file_read_at(char *out, size_t size, int dir, const char *name,
	struct error *err)
{
	assert_int_equal(dir, -1);
	assert_string_equal(name,
		"/var/run/secrets/kubernetes.io/serviceaccount/namespace");
	if (pod_namespace == NULL) {
		return error_set(err, -ENOENT, "no such file");
	}
	return snprintf(out, size, "%s", pod_namespace);
}

static int setup(void **state)
{
	pod_namespace = NULL;
	(void)unsetenv("POD_NAMESPACE");
	return plugin_setup(state);
}

#define api_client_test(test)                                                  \
	cmocka_unit_test_setup_teardown(test, setup, plugin_teardown)

static void use_context(char *flag)
{
	plugin.flags.globals[0] = flag;
	plugin.flags.global_count = 1;
}

static void global_flags_follow_the_arguments(void **state)
{
	static char as[] = "--as=x", context[] = "--context=y";
	const char *all[API_CLIENT_ARGUMENTS_MAX + FLAGS_GLOBAL_MAX + 1];

	(void)state;
	memset(all, '?', sizeof(all));
	plugin.flags.globals[0] = as;
	plugin.flags.globals[1] = context;
	plugin.flags.global_count = 2;
	api_client_arguments(all, &plugin.client,
		(const char *const[]){ "get", "pods", NULL });
	assert_string_equal(all[0], "get");
	assert_string_equal(all[1], "pods");
	assert_string_equal(all[2], "--as=x");
	assert_string_equal(all[3], "--context=y");
	assert_null(all[4]);
}

static void arguments_beyond_the_room_are_left_out(void **state)
{
	static char as[] = "--as=x";
	const char *many[API_CLIENT_ARGUMENTS_MAX + 2] = { NULL };
	const char *all[API_CLIENT_ARGUMENTS_MAX + FLAGS_GLOBAL_MAX + 1];

	(void)state;
	for (size_t i = 0; i <= API_CLIENT_ARGUMENTS_MAX; i++) {
		many[i] = "x";
	}
	use_context(as);
	api_client_arguments(all, &plugin.client, many);
	assert_string_equal(all[API_CLIENT_ARGUMENTS_MAX - 1], "x");
	assert_ptr_equal(all[API_CLIENT_ARGUMENTS_MAX], as);
	assert_null(all[API_CLIENT_ARGUMENTS_MAX + 1]);
}

static void what_kubectl_gets_and_writes_is_passed_on(void **state)
{
	static const char *const apply[] = { "apply", "-f", "-", NULL };
	static const struct exchange calls[] = {
		{ .call = "apply -f - --context=y < text", .out = "done\n" },
		{ .call = "apply -f - --context=y", .out = "unread" },
	};
	static char context[] = "--context=y";
	scoped_buffer struct buffer out = { 0 };

	(void)state;
	use_context(context);
	given(calls);
	assert_int_equal(
		api_client_run(&out, &plugin.client, apply, "text", NULL), 0);
	assert_string_equal(out.data, "done\n");
	assert_int_equal(
		api_client_run(NULL, &plugin.client, apply, NULL, NULL), 0);
}

static void objects_are_got_and_posted_at_a_path(void **state)
{
	static const struct exchange calls[] = {
		{ .call = "get --raw " NODES, .out = "{\"a\":1}" },
		{ .call = "create --raw " NODES " -f - < {\"b\":2}",
			.out = "{\"b\":3}" },
	};
	struct json_value *got = NULL, *posted = NULL;
	struct error err = { 0 };
	double number = 0;

	(void)state;
	given(calls);
	assert_int_equal(api_client_get(&got, &plugin.client, NODES, &err), 0);
	assert_string_equal(err.text, "");
	assert_true(json_value_number(&number, json_value_get(got, "a")));
	assert_true(number == 1);
	assert_int_equal(api_client_post(&posted, &plugin.client, NODES,
				 "{\"b\":2}", NULL),
		0);
	assert_true(json_value_number(&number, json_value_get(posted, "b")));
	assert_true(number == 3);
	json_value_free(got);
	json_value_free(posted);
}

static void an_answer_that_is_no_json_names_its_path(void **state)
{
	static const char *const answers[] = { "<html>", NULL };

	(void)state;
	for (size_t i = 0; i < count_of(answers); i++) {
		const struct exchange calls[] = {
			{ .call = "get --raw " NODES, .out = answers[i] },
		};
		struct json_value *out = NULL;
		struct error err = { 0 };

		given(calls);
		assert_int_equal(
			api_client_get(&out, &plugin.client, NODES, &err),
			-EBADMSG);
		assert_null(out);
		assert_ptr_equal(strstr(err.text, "the answer to " NODES ": "),
			err.text);
	}
}

static void a_failure_has_a_code_by_kubectls_words(void **state)
{
	static const struct {
		const char *complaint;
		int code;
	} cases[] = {
		{ NOT_FOUND, -ENOENT },
		{ FORBIDDEN, -EACCES },
		{ "Warning: old\n" NOT_FOUND, -ENOENT },
		{ "Warning: old\nWarning: older\n" FORBIDDEN, -EACCES },
		{ "Warning: about " NOT_FOUND, -EREMOTEIO },
		{ "Warning: about\n", -EREMOTEIO },
		{ "", -EREMOTEIO },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct exchange calls[] = {
			{ .call = "get --raw " NODES,
				.complaint = cases[i].complaint,
				.status = 3 },
		};
		struct json_value *out = NULL;
		struct error err = { 0 };

		given(calls);
		assert_int_equal(
			api_client_get(&out, &plugin.client, NODES, &err),
			cases[i].code);
		assert_null(out);
		assert_string_equal(err.text, "kubectl ended with status 3");
		assert_int_equal(plugin.client.status, 3);
		assert_complaint(cases[i].complaint);
		assert_false(plugin.client.is_reported);
	}
}

/* The same order may succeed later after another failure. */
static void a_refusal_is_a_word_of_the_api_server(void **state)
{
	static const struct {
		const char *complaint;
		bool is_refused;
	} cases[] = {
		{ FORBIDDEN, true },
		{ "Warning: old\n" FORBIDDEN, true },
		{ "The Node \"a\" is invalid: spec: no\n", true },
		{ "The connection to the server a:6443 was refused - did you "
		  "specify the right host or port?\n",
			false },
		{ "error: the path \"The \" is invalid\n", false },
		{ "Unable to connect to the server: EOF\n", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct exchange calls[] = {
			{ .call = "get --raw " NODES,
				.complaint = cases[i].complaint,
				.status = 1 },
		};
		struct json_value *out = NULL;

		given(calls);
		assert_true(
			api_client_get(&out, &plugin.client, NODES, NULL) < 0);
		assert_int_equal(api_client_is_refused(&plugin.client),
			cases[i].is_refused);
	}
}

static void a_failure_keeps_no_output(void **state)
{
	static const char *const get[] = { "get", NULL };
	static const struct exchange calls[] = {
		{ .call = "get", .out = "half", .status = 1 },
	};
	struct buffer out = { 0 };

	(void)state;
	given(calls);
	assert_int_equal(api_client_run(&out, &plugin.client, get, NULL, NULL),
		-EREMOTEIO);
	assert_null(out.data);
}

static void the_next_call_forgets_a_failure(void **state)
{
	static const char *const get[] = { "get", NULL };
	static const struct exchange calls[] = {
		{ .call = "(shown) get", .complaint = "no\n", .status = 1 },
		{ .call = "get" },
	};

	(void)state;
	given(calls);
	assert_int_equal(api_client_show(&plugin.client, get, NULL),
		-EREMOTEIO);
	assert_true(plugin.client.is_reported);
	assert_int_equal(api_client_run(NULL, &plugin.client, get, NULL, NULL),
		0);
	assert_complaint("");
	assert_int_equal(plugin.client.status, 0);
	assert_false(plugin.client.is_reported);
}

static void a_kubectl_that_cannot_run_has_no_status(void **state)
{
	static const char *const get[] = { "get", NULL };
	static const struct exchange calls[] = {
		{ .call = "get", .error = -ENOENT },
		{ .call = "(shown) get", .error = -ENOENT },
	};
	struct error err = { 0 };

	(void)state;
	given(calls);
	assert_int_equal(api_client_run(NULL, &plugin.client, get, NULL, &err),
		-ENOENT);
	assert_string_equal(err.text, "kubectl does not run");
	assert_int_equal(plugin.client.status, 0);
	assert_int_equal(api_client_show(&plugin.client, get, NULL), -ENOENT);
	assert_false(plugin.client.is_reported);
}

static void shown_calls_that_succeed_told_nothing(void **state)
{
	static const char *const cordon[] = { "cordon", "n1", NULL };
	static const struct exchange calls[] = {
		{ .call = "(shown) cordon n1" },
	};

	(void)state;
	given(calls);
	assert_int_equal(api_client_show(&plugin.client, cordon, NULL), 0);
	assert_false(plugin.client.is_reported);
}

static void warnings_of_a_success_are_shown(void **state)
{
	static const char *const get[] = { "get", NULL };
	static const struct exchange calls[] = {
		{ .call = "get", .complaint = "Warning: old\n" },
		{ .call = "get", .complaint = "!" },
	};

	(void)state;
	given(calls);
	assert_int_equal(api_client_run(NULL, &plugin.client, get, NULL, NULL),
		0);
	assert_said("! Warning: old\n");
	assert_int_equal(api_client_run(NULL, &plugin.client, get, NULL, NULL),
		0);
	assert_said("! !");
	assert_complaint("");
}

/* Gets a path and checks what the plugin then says of kubectl's complaint. */
static void explains(const char *path, const char *complaint, const char *text)
{
	scoped_free char *call = xasprintf("get --raw %s", path);
	const struct exchange calls[] = {
		{ .call = call, .complaint = complaint, .status = 1 },
	};
	struct json_value *out = NULL;

	given(calls);
	assert_true(api_client_get(&out, &plugin.client, path, NULL) < 0);
	assert_complaint(text);
}

static void an_api_that_is_not_served_is_explained(void **state)
{
	static const char no_plimsoll[] =
		"error: this cluster does not serve load.plimsoll.io/v1alpha1: "
		"an administrator has to apply deploy/overlays/kubectl, or to "
		"set kubectl.enabled of the chart\n";
	static const char no_kubevirt[] =
		"error: this cluster does not serve kubevirt.io/v1: KubeVirt "
		"is not installed\n";

	(void)state;
	explains(LOAD_API "/nodes", NO_RESOURCE, no_plimsoll);
	explains(LOAD_API "/nodes", "Warning: w\n" NO_RESOURCE, no_plimsoll);
	explains(LOAD_API "/nodes", NO_SERVICE,
		NO_SERVICE
		"plimsoll's API is registered but does not answer: see kubectl "
		"describe apiservice v1alpha1.load.plimsoll.io\n");
	explains(KUBEVIRT_API "/x", NO_RESOURCE, no_kubevirt);
}

static void the_longest_complaint_leaves_room_for_the_explanation(void **state)
{
	scoped_free char *complaint = xcalloc(CALL_COMPLAINT_MAX + 1, 1);
	const struct exchange calls[] = {
		{ .call = "get --raw " LOAD_API "/nodes",
			.complaint = complaint,
			.status = 1 },
	};
	struct json_value *out = NULL;
	const struct buffer *text = &plugin.client.complaint;

	(void)state;
	memset(complaint, 'x', CALL_COMPLAINT_MAX);
	memcpy(complaint, NO_SERVICE, sizeof(NO_SERVICE) - 1);
	given(calls);
	assert_true(api_client_get(&out, &plugin.client, LOAD_API "/nodes",
			    NULL) < 0);
	assert_true(text->len > CALL_COMPLAINT_MAX);
	assert_non_null(strstr(text->data, "is registered"));
}

static void other_failures_are_left_as_kubectl_told_them(void **state)
{
	(void)state;
	explains(LOAD_API "/nodes", NOT_FOUND, NOT_FOUND);
	explains(KUBEVIRT_API "/x", NOT_FOUND, NOT_FOUND);
	explains(KUBEVIRT_API "/x", NO_SERVICE, NO_SERVICE);
	explains(NODES, NO_RESOURCE, NO_RESOURCE);
	explains(NODES, NO_SERVICE, NO_SERVICE);
}

/* ---- lists ---- */

static void put_name(void *owner, const struct json_value *object)
{
	if (object == NULL) {
		buffer_clear(owner);
		return;
	}
	buffer_printf(owner, "%s,", json_value_text(object));
}

static int list(struct buffer *names, const char *path, struct error *err)
{
	buffer_clear(names);
	return api_client_list(&plugin.client, path, put_name, names, err);
}

#define FIRST_PAGE                                                             \
	"{\"metadata\":{\"continue\":\"a b\"},\"items\":[\"x\",\"y\"]}"

static void a_list_has_the_objects_of_all_pages(void **state)
{
	static const struct exchange calls[] = {
		{ .call = "get --raw " NODES "?limit=2000", .out = FIRST_PAGE },
		{ .call = "get --raw " NODES "?limit=2000&continue=a%20b",
			.out = "{\"metadata\":{\"continue\":\"c\"}}" },
		{ .call = "get --raw " NODES "?limit=2000&continue=c",
			.out = "{\"metadata\":{},\"items\":[\"z\"]}" },
	};
	scoped_buffer struct buffer names = BUFFER_MAX(100);

	(void)state;
	given(calls);
	assert_int_equal(list(&names, NODES, NULL), 0);
	assert_string_equal(names.data, "x,y,z,");
}

static void a_list_keeps_the_query_of_its_path(void **state)
{
	static const struct exchange calls[] = {
		{ .call = "get --raw " NODES "?a=b&limit=2000",
			.out = "{\"items\":[\"x\"]}" },
	};
	scoped_buffer struct buffer names = BUFFER_MAX(100);

	(void)state;
	given(calls);
	assert_int_equal(list(&names, NODES "?a=b", NULL), 0);
	assert_string_equal(names.data, "x,");
}

static void a_page_that_fails_ends_the_list(void **state)
{
	static const struct exchange calls[] = {
		{ .call = "get --raw " LOAD_API "/nodes?limit=2000",
			.out = FIRST_PAGE },
		{ .call = "get --raw " LOAD_API
			  "/nodes?limit=2000&continue=a%20b",
			.complaint = NO_SERVICE,
			.status = 1 },
	};
	scoped_buffer struct buffer names = BUFFER_MAX(100);
	struct error err = { 0 };

	(void)state;
	given(calls);
	assert_int_equal(list(&names, LOAD_API "/nodes", &err), -EREMOTEIO);
	assert_string_equal(err.text, "kubectl ended with status 1");
	assert_string_equal(names.data, "x,y,");
	assert_non_null(
		strstr(plugin.client.complaint.data, "does not answer"));
}

#define EXPIRED                                                                \
	"Error from server (Expired): The provided continue parameter is too " \
	"old\n"
#define EXPIRES                                                                \
	{ .call = "get --raw " NODES "?limit=2000", .out = FIRST_PAGE },       \
	{                                                                      \
		.call = "get --raw " NODES "?limit=2000&continue=a%20b",       \
		.complaint = EXPIRED, .status = 1                              \
	}

static void a_list_whose_token_expired_begins_again(void **state)
{
	static const struct exchange calls[] = {
		EXPIRES,
		{ .call = "get --raw " NODES "?limit=2000", .out = FIRST_PAGE },
		{ .call = "get --raw " NODES "?limit=2000&continue=a%20b",
			.complaint = "Warning: old\nError from server (Gone): "
				     "too old\n",
			.status = 1 },
		{ .call = "get --raw " NODES "?limit=2000",
			.out = "{\"items\":[\"z\"]}" },
	};
	scoped_buffer struct buffer names = BUFFER_MAX(100);

	(void)state;
	given(calls);
	assert_int_equal(list(&names, NODES, NULL), 0);
	assert_string_equal(names.data, "z,");
	assert_complaint("");
	assert_int_equal(plugin.client.status, 0);
}

static void a_list_that_always_expires_ends(void **state)
{
	static const struct exchange calls[] = { EXPIRES, EXPIRES, EXPIRES,
		EXPIRES };
	scoped_buffer struct buffer names = BUFFER_MAX(100);

	(void)state;
	given(calls);
	assert_int_equal(list(&names, NODES, NULL), -EREMOTEIO);
	assert_complaint(EXPIRED);
}

/* Without a token there is nothing to begin again. */
static void a_first_page_that_expired_ends_the_list(void **state)
{
	static const struct exchange calls[] = {
		{ .call = "get --raw " NODES "?limit=2000",
			.complaint = EXPIRED,
			.status = 1 },
	};
	scoped_buffer struct buffer names = BUFFER_MAX(100);

	(void)state;
	given(calls);
	assert_int_equal(list(&names, NODES, NULL), -EREMOTEIO);
	assert_complaint(EXPIRED);
}

static void a_page_that_is_no_json_ends_the_list(void **state)
{
	static const struct exchange calls[] = {
		{ .call = "get --raw " NODES "?limit=2000" },
	};
	scoped_buffer struct buffer names = BUFFER_MAX(100);
	struct error err = { 0 };

	(void)state;
	given(calls);
	assert_int_equal(list(&names, NODES, &err), -EBADMSG);
	assert_ptr_equal(
		strstr(err.text, "the answer to " NODES "?limit=2000: "),
		err.text);
}

static void a_list_that_repeats_a_page_ends(void **state)
{
	static const struct exchange calls[] = {
		{ .call = "get --raw " NODES "?limit=2000", .out = FIRST_PAGE },
		{ .call = "get --raw " NODES "?limit=2000&continue=a%20b",
			.out = FIRST_PAGE },
	};
	scoped_buffer struct buffer names = BUFFER_MAX(100);
	struct error err = { 0 };

	(void)state;
	given(calls);
	assert_int_equal(list(&names, NODES, &err), -EBADMSG);
	assert_string_equal(err.text, "the list does not go on");
}

static void all_pages_together_have_a_limit(void **state)
{
	static const struct exchange calls[] = {
		{ .call = "get --raw " NODES "?limit=2000", .out = FIRST_PAGE },
		{ .call = "get --raw " NODES "?limit=2000&continue=a%20b",
			.out = FIRST_PAGE,
			.claims =
				API_CLIENT_LIST_MAX - sizeof(FIRST_PAGE) + 2 },
	};
	scoped_buffer struct buffer names = BUFFER_MAX(100);
	struct error err = { 0 };

	(void)state;
	given(calls);
	assert_int_equal(list(&names, NODES, &err), -EFBIG);
	assert_string_equal(err.text, "a list of more than 256 MiB");
	assert_string_equal(names.data, "x,y,");
}

static void a_path_that_is_too_long_is_not_asked_for(void **state)
{
	enum { LONG = 20000 };
	scoped_free char *path = xcalloc(LONG, 1);
	scoped_buffer struct buffer names = BUFFER_MAX(100);
	struct error err = { 0 };

	(void)state;
	memset(path, 'x', LONG - 1);
	assert_int_equal(list(&names, path, &err), -E2BIG);
	assert_string_equal(err.text, "the path is too long");
}

/* ---- the namespace ---- */

#define ASK_NAMESPACE "config view --minify -o jsonpath={..namespace}"

static void the_namespace_is_that_of_the_flag(void **state)
{
	(void)state;
	plugin.flags.namespace = "given";
	api_client_use_namespace(&plugin.client, "other");
	assert_string_equal(api_client_namespace(&plugin.client), "given");
}

static void the_namespace_is_asked_for_once(void **state)
{
	static const struct exchange calls[] = {
		{ .call = ASK_NAMESPACE, .out = "vms" },
	};

	(void)state;
	(void)setenv("POD_NAMESPACE", "pod", 1);
	given(calls);
	assert_string_equal(api_client_namespace(&plugin.client), "vms");
	assert_string_equal(api_client_namespace(&plugin.client), "vms");
	api_client_use_namespace(&plugin.client, "other");
	assert_string_equal(api_client_namespace(&plugin.client), "other");
}

static void a_context_without_a_namespace_means_default(void **state)
{
	static const char *const answers[] = { NULL, "no name\n" };

	(void)state;
	(void)setenv("POD_NAMESPACE", "pod", 1);
	pod_namespace = "account";
	for (size_t i = 0; i < count_of(answers); i++) {
		const struct exchange calls[] = {
			{ .call = ASK_NAMESPACE, .out = answers[i] },
		};

		given(calls);
		assert_string_equal(api_client_namespace(&plugin.client),
			"default");
		free(take_ptr(plugin.client.namespace));
	}
}

static void in_a_pod_the_namespace_is_the_pods(void **state)
{
	static const struct {
		const char *from_env, *account, *namespace;
	} cases[] = {
		{ "pod", "account", "pod" },
		{ "no name", "account", "account" },
		{ NULL, "account", "account" },
		{ NULL, "a", "a" },
		{ NULL, "no name", "default" },
		{ NULL, "", "default" },
		{ NULL, NULL, "default" },
	};
	static const struct exchange calls[] = {
		{ .call = ASK_NAMESPACE, .complaint = "no\n", .status = 1 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		(void)unsetenv("POD_NAMESPACE");
		if (cases[i].from_env != NULL) {
			(void)setenv("POD_NAMESPACE", cases[i].from_env, 1);
		}
		pod_namespace = cases[i].account;
		given(calls);
		assert_string_equal(api_client_namespace(&plugin.client),
			cases[i].namespace);
		assert_complaint("");
		assert_int_equal(plugin.client.status, 0);
		free(take_ptr(plugin.client.namespace));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		api_client_test(global_flags_follow_the_arguments),
		api_client_test(arguments_beyond_the_room_are_left_out),
		api_client_test(what_kubectl_gets_and_writes_is_passed_on),
		api_client_test(objects_are_got_and_posted_at_a_path),
		api_client_test(an_answer_that_is_no_json_names_its_path),
		api_client_test(a_failure_has_a_code_by_kubectls_words),
		api_client_test(a_refusal_is_a_word_of_the_api_server),
		api_client_test(a_failure_keeps_no_output),
		api_client_test(the_next_call_forgets_a_failure),
		api_client_test(a_kubectl_that_cannot_run_has_no_status),
		api_client_test(shown_calls_that_succeed_told_nothing),
		api_client_test(warnings_of_a_success_are_shown),
		api_client_test(an_api_that_is_not_served_is_explained),
		api_client_test(
			the_longest_complaint_leaves_room_for_the_explanation),
		api_client_test(other_failures_are_left_as_kubectl_told_them),
		api_client_test(a_list_has_the_objects_of_all_pages),
		api_client_test(a_list_keeps_the_query_of_its_path),
		api_client_test(a_page_that_fails_ends_the_list),
		api_client_test(a_list_whose_token_expired_begins_again),
		api_client_test(a_list_that_always_expires_ends),
		api_client_test(a_first_page_that_expired_ends_the_list),
		api_client_test(a_page_that_is_no_json_ends_the_list),
		api_client_test(a_list_that_repeats_a_page_ends),
		api_client_test(all_pages_together_have_a_limit),
		api_client_test(a_path_that_is_too_long_is_not_asked_for),
		api_client_test(the_namespace_is_that_of_the_flag),
		api_client_test(the_namespace_is_asked_for_once),
		api_client_test(a_context_without_a_namespace_means_default),
		api_client_test(in_a_pod_the_namespace_is_the_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
