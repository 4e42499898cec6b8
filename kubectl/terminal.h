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
