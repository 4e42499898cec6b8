/* Keeps what the code under test logs. For a test program with WRAP_test_x =
 * log_write in the Makefile; include it in one file. */
#pragma once

#include "lib/log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Since the last log_lines_forget(): messages, each with its first field. */
static char log_lines[4096];
static size_t log_line_count;

void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields);

void __wrap_log_write(enum log_level level, const char *file, int line,
	const char *message, const struct log_field *fields)
{
	size_t len = strlen(log_lines);

	(void)level;
	(void)file;
	(void)line;
	log_line_count++;
	if (fields[0].text != NULL) {
		(void)snprintf(log_lines + len, sizeof(log_lines) - len,
			"%s: %s\n", message, fields[0].text);
	} else {
		(void)snprintf(log_lines + len, sizeof(log_lines) - len,
			"%s: %.0f\n", message, fields[0].number);
	}
}

static inline void log_lines_forget(void)
{
	log_lines[0] = '\0';
	log_line_count = 0;
}
