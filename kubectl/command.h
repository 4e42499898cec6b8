/* A command of the plugin: its help and what it does. */
#pragma once

#include "lib/error.h"

#include <errno.h>
#include <stdint.h>

struct api_client;

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
