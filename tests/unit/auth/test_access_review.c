#include "auth/access_review.h"

#include "auth/account.h"
#include "auth/subject_access.h"
#include "kube/config.h"
#include "tests/unit/auth/fake_kube.h"

struct verdict {
	size_t count;
	enum access_review_outcome outcome;
	struct error why;
};

static void on_verdict(void *owner, enum access_review_outcome outcome,
	const struct error *why)
{
	struct verdict *verdict = owner;

	verdict->count++;
	verdict->outcome = outcome;
	verdict->why = *why;
}

static struct access_review *new_review(void)
{
	struct kube_config config = { 0 };

	return access_review_new(NULL, &config);
}

static void end(struct access_review *review)
{
	access_review_stop(review);
	access_review_free(review);
}

static void start(struct access_review *review, struct verdict *verdict,
	enum access_review_right right, const char *token, const char *subject)
{
	*verdict = (struct verdict){ 0 };
	access_review_start(review,
		&(struct access_review_request){ .right = right,
			.token = token,
			.subject = subject,
			.done = on_verdict,
			.owner = verdict });
}

static void assert_verdict(const struct verdict *verdict,
	enum access_review_outcome outcome, const char *word)
{
	assert_int_equal(verdict->count, 1);
	assert_int_equal(verdict->outcome, outcome);
	if (strstr(verdict->why.text, word) == NULL) {
		fail_msg("'%s' lacks '%s'", verdict->why.text, word);
	}
}

static void allows_an_agent_for_its_own_node_only(void **state)
{
	struct access_review *review = new_review();
	struct verdict v;

	(void)state;
	start(review, &v, ACCESS_REVIEW_REPORT, "t", "n1");
	fake_expect("POST", FAKE_TOKENS,
		"\"token\":\"t\",\"audiences\":[\"plimsoll-aggregator\"]");
	fake_answer(201, FAKE_ACCOUNT(FAKE_NODE));
	fake_expect("POST", FAKE_ACCESS,
		"{\"path\":\"/plimsoll/reports\",\"verb\":\"create\"}");
	assert_int_equal(v.count, 0);
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, ACCESS_REVIEW_ALLOWED, "");
	/* The answer is cached, for this node and no other. */
	start(review, &v, ACCESS_REVIEW_REPORT, "t", "n1");
	assert_verdict(&v, ACCESS_REVIEW_ALLOWED, "");
	start(review, &v, ACCESS_REVIEW_REPORT, "t", "n2");
	assert_verdict(&v, ACCESS_REVIEW_WRONG_NODE, "node 'n1', not 'n2'");
	assert_int_equal(fake.sent, 2);
	/* Another right needs another review. */
	start(review, &v, ACCESS_REVIEW_SNAPSHOT, "t", NULL);
	fake_expect("POST", FAKE_ACCESS,
		"{\"path\":\"/plimsoll/snapshots\",\"verb\":\"get\"}");
	fake_answer(201, FAKE_NO);
	assert_verdict(&v, ACCESS_REVIEW_FORBIDDEN,
		"'system:serviceaccount:ns:agent' is not allowed to get "
		"/plimsoll/snapshots");
	end(review);
}

static void reads_the_pod_of_a_token_without_a_node(void **state)
{
	static const struct {
		const char *pod;
		int status;
		enum access_review_outcome outcome;
	} cases[] = {
		{ "{\"metadata\":{\"uid\":\"pu1\"},"
		  "\"spec\":{\"nodeName\":\"n1\"}}",
			200, ACCESS_REVIEW_ALLOWED },
		{ "{\"metadata\":{\"uid\":\"pu1\"},"
		  "\"spec\":{\"nodeName\":\"n2\"}}",
			200, ACCESS_REVIEW_WRONG_NODE },
		{ "{}", 404, ACCESS_REVIEW_WRONG_NODE },
		{ "{}", 403, ACCESS_REVIEW_UNREACHABLE },
		{ "{}", 200, ACCESS_REVIEW_UNREACHABLE },
		{ "", 0, ACCESS_REVIEW_UNREACHABLE },
	};
	struct access_review *review = new_review();
	struct verdict v;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		start(review, &v, ACCESS_REVIEW_REPORT, "t", "n1");
		if (i == 0) {
			fake_answer(201, FAKE_ACCOUNT(FAKE_POD));
			fake_answer(201, FAKE_YES);
		}
		fake_expect("GET", "/api/v1/namespaces/ns/pods/p1", "");
		fake_answer(cases[i].status, cases[i].pod);
		assert_verdict(&v, cases[i].outcome, "");
	}
	start(review, &v, ACCESS_REVIEW_REPORT, "unbound", "n1");
	fake_answer(201, FAKE_ACCOUNT(""));
	/* Another extra: its rights may differ. */
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, ACCESS_REVIEW_WRONG_NODE, "not bound to a pod");
	end(review);
}

