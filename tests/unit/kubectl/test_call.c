#include "kubectl/call.h"

#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/live_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

/* The timer of a silent kubectl ends at once or never, as a test wants. The
 * user answers when the timer ends, or, if it never does, when it starts. */
static struct {
	bool is_hasty;
	bool is_left_behind; /* kubectl's output was open at its end */
	unsigned starts;     /* of the timer */
	char told[64];	     /* what was shown at its end */
	int answer_fd;	     /* where the user answers; -1: nowhere */
	size_t blocks;	     /* of memory, when the test began */
} quiet;

static void answer(void)
{
	if (quiet.answer_fd >= 0) {
		assert_int_equal(write(quiet.answer_fd, "secret\n", 7), 7);
		quiet.answer_fd = -1;
	}
}

int __real_uv_timer_start(uv_timer_t *timer, uv_timer_cb fire, uint64_t first,
	uint64_t repeat);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb fire, uint64_t first,
	uint64_t repeat);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb fire, uint64_t first,
	uint64_t repeat)
{
	if (repeat != 0) { /* the ticks after kubectl's end */
		assert_int_equal(first, 500);
		assert_int_equal(repeat, 500);
		quiet.is_left_behind = true;
		return __real_uv_timer_start(timer, fire, 0, 1);
	}
	assert_int_equal(first, 1000);
	quiet.starts++;
	if (quiet.is_hasty) {
		return __real_uv_timer_start(timer, fire, 0, 0);
	}
	answer();
	return 0;
}

/* A call closes all that it opened. */
int __real_uv_loop_close(uv_loop_t *loop);
int __wrap_uv_loop_close(uv_loop_t *loop);
int __wrap_uv_loop_close(uv_loop_t *loop)
{
	int r = __real_uv_loop_close(loop);

	assert_int_equal(r, 0);
	return r;
}

void __wrap_terminal_lines_to_error(const char *lines, size_t len);
void __wrap_terminal_lines_to_error(const char *lines, size_t len)
{
	size_t told = strlen(quiet.told);

	assert_true(told + len < sizeof(quiet.told));
	memcpy(quiet.told + told, lines, len);
	answer();
}

static int setup(void **state)
{
	(void)state;
	memset(&quiet, 0, sizeof(quiet));
	quiet.answer_fd = -1;
	quiet.blocks = live_blocks();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(live_blocks(), quiet.blocks);
	return 0;
}

/* Runs a shell's script. The result is for call_result_fini(). */
static int run_script(struct call_result *result, const char *script,
	const char *input, struct error *err)
{
	const char *const arguments[] = { "-c", script, NULL };
	const struct call call = { .program = "/bin/sh",
		.arguments = arguments,
		.input = input };

	*result = (struct call_result){ 0 };
	return call_run(result, &call, err);
}

static const char *text(const struct buffer *buffer)
{
	return buffer->len == 0 ? "" : buffer->data;
}

static void output_and_complaints_are_kept_apart(void **state)
{
	struct call_result result;

	(void)state;
	assert_int_equal(
		run_script(&result, "echo out; echo no >&2; exit 7", "", NULL),
		0);
	assert_string_equal(text(&result.out), "out\n");
	assert_string_equal(text(&result.complaint), "no\n");
	assert_int_equal(result.status, 7);
	call_result_fini(&result);
	assert_null(result.out.data);
	assert_null(result.complaint.data);
}

static void an_input_is_written_and_ended(void **state)
{
	enum { LONG = 300 << 10 }; /* more than a pipe holds */
	scoped_free char *input = xcalloc(LONG + 1, 1);
	struct call_result result;

	(void)state;
	memset(input, 'x', LONG);
	assert_int_equal(run_script(&result, "cat", input, NULL), 0);
	assert_int_equal(result.out.len, LONG);
	assert_string_equal(text(&result.out), input);
	assert_int_equal(result.status, 0);
	call_result_fini(&result);
}

static void an_input_that_nobody_reads_is_no_failure(void **state)
{
	enum { LONG = 300 << 10 };
	scoped_free char *input = xcalloc(LONG + 1, 1);
	struct call_result result;

	(void)state;
	memset(input, 'x', LONG);
	assert_int_equal(
		run_script(&result, "exec <&-; echo done", input, NULL), 0);
	assert_string_equal(text(&result.out), "done\n");
	assert_int_equal(result.status, 0);
	call_result_fini(&result);
}

