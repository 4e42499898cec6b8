#include "scheduler/kubevirt/access.h"

#include "lib/clock.h"
#include "tests/unit/scheduler/kubevirt/fake_requests.h"

#define PATH "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define YES "{\"status\":{\"allowed\":true}}"
#define NO "{\"status\":{\"allowed\":false}}"

static struct access *access_now;

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	access_now = access_new(NULL);
	return 0;
}

static int teardown(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	access_close(access_now);
	assert_int_equal(fake.count, 0);
	return 0;
}

static uint64_t later(uint64_t us)
{
	return clock_monotonic_us() + us;
}

/* "" if migrations may be created. */
static void expect_why(const char *expected)
{
	scoped_buffer struct buffer why = BUFFER_MAX(512);

	assert_int_equal(access_is_allowed(access_now, &why),
		*expected == '\0');
	assert_string_equal(why.data == NULL ? "" : why.data, expected);
}

/* Asks for the next verb and answers. */
static void ask(const char *verb, uint64_t us, const char *answer)
{
	scoped_free char *part = xasprintf("\"verb\":\"%s\"", verb);
	struct kube_request *request;

	access_poll(access_now, later(us));
	request = fake_find("POST", PATH);
	assert_non_null(request);
	assert_non_null(strstr(request->body, part));
	fake_answer(request, 201, answer, "");
}

static void asks_whether_migrations_may_be_created_and_deleted(void **state)
{
	struct kube_request *request;

	(void)state;
	expect_why(
		"it is not known yet whether the account may create "
		"migrations");
	access_poll(access_now, later(0));
	request = fake_find("POST", PATH);
	assert_non_null(
		strstr(request->body, "\"virtualmachineinstancemigrations\""));
	assert_non_null(strstr(request->body, "\"verb\":\"create\""));
	/* One request at a time. */
	access_poll(access_now, later(ACCESS_AGAIN_US));
	assert_int_equal(fake.sent, 1);
	fake_answer(request, 201, YES, "");
	expect_why(
		"it is not known yet whether the account may delete "
		"migrations");
	ask("delete", 0, NO);
	expect_why(
		"the account may not delete "
		"virtualmachineinstancemigrations");
	ask("create", ACCESS_AGAIN_US, YES);
	ask("delete", 0, YES);
	expect_why("");
}

static void asks_again_after_some_minutes(void **state)
{
	(void)state;
	ask("create", 0, NO);
	expect_why(
		"the account may not create "
		"virtualmachineinstancemigrations");
	ask("delete", 0, YES);
	access_poll(access_now, later(ACCESS_RETRY_US));
	assert_int_equal(fake.sent, 2);
	ask("create", ACCESS_AGAIN_US, YES);
	expect_why("");
}

static void keeps_the_last_answer_while_nobody_answers(void **state)
{
	(void)state;
	access_poll(access_now, later(0));
	fake_answer(fake_find("POST", PATH), 503, "", "unavailable");
	expect_why(
		"it is not known yet whether the account may create "
		"migrations: unavailable");
	ask("create", ACCESS_RETRY_US, YES);
	ask("delete", 0, YES);
	ask("create", ACCESS_AGAIN_US, "{\"status\":{}}");
	expect_why("");
	ask("create", ACCESS_RETRY_US, "no json");
	expect_why("");
}

#define CASE(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(asks_whether_migrations_may_be_created_and_deleted),
		CASE(asks_again_after_some_minutes),
		CASE(keeps_the_last_answer_while_nobody_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
