#include "kubectl/terminal.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/capture.h"
#include "tests/support/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 128 << 10 };

static char text[TEXT];

static void say(void)
{
	terminal_say("%s has %d VMs", "n\0331", 2);
}

static void note(void)
{
	terminal_note("%s has %d VMs", "n\0331", 2);
}

static void complain(void)
{
	terminal_lines_to_error("a\033\nb\n", 5);
}

static void print(void)
{
	scoped_buffer struct buffer lines = BUFFER_MAX(100);

	buffer_text(&lines, "a\033\nb\n");
	terminal_print(&lines);
	assert_int_equal(lines.len, 0);
	terminal_print(&lines);
}

static void each_text_goes_to_its_stream_without_escapes(void **state)
{
	static const struct {
		void (*write)(void);
		int fd;
		const char *text;
	} cases[] = {
		{ say, STDOUT_FILENO, "n\\x1b1 has 2 VMs\n" },
		{ note, STDERR_FILENO, "n\\x1b1 has 2 VMs\n" },
		{ complain, STDERR_FILENO, "a\\x1b\nb\n" },
		{ print, STDOUT_FILENO, "a\\x1b\nb\n" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct capture capture;

		capture_begin(&capture, cases[i].fd);
		cases[i].write();
		capture_end(&capture, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void a_line_that_is_too_long_is_cut_off(void **state)
{
	static const size_t lens[] = { (64 << 10) - 2, (64 << 10) - 1,
		100 << 10 };

	(void)state;
	for (size_t i = 0; i < count_of(lens); i++) {
		struct capture capture;

		capture_begin(&capture, STDOUT_FILENO);
		terminal_say("%0*d", (int)lens[i], 0);
		capture_end(&capture, text, sizeof(text));
		assert_int_equal(strlen(text), (64 << 10) - 1);
		assert_int_equal(strspn(text, "0"), (64 << 10) - 2);
		assert_int_equal(text[(64 << 10) - 2], '\n');
	}
}

static void pictures_in_a_file_are_separated_by_a_line(void **state)
{
	struct capture capture;

	(void)state;
	capture_begin(&capture, STDOUT_FILENO);
	terminal_clear(true);
	terminal_say("a");
	terminal_clear(false);
	terminal_say("b");
	capture_end(&capture, text, sizeof(text));
	assert_string_equal(text, "a\n\nb\n");
}

/* ---- a terminal ---- */

/* A pseudoterminal in the place of a descriptor. */
struct pty {
	int fd, user, before;
};

static void pty_open(struct pty *pty, int fd)
{
	int program;

	pty->fd = fd;
	pty->user = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(pty->user >= 0);
	assert_int_equal(grantpt(pty->user), 0);
	assert_int_equal(unlockpt(pty->user), 0);
	program = open(ptsname(pty->user), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(program >= 0);
	(void)fflush(stdout);
	pty->before = dup(fd);
	assert_true(dup2(program, fd) >= 0);
	(void)close(program);
}

static void pty_close(struct pty *pty)
{
	(void)fflush(stdout);
	(void)dup2(pty->before, pty->fd);
	(void)close(pty->before);
	(void)close(pty->user);
}

static void a_terminal_is_cleared(void **state)
{
	static const char expected[] = "\033[H\033[2J\033[3J";
	char got[64] = "";
	struct pty pty;
	ssize_t len;

	(void)state;
	pty_open(&pty, STDOUT_FILENO);
	terminal_clear(true);
	(void)fflush(stdout);
	len = read(pty.user, got, sizeof(got) - 1);
	pty_close(&pty);
	assert_int_equal(len, sizeof(expected) - 1);
	assert_string_equal(got, expected);
}

static void only_yes_at_a_terminal_confirms(void **state)
{
	static const struct {
		const char *answer;
		bool is_yes;
	} cases[] = {
		{ "y\n", true }, { "Yes\n", true }, { "n\n", false },
		{ "\n", false }, { "ok y\n", false },
		{ "\004", false }, /* the end of the input */
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct capture capture;
		struct pty pty;
		bool is_yes;

		pty_open(&pty, STDIN_FILENO);
		assert_int_equal(write(pty.user, cases[i].answer,
					 strlen(cases[i].answer)),
			strlen(cases[i].answer));
		capture_begin(&capture, STDERR_FILENO);
		is_yes = terminal_confirm("Move x?");
		capture_end(&capture, text, sizeof(text));
		pty_close(&pty);
		assert_int_equal(is_yes, cases[i].is_yes);
		assert_string_equal(text, "Move x? [y/N] ");
	}
}

static void nobody_is_asked_without_a_terminal(void **state)
{
	struct capture capture;
	int before = dup(STDIN_FILENO);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool is_yes;

	(void)state;
	(void)dup2(file, STDIN_FILENO);
	capture_begin(&capture, STDERR_FILENO);
	is_yes = terminal_confirm("Move x?");
	capture_end(&capture, text, sizeof(text));
	(void)dup2(before, STDIN_FILENO);
	(void)close(before);
	(void)close(file);
	assert_false(is_yes);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text_goes_to_its_stream_without_escapes),
		cmocka_unit_test(a_line_that_is_too_long_is_cut_off),
		cmocka_unit_test(pictures_in_a_file_are_separated_by_a_line),
		cmocka_unit_test(a_terminal_is_cleared),
		cmocka_unit_test(only_yes_at_a_terminal_confirms),
		cmocka_unit_test(nobody_is_asked_without_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
