#include "agent/once.h"

#include <errno.h>

#include "tests/unit/agent/fixture.h"

enum { OUTPUT_MAX = 8192 };

struct fixture {
	struct tree tree;
	struct agent_config config;
	char proc[96];
	char output[OUTPUT_MAX];
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	tree_make(&f.tree);
	tree_put(&f.tree, "proc/meminfo", "MemTotal: 4 kB\n");
	(void)snprintf(f.proc, sizeof(f.proc), "%s/proc", f.tree.path);
	f.config = (struct agent_config){
		.node_name = "node-1",
		.interval_us = 2000000,
		.proc_root = f.proc,
		.sys_root = f.tree.path,
		.cgroup_root = f.tree.path,
		.dev_root = f.tree.path,
		.kvm_level = KVM_LEVEL_RUN,
		.once = true,
	};
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tree_close(&f->tree);
	return 0;
}

/* Runs it with standard output redirected to `to`, a file of the tree. */
static int run(struct fixture *f, int to, struct error *err)
{
	int before = dup(STDOUT_FILENO);
	int r;

	(void)fflush(stdout);
	assert_true(dup2(to, STDOUT_FILENO) >= 0);
	r = once_run(&f->config, err);
	(void)fflush(stdout);
	assert_true(dup2(before, STDOUT_FILENO) >= 0);
	(void)close(before);
	return r;
}

static void prints_one_report_with_the_result_of_the_probe(void **state)
{
	struct fixture *f = *state;
	ssize_t len;

	scoped_fd int out =
		openat(f->tree.fd, "out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(out >= 0);
	assert_int_equal(run(f, out, NULL), 0);
	len = pread(out, f->output, sizeof(f->output) - 1, 0);
	assert_true(len > 0);
	f->output[len] = '\0';
	assert_int_equal(f->output[0], '{');
	assert_string_equal(strchr(f->output, '\n'), "\n");
	assert_non_null(strstr(f->output, "\"node\":\"node-1\""));
	assert_non_null(strstr(f->output, "\"seq\":1"));
	assert_non_null(strstr(f->output, "\"total_bytes\":4096"));
	assert_non_null(strstr(f->output, "\"state\":\"missing\""));
}

static void fails_when_a_root_is_missing(void **state)
{
	struct fixture *f = *state;
	struct error err = { 0 };

	f->config.dev_root = "/nonexistent";
	assert_int_equal(once_run(&f->config, &err), -ENOENT);
	assert_string_equal(err.text,
		"cannot open '/nonexistent': No such file or directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(prints_one_report_with_the_result_of_the_probe),
		TEST(fails_when_a_root_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
