/* kubectl-plimsoll: `kubectl plimsoll`, which asks plimsoll's API and acts with
 * the rights of its user. It has no state. */
#include "kubectl/api_client.h"
#include "kubectl/command.h"
#include "kubectl/completion.h"
#include "kubectl/flags.h"
#include "kubectl/terminal.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <signal.h>
#include <string.h>

enum { STATUS_FAILED = 1, STATUS_INTERRUPTED = 130, ARGUMENTS_MAX = 512 };

static const struct command *const commands[] = {
	&top_command,
	&why_command,
	&where_command,
	&whatif_command,
	&rebalance_command,
	&migrate_command,
	&evacuate_command,
	&page_command,
	&preflight_command,
	&completion_command,
	NULL,
};

static int usage_error(const char *command, const struct error *err)
{
	terminal_note("error: %s\nSee 'kubectl plimsoll%s%s --help' for usage.",
		err->text, *command == '\0' ? "" : " ", command);
	return STATUS_FAILED;
}

/* Shows kubectl's own words, if it was kubectl that failed. */
static int failed(const struct api_client *client, const struct error *err)
{
	if (err->code == -EINTR) {
		terminal_note("error: %s", err->text);
		return STATUS_INTERRUPTED;
	}
	if (client->status == 0) {
		terminal_note("error: %s", err->text);
		return STATUS_FAILED;
	}
	if (client->is_reported) {
		return client->status;
	}
	if (client->complaint.len > 0) {
		terminal_lines_to_error(client->complaint.data,
			client->complaint.len);
	} else {
		terminal_note("error: %s", err->text);
	}
	return client->status;
}

static int run(const struct command *command, struct flags *flags)
{
	struct api_client client;
	struct error err = { 0 };
	int r;

	api_client_init(&client, flags);
	r = command->run(&client, &err);
	if (r == COMMAND_USAGE) {
		r = usage_error(command->name, &err);
	} else if (r < 0) {
		r = failed(&client, &err);
	}
	api_client_fini(&client);
	return r;
}

static int run_command(const struct command *command,
	const char *const *arguments)
{
	struct flags flags = { 0 };
	struct error err = { 0 };
	int r = flags_parse(&flags, command->flags, arguments, &err);

	if (r < 0) {
		r = usage_error(command->name, &err);
	} else if (flags.wants_help) {
		scoped_buffer struct buffer out = BUFFER_MAX(COMMAND_HELP_MAX);

		command_help(&out, command);
		terminal_print(&out);
	} else {
		r = run(command, &flags);
	}
	flags_fini(&flags);
	return r;
}

static int show_help(void)
{
	scoped_buffer struct buffer out = BUFFER_MAX(COMMAND_HELP_MAX);

	command_help_all(&out, commands);
	terminal_print(&out);
	return 0;
}

static int show_version(void)
{
	terminal_say("kubectl-plimsoll %s\ncommit %s", plimsoll_version,
		plimsoll_commit);
	return 0;
}

static int unknown_command(const char *name)
{
	const struct command *near = command_nearest(commands, name);

	terminal_note(
		"error: unknown command \"%.100s\" for "
		"\"kubectl plimsoll\"",
		name);
	if (near != NULL) {
		terminal_note("\nDid you mean this?\n\t%s", near->name);
	}
	return STATUS_FAILED;
}

/* Help, a version, or a flag that is wrong without a command. */
static int run_without_command(const char *text)
{
	struct error err;

	if (text == NULL || strcmp(text, "help") == 0 ||
		strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
		return show_help();
	}
	if (strcmp(text, "version") == 0 || strcmp(text, "--version") == 0) {
		return show_version();
	}
	if (*text != '-') {
		return unknown_command(text);
	}
	(void)error_set(&err, -1, "unknown flag: %.100s", text);
	return usage_error("", &err);
}

/* Removes the command's name from the arguments and runs the command. */
static int run_at(const char *const *arguments, size_t at)
{
	const char *others[ARGUMENTS_MAX + 1] = { 0 };
	const struct command *command = NULL;
	size_t count = 0;

	/* help NAME is NAME --help. */
	if (arguments[at] != NULL && strcmp(arguments[at], "help") == 0 &&
		arguments[at + 1] != NULL) {
		command = command_find(commands, arguments[at + 1]);
		others[0] = "--help";
		return command == NULL ? unknown_command(arguments[at + 1])
				       : run_command(command, others);
	}
	command = arguments[at] == NULL ? NULL
					: command_find(commands, arguments[at]);
	if (command == NULL) {
		return run_without_command(arguments[at]);
	}
	for (size_t i = 0; arguments[i] != NULL; i++) {
		if (i != at && count == ARGUMENTS_MAX) {
			terminal_note("error: more than %d arguments",
				ARGUMENTS_MAX);
			return STATUS_FAILED;
		}
		if (i != at) {
			others[count++] = arguments[i];
		}
	}
	return run_command(command, others);
}

int main(int argc, char **argv)
{
	const char *const *arguments = (const char *const *)argv + (argc > 0);

	(void)signal(SIGPIPE, SIG_IGN);
	if (arguments[0] != NULL && strcmp(arguments[0], "__complete") == 0) {
		return completion_words(commands, arguments + 1);
	}
	return run_at(arguments, flags_find_command(arguments));
}
