/* Completion: the words that can stand at a place of the command line. */
#pragma once

struct command;

/* Prints one word a line, and last ":4" (no file names) or ":0", as cobra's
 * __complete does, which kubectl asks for. words ends with NULL; its last word
 * is the one to complete. commands ends with NULL. Returns the exit status. */
int completion_words(const struct command *const *commands,
	const char *const *words);
