#include "aggregator/auth/access_review.h"

#include "kube/config.h"
#include "tests/unit/aggregator/fake_kube.h"

struct verdict {
	size_t count;
	enum review_outcome outcome;
	struct error why;
};

static void on_verdict(void *owner, enum review_outcome outcome,
	const struct error *why)
{
	struct verdict *verdict = owner;

	verdict->count++;
	verdict->outcome = outcome;
	verdict->why = *why;
}

static struct review *new_review(void)
{
	struct kube_config config = { 0 };

	return review_new(NULL, &config);
}

static void end(struct review *review)
{
	review_stop(review);
	review_free(review);
}

static void ask(struct review *review, struct verdict *verdict,
	enum review_right right, const char *token, const char *subject)
{
	*verdict = (struct verdict){ 0 };
	review_ask(review,
		&(struct review_question){ .right = right,
			.token = token,
			.subject = subject,
			.done = on_verdict,
			.owner = verdict });
}

static void assert_verdict(const struct verdict *verdict,
	enum review_outcome outcome, const char *word)
{
	assert_int_equal(verdict->count, 1);
	assert_int_equal(verdict->outcome, outcome);
	if (strstr(verdict->why.text, word) == NULL) {
		fail_msg("'%s' lacks '%s'", verdict->why.text, word);
	}
}

static void an_agent_is_let_in_for_its_own_node(void **state)
{
	struct review *review = new_review();
	struct verdict v;

	(void)state;
	ask(review, &v, REVIEW_REPORT, "t", "n1");
	fake_expect("POST", FAKE_TOKENS,
		"\"token\":\"t\",\"audiences\":[\"plimsoll-aggregator\"]");
	fake_answer(201, FAKE_ACCOUNT(FAKE_NODE));
	fake_expect("POST", FAKE_ACCESS,
		"{\"path\":\"/plimsoll/reports\",\"verb\":\"create\"}");
	assert_int_equal(v.count, 0);
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, REVIEW_ALLOWED, "");
	/* Known for a while, for this node and no other. */
	ask(review, &v, REVIEW_REPORT, "t", "n1");
	assert_verdict(&v, REVIEW_ALLOWED, "");
	ask(review, &v, REVIEW_REPORT, "t", "n2");
	assert_verdict(&v, REVIEW_WRONG_NODE, "node 'n1', not 'n2'");
	assert_int_equal(fake.sent, 2);
	/* What it may do is another question. */
	ask(review, &v, REVIEW_SNAPSHOT, "t", NULL);
	fake_expect("POST", FAKE_ACCESS,
		"{\"path\":\"/plimsoll/snapshots\",\"verb\":\"get\"}");
	fake_answer(201, FAKE_NO);
	assert_verdict(&v, REVIEW_FORBIDDEN,
		"'system:serviceaccount:ns:agent' may not get "
		"/plimsoll/snapshots");
	end(review);
}

static void without_a_node_in_the_token_its_pod_is_asked(void **state)
{
	static const struct {
		const char *pod;
		int status;
		enum review_outcome outcome;
	} cases[] = {
		{ "{\"metadata\":{\"uid\":\"pu1\"},"
		  "\"spec\":{\"nodeName\":\"n1\"}}",
			200, REVIEW_ALLOWED },
		{ "{\"metadata\":{\"uid\":\"pu1\"},"
		  "\"spec\":{\"nodeName\":\"n2\"}}",
			200, REVIEW_WRONG_NODE },
		{ "{}", 404, REVIEW_WRONG_NODE },
		{ "{}", 403, REVIEW_UNREACHABLE },
		{ "{}", 200, REVIEW_UNREACHABLE },
		{ "", 0, REVIEW_UNREACHABLE },
	};
	struct review *review = new_review();
	struct verdict v;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		ask(review, &v, REVIEW_REPORT, "t", "n1");
		if (i == 0) {
			fake_answer(201, FAKE_ACCOUNT(FAKE_POD));
			fake_answer(201, FAKE_YES);
		}
		fake_expect("GET", "/api/v1/namespaces/ns/pods/p1", "");
		fake_answer(cases[i].status, cases[i].pod);
		assert_verdict(&v, cases[i].outcome, "");
	}
	ask(review, &v, REVIEW_REPORT, "unbound", "n1");
	fake_answer(201, FAKE_ACCOUNT(""));
	/* Another extra: it might be allowed something else. */
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, REVIEW_WRONG_NODE, "bound to no pod");
	end(review);
}