static void a_signal_that_ends_kubectl_is_a_status(void **state)
{
	struct call_result result;

	(void)state;
	assert_int_equal(run_script(&result, "kill -INT $$", "", NULL), 0);
	assert_int_equal(result.status, 130);
	call_result_fini(&result);
}

static void a_missing_kubectl_is_named(void **state)
{
	static const char *const none[] = { NULL };
	const struct call call = { .program = "/nowhere/kubectl",
		.arguments = none };
	struct call_result result = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(call_run(&result, &call, &err), -ENOENT);
	assert_string_equal(err.text,
		"cannot run /nowhere/kubectl: no such file or directory");
	assert_int_equal(result.status, 0);
	call_result_fini(&result);
}

static void output_without_end_ends_kubectl(void **state)
{
	struct call_result result;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run_script(&result, "exec yes", "", &err), -EFBIG);
	assert_string_equal(err.text, "kubectl wrote more than 64 MiB");
	assert_int_equal(result.status, 137);
	call_result_fini(&result);
}

static void complaints_without_end_end_kubectl(void **state)
{
	struct call_result result;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		run_script(&result, "trap '' TERM; yes no >&2", "", &err),
		-EFBIG);
	assert_string_equal(err.text,
		"kubectl wrote more than 16 MiB to standard error");
	assert_int_equal(result.status, 137);
	call_result_fini(&result);
}

/* A process of kubectl's goes on and holds both pipes until the test ends. */
static void a_call_ends_with_kubectl_and_with_all_it_wrote(void **state)
{
	struct call_result result;
	char script[128];
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[1], F_SETFD, FD_CLOEXEC), 0);
	(void)snprintf(script, sizeof(script),
		"cat <&%d & head -c 60000 /dev/zero; echo no >&2; exit 4",
		fds[0]);
	assert_int_equal(run_script(&result, script, "", NULL), 0);
	assert_true(quiet.is_left_behind);
	assert_int_equal(result.out.len, 60000);
	assert_string_equal(text(&result.complaint), "no\n");
	assert_int_equal(result.status, 4);
	call_result_fini(&result);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void output_up_to_the_maximum_is_kept(void **state)
{
	struct call_result result;

	(void)state;
	assert_int_equal(
		run_script(&result, "head -c 67108864 /dev/zero", "", NULL), 0);
	assert_int_equal(result.out.len, CALL_OUTPUT_MAX);
	assert_int_equal(result.status, 0);
	call_result_fini(&result);
}

static void complaints_beyond_their_maximum_end_nothing(void **state)
{
	struct call_result result;

	(void)state;
	assert_int_equal(
		run_script(&result, "head -c 200000 /dev/zero >&2; echo done",
			"", NULL),
		0);
	assert_string_equal(text(&result.out), "done\n");
	assert_true(result.complaint.len <= CALL_COMPLAINT_MAX);
	assert_int_equal(result.status, 0);
	call_result_fini(&result);
}

/* ---- a kubectl that waits for somebody ---- */

/* Makes a file the plugin's own descriptor; returns what that was before. */
static int replace_fd(int own, int with)
{
	int before = dup(own);

	assert_true(before >= 0);
	assert_int_equal(dup2(with, own), own);
	return before;
}

static void put_back_fd(int own, int before)
{
	assert_int_equal(dup2(before, own), own);
	assert_int_equal(close(before), 0);
}

