/* A program or a subcommand: its options, its checks and what it does.
 *
 * The main() of each daemon is a list of these and a call of program_main(). */
#pragma once

#include "lib/error.h"
#include "lib/options.h"

#include <stddef.h>

/* A command line that is wrong, and a program that failed. 0: success. */
enum { PROGRAM_FAILED = 1, PROGRAM_USAGE = 2 };

struct program {
	/* The name of a subcommand is "PROGRAM SUBCOMMAND". */
	const struct options_program *options;
	size_t config_size; /* of the struct that options fill */
	/* Checks what no single flag shows, and completes config. NULL: no
	 * check. */
	int (*check)(void *config, struct error *err);
	/* 0, or -errno with a sentence, or PROGRAM_FAILED after a failure that
	 * is in the log. */
	int (*run)(const void *config, struct error *err);
	/* The program that does now what this subcommand did. Such a subcommand
	 * needs options->name alone. NULL: it is still here. */
	const char *moved_to;
};

/* A library that a program runs with; --version names it. */
struct program_library {
	const char *name; /* NULL ends a list */
	const char *(*version)(void);
};

/* Runs the subcommand that argv[1] names, or else programs[0]; its --help
 * lists the subcommands. Prints a failure as one sentence on standard error,
 * after the program's name. Returns the exit status. */
int program_main(char **argv, const struct program *const *programs,
	size_t count, const struct program_library *libraries);