static void distinguishes_a_missing_token_from_a_bad_one(void **state)
{
	struct access_review *review = new_review();
	struct verdict v;

	(void)state;
	start(review, &v, ACCESS_REVIEW_REPORT, NULL, "n1");
	assert_verdict(&v, ACCESS_REVIEW_NO_TOKEN, "token is required");
	start(review, &v, ACCESS_REVIEW_REPORT, "", "n1");
	assert_verdict(&v, ACCESS_REVIEW_NO_TOKEN, "token is required");
	start(review, &v, ACCESS_REVIEW_REPORT, "a \"b", "n1");
	assert_verdict(&v, ACCESS_REVIEW_BAD_TOKEN, "invalid characters");
	assert_int_equal(fake.sent, 0);
	start(review, &v, ACCESS_REVIEW_REPORT, "old", "n1");
	fake_answer(201, FAKE_BAD_TOKEN);
	assert_verdict(&v, ACCESS_REVIEW_BAD_TOKEN, "token has expired");
	/* Many peers with the same bad token cost one request. */
	start(review, &v, ACCESS_REVIEW_REPORT, "old", "n1");
	assert_verdict(&v, ACCESS_REVIEW_BAD_TOKEN, "token has expired");
	assert_int_equal(fake.sent, 1);
	end(review);
}

static void reviews_http_by_path_and_without_an_audience(void **state)
{
	struct access_review *review = new_review();
	struct verdict v;

	(void)state;
	start(review, &v, ACCESS_REVIEW_HTTP, "t", "/v1/nodes");
	fake_expect("POST", FAKE_TOKENS, "{\"token\":\"t\"}");
	fake_answer(201, FAKE_ACCOUNT(""));
	fake_expect("POST", FAKE_ACCESS,
		"{\"path\":\"/v1/nodes\",\"verb\":\"get\"},"
		"\"user\":\"system:serviceaccount:ns:agent\",\"uid\":\"u1\","
		"\"groups\":[\"g1\",\"g2\"],\"extra\":{}");
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, ACCESS_REVIEW_ALLOWED, "");
	/* The same token with another path costs one request. */
	start(review, &v, ACCESS_REVIEW_HTTP, "t", "/v1/vms");
	fake_expect("POST", FAKE_ACCESS, "/v1/vms");
	fake_answer(201, FAKE_NO);
	assert_verdict(&v, ACCESS_REVIEW_FORBIDDEN,
		"is not allowed to get /v1/vms");
	/* A token for the HTTP interface is reviewed again for the wire. */
	start(review, &v, ACCESS_REVIEW_SNAPSHOT, "t", NULL);
	fake_expect("POST", FAKE_TOKENS, "audiences");
	end(review);
}

static void names_the_account_that_is_allowed(void **state)
{
	struct access_review *review = new_review();
	scoped_free char *user = NULL;
	struct verdict v = { 0 };

	(void)state;
	access_review_start(review,
		&(struct access_review_request){ .right = ACCESS_REVIEW_HTTP,
			.token = "t",
			.subject = "/v1/nodes",
			.user = &user,
			.done = on_verdict,
			.owner = &v });
	fake_answer(201, FAKE_ACCOUNT(""));
	assert_null(user);
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, ACCESS_REVIEW_ALLOWED, "");
	assert_string_equal(user, "system:serviceaccount:ns:agent");
	end(review);
}

static void neither_allows_nor_refuses_without_an_answer(void **state)
{
	static const struct {
		int status;
		const char *body;
	} cases[] = { { 0, "" }, { 500, "{}" }, { 403, "{}" }, { 401, "{}" },
		{ 201, "{}" }, { 201, "no json" } };
	struct access_review *review = new_review();
	struct verdict v;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *token = xasprintf("t%zu", i);

		start(review, &v, ACCESS_REVIEW_SNAPSHOT, token, NULL);
		fake_answer(cases[i].status, cases[i].body);
		assert_verdict(&v, ACCESS_REVIEW_UNREACHABLE, "try again");
		start(review, &v, ACCESS_REVIEW_SNAPSHOT, "t", NULL);
		if (i == 0) {
			fake_answer(201, FAKE_ACCOUNT(""));
		}
		fake_answer(cases[i].status == 201 ? 503 : cases[i].status,
			cases[i].body);
		assert_verdict(&v, ACCESS_REVIEW_UNREACHABLE, "try again");
	}
	end(review);
}

static void ask_resource(struct access_review *review, struct verdict *verdict,
	const char *group, const char *resource)
{
	struct account account;

	*verdict = (struct verdict){ 0 };
	assert_int_equal(account_make(&account,
				 &(struct account_names){ .user = "jane",
					 .groups = &group,
					 .group_count = 1 },
				 NULL),
		0);
	access_review_resource(review,
		&(struct access_review_resource_request){ .account = &account,
			.access = &(struct subject_access){ .verb = "list",
				.group = "load.plimsoll.io",
				.resource = resource,
				.namespace = "ns" },
			.done = on_verdict,
			.owner = verdict });
	account_fini(&account);
}