/* kubectl asks on standard error and reads what the user answers. */
static void run_question(struct call_result *result)
{
	int fds[2], before;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	quiet.answer_fd = fds[1];
	before = replace_fd(STDIN_FILENO, fds[0]);
	assert_int_equal(
		run_script(result, "echo password: >&2; read x; echo $x", NULL,
			NULL),
		0);
	put_back_fd(STDIN_FILENO, before);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void a_question_is_shown_after_a_silence(void **state)
{
	struct call_result result;

	(void)state;
	quiet.is_hasty = true;
	run_question(&result);
	assert_string_equal(quiet.told, "password:\n");
	assert_string_equal(text(&result.out), "secret\n");
	assert_string_equal(text(&result.complaint), "");
	call_result_fini(&result);
}

static void a_complaint_before_the_silence_is_kept(void **state)
{
	struct call_result result;

	(void)state;
	run_question(&result);
	assert_int_equal(quiet.starts, 1);
	assert_string_equal(quiet.told, "");
	assert_string_equal(text(&result.out), "secret\n");
	assert_string_equal(text(&result.complaint), "password:\n");
	call_result_fini(&result);
}

static void output_starts_no_silence(void **state)
{
	struct call_result result;

	(void)state;
	assert_int_equal(run_script(&result, "echo out", "", NULL), 0);
	assert_int_equal(quiet.starts, 0);
	call_result_fini(&result);
}

static void a_shown_call_writes_to_the_plugins_own(void **state)
{
	static const char *const arguments[] = { "-c", "echo out; echo no >&2",
		NULL };
	const struct call call = { .program = "/bin/sh",
		.arguments = arguments,
		.is_shown = true };
	struct call_result result = { 0 };
	char got[2][16] = { "", "" };
	int fds[2][2], before[2], r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe2(fds[i], O_CLOEXEC | O_NONBLOCK), 0);
		before[i] = replace_fd(i + 1, fds[i][1]);
	}
	r = call_run(&result, &call, NULL);
	for (int i = 0; i < 2; i++) {
		put_back_fd(i + 1, before[i]);
		assert_true(read(fds[i][0], got[i], sizeof(got[i]) - 1) >= 0);
		(void)close(fds[i][0]);
		(void)close(fds[i][1]);
	}
	assert_int_equal(r, 0);
	assert_string_equal(got[0], "out\n");
	assert_string_equal(got[1], "no\n");
	assert_int_equal(result.out.len + result.complaint.len, 0);
	call_result_fini(&result);
}

/* ---- the argument vector ---- */

static void kubectl_is_that_of_the_environment_or_of_path(void **state)
{
	static const struct {
		const char *program, *environment, *name;
	} cases[] = {
		{ NULL, NULL, "kubectl" },
		{ NULL, "", "kubectl" },
		{ NULL, "/opt/kubectl", "/opt/kubectl" },
		{ "/bin/sh", "/opt/kubectl", "/bin/sh" },
	};
	static const char *const arguments[] = { "get", "pods", NULL };

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		const struct call call = { .program = cases[i].program,
			.arguments = arguments };
		char **argv;

		(void)unsetenv("KUBECTL");
		if (cases[i].environment != NULL) {
			(void)setenv("KUBECTL", cases[i].environment, 1);
		}
		argv = call_argv(&call);
		assert_string_equal(argv[0], cases[i].name);
		assert_string_equal(argv[1], "get");
		assert_string_equal(argv[2], "pods");
		assert_null(argv[3]);
		call_argv_free(argv);
	}
}

static void arguments_beyond_the_maximum_are_left_out(void **state)
{
	const char *many[CALL_ARGUMENTS_MAX + 3] = { NULL };
	const struct call call = { .arguments = many };
	size_t count = 0;
	char **argv;

	(void)state;
	for (size_t i = 0; i < CALL_ARGUMENTS_MAX + 2; i++) {
		many[i] = "x";
	}
	argv = call_argv(&call);
	while (argv[count] != NULL) {
		count++;
	}
	assert_int_equal(count, CALL_ARGUMENTS_MAX + 1);
	call_argv_free(argv);
}

#define call_test(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		call_test(output_and_complaints_are_kept_apart),
		call_test(an_input_is_written_and_ended),
		call_test(an_input_that_nobody_reads_is_no_failure),
		call_test(a_signal_that_ends_kubectl_is_a_status),
		call_test(a_missing_kubectl_is_named),
		call_test(output_without_end_ends_kubectl),
		call_test(complaints_without_end_end_kubectl),
		call_test(a_call_ends_with_kubectl_and_with_all_it_wrote),
		call_test(output_up_to_the_maximum_is_kept),
		call_test(complaints_beyond_their_maximum_end_nothing),
		call_test(a_question_is_shown_after_a_silence),
		call_test(a_complaint_before_the_silence_is_kept),
		call_test(output_starts_no_silence),
		call_test(a_shown_call_writes_to_the_plugins_own),
		call_test(kubectl_is_that_of_the_environment_or_of_path),
		call_test(arguments_beyond_the_maximum_are_left_out),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as main() does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
