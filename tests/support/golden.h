/* Whole texts that tests expect, in the files of tests/golden. A test that
 * checks only parts of a text does not see what else it says.
 *
 * PLIMSOLL_GOLDEN=write makes the tests write the files. The difference is the
 * change that users see: read it before you commit it. */
#pragma once

#include "lib/memory.h"

#include <string.h>

/* Fails, with the first line that differs, unless the text is that of the
 * file. */
void assert_golden(const char *name, const char *text);

/* The same for the section of a file that begins with "== title". For what many
 * tests of a program say: golden_test() gives a test its title, which is *state
 * unless setup changes that, and GOLDEN_PROGRAM is the file of the program. */
void assert_golden_section(const char *name, const char *title,
	const char *text);

/* Adds to what the test that runs says: arguments of xasprintf(). */
#define golden_tell(...) golden_tell_text(xasprintf(__VA_ARGS__))
void golden_tell_text(char *text); /* frees it */

/* assert_golden_section() of what the test told. */
void assert_golden_told(const char *name, const char *title);

#define GOLDEN_PROGRAM (strrchr(__BASE_FILE__, '/') + 1)
#define golden_test(name, setup, teardown)                                     \
	{                                                                      \
		(#name), name, setup, teardown, #name                          \
	}

/* A teardown. */
static inline int golden_end(void **state)
{
	assert_golden_told(GOLDEN_PROGRAM, *state);
	return 0;
}

/* A copy of the text with another word in each place of this one, which differs
 * from run to run. The caller frees it. */
char *golden_replace(const char *text, const char *word, const char *other);

/* As assert_golden() for JSON; the file has a line for each member. */
void assert_golden_json(const char *name, const char *text);

/* As assert_golden() for /metrics, without the lines about the process. */
void assert_golden_metrics(const char *name, const char *text);