static void reviews_a_named_account_without_a_token(void **state)
{
	struct access_review *review = new_review();
	struct verdict v;

	(void)state;
	ask_resource(review, &v, "staff", "vmloads");
	fake_expect("POST", FAKE_ACCESS,
		"\"resourceAttributes\":{\"namespace\":\"ns\",\"verb\":"
		"\"list\","
		"\"group\":\"load.plimsoll.io\",\"resource\":\"vmloads\"},"
		"\"user\":\"jane\",\"groups\":[\"staff\"]");
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, ACCESS_REVIEW_ALLOWED, "");
	ask_resource(review, &v, "staff", "vmloads");
	assert_verdict(&v, ACCESS_REVIEW_ALLOWED, "");
	assert_int_equal(fake.sent, 1);
	/* Another resource, and other groups, need reviews of their own. */
	ask_resource(review, &v, "staff", "moves");
	fake_answer(201, FAKE_NO);
	assert_verdict(&v, ACCESS_REVIEW_FORBIDDEN,
		"User \"jane\" cannot list resource \"moves\" in API group "
		"\"load.plimsoll.io\" in the namespace \"ns\"");
	ask_resource(review, &v, "staff", "moves");
	assert_verdict(&v, ACCESS_REVIEW_FORBIDDEN, "\"moves\"");
	assert_int_equal(fake.sent, 2);
	ask_resource(review, &v, "guests", "vmloads");
	fake_answer(500, "{}");
	assert_verdict(&v, ACCESS_REVIEW_UNREACHABLE,
		"cannot review the access, try again");
	ask_resource(review, &v, "guests", "vmloads");
	fake_answer(201, "{}");
	assert_verdict(&v, ACCESS_REVIEW_UNREACHABLE, "try again");
	end(review);
}

static void stopping_ends_open_requests(void **state)
{
	struct access_review *review = new_review();
	struct verdict v;

	(void)state;
	start(review, &v, ACCESS_REVIEW_REPORT, "t", "n1");
	assert_int_equal(v.count, 0);
	access_review_stop(review);
	assert_verdict(&v, ACCESS_REVIEW_UNREACHABLE, "shutting down");
	start(review, &v, ACCESS_REVIEW_REPORT, "t", "n1");
	assert_verdict(&v, ACCESS_REVIEW_UNREACHABLE, "shutting down");
	access_review_free(review);
}

#define test(name) cmocka_unit_test_setup(name, fake_setup)

static void on_leaves(void *owner, bool leaves)
{
	int *answer = owner;

	*answer = leaves;
}

/* The pod of an agent whose token was allowed, and whether it is going. */
static void another_agent_learns_whether_the_pod_leaves(void **state)
{
	static const struct {
		int status;
		const char *body;
		bool leaves;
	} cases[] = {
		{ 200, "{\"items\":[]}", true },
		{ 200, "{\"items\":[{\"metadata\":{\"uid\":\"pu1\"}}]}",
			false },
		{ 200, "{\"items\":[{\"metadata\":{\"uid\":\"pu2\"}}]}", true },
		{ 200, "{}", false },
		{ 403, "{\"items\":[]}", false },
		{ 0, "", false },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct access_review *review = new_review();
		struct access_review_pod pod = { "?", "?" };
		struct verdict v = { 0 };
		int answer = -1;

		access_review_start(review,
			&(struct access_review_request){
				.right = ACCESS_REVIEW_REPORT,
				.token = "t",
				.subject = "n1",
				.pod = &pod,
				.done = on_verdict,
				.owner = &v });
		fake_answer(201, FAKE_ACCOUNT(FAKE_NODE "," FAKE_POD));
		fake_answer(201, FAKE_YES);
		assert_verdict(&v, ACCESS_REVIEW_ALLOWED, "");
		assert_string_equal(pod.path, "/api/v1/namespaces/ns/pods/p1");
		assert_string_equal(pod.uid, "pu1");
		access_review_pod_leaves(review, &pod, on_leaves, &answer);
		fake_expect("GET",
			"/api/v1/namespaces/ns/pods?fieldSelector="
			"metadata.name%3Dp1",
			"");
		assert_int_equal(answer, -1);
		fake_answer(cases[i].status, cases[i].body);
		assert_int_equal(answer, cases[i].leaves);
		end(review);
	}
}

static void a_token_without_a_pod_has_none(void **state)
{
	struct access_review *review = new_review();
	struct access_review_pod pod = { "?", "?" };
	struct verdict v = { 0 };

	(void)state;
	access_review_start(review,
		&(struct access_review_request){ .right = ACCESS_REVIEW_REPORT,
			.token = "t",
			.subject = "n1",
			.pod = &pod,
			.done = on_verdict,
			.owner = &v });
	fake_answer(201, FAKE_ACCOUNT(FAKE_NODE));
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, ACCESS_REVIEW_ALLOWED, "");
	assert_string_equal(pod.path, "");
	assert_string_equal(pod.uid, "");
	end(review);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(allows_an_agent_for_its_own_node_only),
		test(reads_the_pod_of_a_token_without_a_node),
		test(distinguishes_a_missing_token_from_a_bad_one),
		test(reviews_http_by_path_and_without_an_audience),
		test(names_the_account_that_is_allowed),
		test(neither_allows_nor_refuses_without_an_answer),
		test(reviews_a_named_account_without_a_token),
		test(stopping_ends_open_requests),
		test(another_agent_learns_whether_the_pod_leaves),
		test(a_token_without_a_pod_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
