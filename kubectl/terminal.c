#include "kubectl/terminal.h"

#include "kubectl/escape.h"
#include "lib/buffer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 64 << 10 };

static void write_lines(FILE *to, const char *lines, size_t len)
{
	scoped_buffer struct buffer out = BUFFER_MAX(10 * len + 1);

	if (len > 0) {
		escape_lines(&out, lines, len);
		(void)fwrite(out.data, 1, out.len, to);
	}
	if (fflush(to) != 0 && errno == EPIPE) {
		(void)signal(SIGPIPE, SIG_DFL);
		(void)raise(SIGPIPE);
	}
}

void terminal_print(struct buffer *lines)
{
	write_lines(stdout, lines->data, lines->len);
	buffer_clear(lines);
}

static void say(FILE *to, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));
static void say(FILE *to, const char *format, va_list arguments)
{
	char line[LINE_MAX_BYTES];
	int len = vsnprintf(line, sizeof(line) - 1, format, arguments);

	if (len < 0) {
		return;
	}
	if (len > (int)sizeof(line) - 2) {
		len = sizeof(line) - 2;
	}
	line[len++] = '\n';
	line[len] = '\0';
	write_lines(to, line, (size_t)len);
}

void terminal_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(stdout, format, arguments);
	va_end(arguments);
}

void terminal_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(stderr, format, arguments);
	va_end(arguments);
}

void terminal_lines_to_error(const char *lines, size_t len)
{
	write_lines(stderr, lines, len);
}

void terminal_clear(bool is_first)
{
	if (isatty(STDOUT_FILENO)) {
		(void)fputs("\033[H\033[2J\033[3J", stdout);
	} else if (!is_first) {
		(void)fputc('\n', stdout);
	}
}

bool terminal_confirm(const char *question)
{
	char answer[16];

	if (!isatty(STDIN_FILENO)) {
		return false;
	}
	(void)fprintf(stderr, "%s [y/N] ", question);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
		(answer[0] == 'y' || answer[0] == 'Y');
}

/* ---- Ctrl-C ---- */

static sigset_t both(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	return set;
}

struct interrupt interrupt_open(void)
{
	sigset_t set = both();

	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	return (struct interrupt){ signalfd(-1, &set, SFD_CLOEXEC) };
}

bool interrupt_wait(const struct interrupt *interrupt, int ms)
{
	struct pollfd poll_fd = { .fd = interrupt->fd, .events = POLLIN };

	return poll(&poll_fd, 1, ms) > 0;
}

void interrupt_close(struct interrupt *interrupt)
{
	struct signalfd_siginfo info;
	sigset_t set = both();

	while (interrupt_wait(interrupt, 0)) {
		if (read(interrupt->fd, &info, sizeof(info)) <= 0) {
			break;
		}
	}
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (interrupt->fd >= 0) {
		(void)close(interrupt->fd);
	}
	interrupt->fd = -1;
}
