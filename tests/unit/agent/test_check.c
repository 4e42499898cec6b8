#include "agent/check.h"

#include "lib/memory.h"
#include "tests/unit/agent/fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

struct fixture {
	uv_loop_t loop;
	struct check *check;
	char node[32];
	size_t files;
	bool works;
	/* The thread that asks. */
	char text[512];
	int result;
	struct error err;
	atomic_bool has_answer;
};

static bool describe(void *owner, struct buffer *out)
{
	const struct fixture *f = owner;

	buffer_text(out, f->works ? "it works" : "no aggregator answers");
	return f->works;
}

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	assert_int_equal(uv_loop_init(&f.loop), 0);
	f.files = open_files();
	(void)snprintf(f.node, sizeof(f.node), "node-of-%d", (int)getpid());
	assert_int_equal(
		check_new(&f.check, &f.loop, f.node, describe, &f, NULL), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	check_close(f->check);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(open_files(), f->files);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	return 0;
}

static void *query(void *argument)
{
	struct fixture *f = argument;
	FILE *out = fmemopen(f->text, sizeof(f->text), "w");

	f->result = check_query(f->node, out, &f->err);
	(void)fclose(out);
	atomic_store(&f->has_answer, true);
	return NULL;
}

static bool has_answer(void *owner)
{
	const struct fixture *f = owner;

	return atomic_load(&f->has_answer);
}

static void ask(struct fixture *f)
{
	pthread_t thread;

	atomic_store(&f->has_answer, false);
	assert_int_equal(pthread_create(&thread, NULL, query, f), 0);
	run_until_true(&f->loop, has_answer, f);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void an_agent_that_works_says_so(void **state)
{
	struct fixture *f = *state;

	f->works = true;
	ask(f);
	assert_int_equal(f->result, 0);
	assert_string_equal(f->text, "it works\n");
}

static void an_agent_that_does_not_work_says_why(void **state)
{
	struct fixture *f = *state;

	ask(f);
	assert_int_equal(f->result, -EIO);
	assert_string_equal(f->err.text, "no aggregator answers");
	assert_string_equal(f->text, "");
}

static void a_node_has_one_agent(void **state)
{
	struct fixture *f = *state;
	struct check *second = NULL;
	struct error err;
	scoped_free char *text = NULL;
	size_t files = open_files();

	assert_int_equal(
		check_new(&second, &f->loop, f->node, describe, f, &err),
		-EADDRINUSE);
	assert_null(second);
	text = xasprintf("another agent runs here for node '%s'", f->node);
	assert_string_equal(err.text, text);
	assert_int_equal(open_files(), files);
}

static void without_an_agent_the_question_is_refused(void **state)
{
	struct fixture *f = *state;

	(void)snprintf(f->node, sizeof(f->node), "no-node-of-%d",
		(int)getpid());
	ask(f);
	assert_int_equal(f->result, -ECONNREFUSED);
	assert_non_null(strstr(f->err.text, "no agent runs here for node"));
}

/* Long names usually differ at the end. */
static void nodes_with_long_names_have_agents_of_their_own(void **state)
{
	struct fixture *f = *state;
	struct check *checks[2];

	for (int i = 0; i < 2; i++) {
		scoped_free char *node =
			xasprintf("%0*d-%d-%d", 200, 0, (int)getpid(), i);

		assert_int_equal(check_new(&checks[i], &f->loop, node, describe,
					 f, NULL),
			0);
	}
	check_close(checks[0]);
	check_close(checks[1]);
	check_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_agent_that_works_says_so),
		TEST(an_agent_that_does_not_work_says_why),
		TEST(a_node_has_one_agent),
		TEST(without_an_agent_the_question_is_refused),
		TEST(nodes_with_long_names_have_agents_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