static void no_token_and_no_good_token_are_told_apart(void **state)
{
	struct review *review = new_review();
	struct verdict v;

	(void)state;
	ask(review, &v, REVIEW_REPORT, NULL, "n1");
	assert_verdict(&v, REVIEW_NO_TOKEN, "no token");
	ask(review, &v, REVIEW_REPORT, "", "n1");
	assert_verdict(&v, REVIEW_NO_TOKEN, "no token");
	ask(review, &v, REVIEW_REPORT, "a \"b", "n1");
	assert_verdict(&v, REVIEW_BAD_TOKEN, "what no token does");
	assert_int_equal(fake.sent, 0);
	ask(review, &v, REVIEW_REPORT, "old", "n1");
	fake_answer(201, FAKE_BAD_TOKEN);
	assert_verdict(&v, REVIEW_BAD_TOKEN, "token has expired");
	/* A crowd with a bad token costs one request. */
	ask(review, &v, REVIEW_REPORT, "old", "n1");
	assert_verdict(&v, REVIEW_BAD_TOKEN, "token has expired");
	assert_int_equal(fake.sent, 1);
	end(review);
}

static void http_is_asked_by_path_and_without_our_audience(void **state)
{
	struct review *review = new_review();
	struct verdict v;

	(void)state;
	ask(review, &v, REVIEW_HTTP, "t", "/v1/nodes");
	fake_expect("POST", FAKE_TOKENS, "{\"token\":\"t\"}");
	fake_answer(201, FAKE_ACCOUNT(""));
	fake_expect("POST", FAKE_ACCESS,
		"{\"path\":\"/v1/nodes\",\"verb\":\"get\"},"
		"\"user\":\"system:serviceaccount:ns:agent\",\"uid\":\"u1\","
		"\"groups\":[\"g1\",\"g2\"],\"extra\":{}");
	fake_answer(201, FAKE_YES);
	assert_verdict(&v, REVIEW_ALLOWED, "");
	/* One token, another path: one question. */
	ask(review, &v, REVIEW_HTTP, "t", "/v1/vms");
	fake_expect("POST", FAKE_ACCESS, "/v1/vms");
	fake_answer(201, FAKE_NO);
	assert_verdict(&v, REVIEW_FORBIDDEN, "may not get /v1/vms");
	/* The token of the HTTP interface is none of the wire. */
	ask(review, &v, REVIEW_SNAPSHOT, "t", NULL);
	fake_expect("POST", FAKE_TOKENS, "audiences");
	end(review);
}

static void nobody_is_let_in_or_refused_unheard(void **state)
{
	static const struct {
		int status;
		const char *body;
	} cases[] = { { 0, "" }, { 500, "{}" }, { 403, "{}" }, { 401, "{}" },
		{ 201, "{}" }, { 201, "no json" } };
	struct review *review = new_review();
	struct verdict v;

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *token = xasprintf("t%zu", i);

		ask(review, &v, REVIEW_SNAPSHOT, token, NULL);
		fake_answer(cases[i].status, cases[i].body);
		assert_verdict(&v, REVIEW_UNREACHABLE, "try again");
		ask(review, &v, REVIEW_SNAPSHOT, "t", NULL);
		if (i == 0) {
			fake_answer(201, FAKE_ACCOUNT(""));
		}
		fake_answer(cases[i].status == 201 ? 503 : cases[i].status,
			cases[i].body);
		assert_verdict(&v, REVIEW_UNREACHABLE, "try again");
	}
	end(review);
}

static void stopping_answers_what_is_open(void **state)
{
	struct review *review = new_review();
	struct verdict v;

	(void)state;
	ask(review, &v, REVIEW_REPORT, "t", "n1");
	assert_int_equal(v.count, 0);
	review_stop(review);
	assert_verdict(&v, REVIEW_UNREACHABLE, "shutting down");
	ask(review, &v, REVIEW_REPORT, "t", "n1");
	assert_verdict(&v, REVIEW_UNREACHABLE, "shutting down");
	review_free(review);
}

#define test(name) cmocka_unit_test_setup(name, fake_setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(an_agent_is_let_in_for_its_own_node),
		test(without_a_node_in_the_token_its_pod_is_asked),
		test(no_token_and_no_good_token_are_told_apart),
		test(http_is_asked_by_path_and_without_our_audience),
		test(nobody_is_let_in_or_refused_unheard),
		test(stopping_answers_what_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
