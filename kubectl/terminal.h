/* The only way from the plugin to a person or a pipe. Every text
 * passes kubectl/escape.h, so no command can forget it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer;

/* Writes lines to standard output, and empties the buffer. A reader that is
 * gone ends the process, as SIGPIPE does. */
void terminal_print(struct buffer *lines);
void terminal_say(const char *format, ...)
	__attribute__((format(printf, 1, 2))); /* one line */

/* The same to standard error. */
void terminal_note(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
void terminal_lines_to_error(const char *lines, size_t len);

/* Begins a new picture: clears a terminal, or writes an empty line. */
void terminal_clear(bool is_first);

/* Asks on standard error and reads one line. True: it began with y. False also
 * if standard input is no terminal. */
bool terminal_confirm(const char *question);

/* Ctrl-C while something is followed: it is noticed instead of ending the
 * plugin. kubectl, which runs beside it, ends as usual. */
struct interrupt {
	int fd; /* a signalfd; -1: none */
};

/* From now on SIGINT and SIGTERM wait in the object. */
struct interrupt interrupt_open(void);

/* Waits for ms. True: a signal came, now or before. */
bool interrupt_wait(const struct interrupt *interrupt, int ms);

/* From now on a signal ends the plugin again. */
void interrupt_close(struct interrupt *interrupt);
