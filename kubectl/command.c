#include "kubectl/command.h"

#include "kubectl/flags.h"
#include "lib/buffer.h"
#include "lib/edit_distance.h"

#include <string.h>

const struct command *command_find(const struct command *const *commands,
	const char *name)
{
	for (; *commands != NULL; commands++) {
		if (strcmp((*commands)->name, name) == 0) {
			return *commands;
		}
	}
	return NULL;
}

static void put_end(struct buffer *out)
{
	buffer_text(out,
		"Use \"kubectl options\" for a list of global "
		"command-line options (applies to all commands).\n");
}

void command_help(struct buffer *out, const struct command *command)
{
	buffer_printf(out, "%s.\n\n%s\n\nExamples:\n%s\n\n", command->summary,
		command->text, command->examples);
	if (command->flags != 0) {
		flags_help(out, command->flags);
	}
	buffer_printf(out, "Usage:\n  kubectl plimsoll %s\n\n", command->usage);
	put_end(out);
}

void command_help_all(struct buffer *out, const struct command *const *commands)
{
	buffer_text(out,
		"Ask plimsoll about the load of nodes and VMs, and move "
		"VMs.\n\n"
		"Each answer comes through kubectl and with your rights.\n\n"
		"Available Commands:\n");
	for (; *commands != NULL; commands++) {
		buffer_printf(out, "  %-12s %s\n", (*commands)->name,
			(*commands)->summary);
	}
	buffer_text(out,
		"  version      Print the version of the plugin\n\n"
		"Usage:\n  kubectl plimsoll [command]\n\n"
		"Use \"kubectl plimsoll [command] --help\" for more "
		"information about a command.\n");
	put_end(out);
}

const struct command *command_nearest(const struct command *const *commands,
	const char *name)
{
	const struct command *best = NULL;
	size_t least = 3; /* more letters make another word */
	size_t len = strlen(name);

	for (; *commands != NULL && len < EDIT_DISTANCE_MAX; commands++) {
		size_t distance = edit_distance(name, len, (*commands)->name);

		if (distance < least) {
			least = distance;
			best = *commands;
		}
	}
	return best;
}
