#include "tests/support/fake_kubectl.h"

#include "kubectl/call.h"
#include "kubectl/terminal.h"
#include "tests/support/fake_clock.h"
#include "tests/support/live_blocks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct plugin plugin;

void given_calls(const struct exchange *exchanges, size_t count)
{
	assert_int_equal(plugin.left, 0);
	plugin.next = exchanges;
	plugin.left = count;
}

void assert_said(const char *text)
{
	assert_string_equal(plugin.said.len == 0 ? "" : plugin.said.data, text);
	buffer_clear(&plugin.said);
}

void assert_complaint(const char *text)
{
	const struct buffer *complaint = &plugin.client.complaint;

	assert_string_equal(complaint->len == 0 ? "" : complaint->data, text);
}

static bool is_ctrl_c_blocked(void)
{
	sigset_t set;

	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	return sigismember(&set, SIGINT) == 1;
}

int plugin_setup(void **state)
{
	(void)state;
	memset(&plugin, 0, sizeof(plugin));
	plugin.blocks = live_blocks();
	plugin.said = BUFFER_MAX(64 << 10);
	api_client_init(&plugin.client, &plugin.flags);
	return 0;
}

int plugin_teardown(void **state)
{
	(void)state;
	assert_int_equal(plugin.left, 0); /* calls that did not come */
	assert_said("");
	assert_false(is_ctrl_c_blocked());
	api_client_fini(&plugin.client);
	buffer_fini(&plugin.said);
	assert_int_equal(live_blocks(), plugin.blocks);
	return 0;
}

int __wrap_call_run(struct call_result *result, const struct call *call,
	struct error *err);
void __wrap_terminal_say(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
void __wrap_terminal_lines_to_error(const char *lines, size_t len);
bool __wrap_terminal_confirm(const char *question);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

static void put_call(struct buffer *line, const struct call *call)
{
	if (call->is_shown) {
		buffer_text(line, "(shown) ");
	}
	for (size_t i = 0; call->arguments[i] != NULL; i++) {
		buffer_printf(line, "%s%s", i == 0 ? "" : " ",
			call->arguments[i]);
	}
	if (call->input != NULL) {
		buffer_printf(line, " < %s", call->input);
	}
}

int __wrap_call_run(struct call_result *result, const struct call *call,
	struct error *err)
{
	scoped_buffer struct buffer line = BUFFER_MAX(64 << 10);
	const struct exchange *now = plugin.next;

	put_call(&line, call);
	if (plugin.left == 0) {
		fail_msg("an unexpected call: %s", line.data);
	}
	assert_string_equal(line.data, now->call);
	plugin.next++;
	plugin.left--;
	if (now->is_cut_off) {
		(void)raise(SIGINT);
	}
	result->out = BUFFER_MAX(1 << 20);
	result->complaint = BUFFER_MAX(CALL_COMPLAINT_MAX);
	if (now->error < 0) {
		return error_set(err, now->error, "kubectl does not run");
	}
	buffer_text(&result->out, now->out == NULL ? "" : now->out);
	result->out.len = now->claims > 0 ? now->claims : result->out.len;
	buffer_text(&result->complaint,
		now->complaint == NULL ? "" : now->complaint);
	result->status = now->status;
	return 0;
}

void __wrap_terminal_say(const char *format, ...)
{
	char line[1024];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	buffer_printf(&plugin.said, "%s\n", line);
}

void __wrap_terminal_lines_to_error(const char *lines, size_t len)
{
	buffer_text(&plugin.said, "! ");
	buffer_append(&plugin.said, lines, len);
}

bool __wrap_terminal_confirm(const char *question)
{
	buffer_printf(&plugin.said, "? %s\n", question);
	return plugin.says_yes;
}

/* 1, 2, 3, ... */
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags)
{
	(void)flags;
	if (plugin.has_no_random) {
		errno = EAGAIN;
		return -1;
	}
	memset(out, 0, len);
	*(unsigned char *)out = ++plugin.numbers;
	return (ssize_t)len;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	assert_true(timeout >= 0);
	fake_clock_move((uint64_t)timeout * 1000);
	if (timeout > 0 && ++plugin.waits == plugin.ctrl_c_wait) {
		(void)raise(SIGINT);
	}
	return __real_poll(fds, count, 0);
}
