#include "lib/program.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* "score" of "plimsoll-scheduler score". */
static const char *subcommand_name(const struct program *program)
{
	return strrchr(program->options->name, ' ') + 1;
}

static int fail(const struct program *program, int status,
	const struct error *err)
{
	(void)fprintf(stderr, "%s: %s\n", program->options->name, err->text);
	return status;
}

/* Advances *argv past the subcommand's name. */
static const struct program *find(char ***argv,
	const struct program *const *programs, size_t count)
{
	const char *first = (*argv)[0] == NULL ? NULL : (*argv)[1];

	for (size_t i = 1; i < count && first != NULL; i++) {
		if (strcmp(subcommand_name(programs[i]), first) == 0) {
			(*argv)++;
			return programs[i];
		}
	}
	return programs[0];
}

static void print_subcommands(const struct program *const *programs,
	size_t count)
{
	const char *title = "\nsubcommands, each with a --help of its own:\n";

	for (size_t i = 1; i < count; i++) {
		if (programs[i]->moved_to == NULL) {
			(void)fprintf(stdout, "%s  %s\n        %s\n", title,
				subcommand_name(programs[i]),
				programs[i]->options->summary);
			title = "";
		}
	}
}

/* docs/configuration.md has the format. */
static void print_version(const struct program *program,
	const struct program_library *libraries)
{
	(void)fprintf(stdout, "%s %s\ncommit %s\n", program->options->name,
		plimsoll_version, plimsoll_commit);
	for (; libraries->name != NULL; libraries++) {
		(void)fprintf(stdout, "%s %s\n", libraries->name,
			libraries->version());
	}
}

int program_main(char **argv, const struct program *const *programs,
	size_t count, const struct program_library *libraries)
{
	const struct program *program = find(&argv, programs, count);
	scoped_free void *config = xcalloc(1, program->config_size);
	enum options_outcome outcome;
	struct error err = { 0 };
	int r;

	if (program->moved_to != NULL) {
		(void)error_set(&err, -EINVAL,
			"is a program of its own now; run %s with the same "
			"flags",
			program->moved_to);
		return fail(program, PROGRAM_USAGE, &err);
	}
	if (options_parse(config, &outcome, NULL, program->options, argv,
		    &err) < 0) {
		return fail(program, PROGRAM_USAGE, &err);
	}
	if (outcome == OPTIONS_HELP && program == programs[0]) {
		print_subcommands(programs, count);
	}
	if (outcome == OPTIONS_VERSION) {
		print_version(program, libraries);
	}
	if (outcome != OPTIONS_RUN) {
		return 0;
	}
	if (program->check != NULL && program->check(config, &err) < 0) {
		return fail(program, PROGRAM_USAGE, &err);
	}
	r = program->run(config, &err);
	return r < 0 ? fail(program, PROGRAM_FAILED, &err) : r;
}
