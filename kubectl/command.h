/* A command of the plugin: what it does, and its help in kubectl's layout. */
#pragma once

#include "lib/error.h"

#include <errno.h>
#include <stdint.h>

struct api_client;
struct buffer;

/* run() failed because of its arguments; the help is named too. */
enum { COMMAND_USAGE = -EINVAL };

struct command {
	const char *name;
	const char *usage;    /* behind "kubectl plimsoll" */
	const char *summary;  /* one line without a full stop */
	const char *text;     /* the paragraphs of the help, with newlines */
	const char *examples; /* lines, indented by two blanks */
	uint32_t flags;	      /* FLAG_BIT()s of kubectl/flags.h */
	/* The exit status, or COMMAND_USAGE, or -errno with a sentence or with
	 * kubectl's words in client. */
	int (*run)(struct api_client *client, struct error *err);
	/* For completion, the kind of its arguments: "node", "vm", or words.
	 * NULL: nothing. */
	const char *completes;
};

extern const struct command top_command, why_command, where_command,
	whatif_command, rebalance_command, migrate_command, evacuate_command,
	page_command, preflight_command, completion_command;

/* The command of that name, or NULL. commands ends with NULL, here and
 * below. */
const struct command *command_find(const struct command *const *commands,
	const char *name);

/* The command whose name is like name, or NULL. */
const struct command *command_nearest(const struct command *const *commands,
	const char *name);

enum { COMMAND_HELP_MAX = 64 << 10 };

/* The help of one command: description, examples, options, usage. */
void command_help(struct buffer *out, const struct command *command);

/* The help of the plugin. */
void command_help_all(struct buffer *out,
	const struct command *const *commands);
