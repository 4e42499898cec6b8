/* Help in kubectl's layout. Pure. */
#pragma once

struct buffer;
struct command;

enum { HELP_MAX = 64 << 10 };

/* The help of one command: description, examples, options, usage. */
void help_command(struct buffer *out, const struct command *command);

/* The help of the plugin. commands ends with NULL. */
void help_all(struct buffer *out, const struct command *const *commands);

/* The command whose name is like name, or NULL. */
const struct command *help_nearest(const struct command *const *commands,
	const char *name);
