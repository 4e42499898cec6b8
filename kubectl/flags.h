/* The command line of the plugin, with pflag's grammar and kubectl's words:
 * --flag value, --flag=value, -n value, -nvalue, -Aw, and -- before names.
 *
 * The flags that say which cluster to ask as whom are kubectl's own. They are
 * checked for their form and passed on to each kubectl that the plugin starts.
 * Pure. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

/* The plugin's own flags; a command names those that it takes. */
enum flag {
	FLAG_ALL_NAMESPACES,
	FLAG_DRY_RUN,
	FLAG_FIELD_SELECTOR,
	FLAG_FILENAME,
	FLAG_INTERVAL,
	FLAG_LIMIT,
	FLAG_NO_BROWSER,
	FLAG_NO_HEADERS,
	FLAG_NODE,
	FLAG_NODE_SELECTOR,
	FLAG_OUTPUT,
	FLAG_PARALLEL,
	FLAG_SELECTOR,
	FLAG_SORT_BY,
	FLAG_TO,
	FLAG_WATCH,
	FLAG_WITHOUT,
	FLAG_YES,
	FLAG_COUNT,
};

#define FLAG_BIT(flag) (UINT32_C(1) << (flag))

enum { FLAGS_NAMES_MAX = 256, FLAGS_GLOBAL_MAX = 64 };

struct flags {
	const char *values[FLAG_COUNT]; /* NULL: not given; borrowed */
	bool wants_help;
	const char *namespace; /* -n, or NULL */
	bool has_kubeconfig;   /* --kubeconfig, --server or --context */
	char *globals[FLAGS_GLOBAL_MAX]; /* "--context=x", owned */
	size_t global_count;
	const char *names[FLAGS_NAMES_MAX]; /* the other arguments, borrowed */
	size_t name_count;
};

/* Parses arguments up to a NULL. accepted has a FLAG_BIT for each flag of the
 * command. A zeroed *out is filled in, also on failure.
 * -EINVAL: the sentence is kubectl's. */
must_check int flags_parse(struct flags *out, uint32_t accepted,
	const char *const *arguments, struct error *err);
void flags_fini(struct flags *flags);

/* The index of the first argument that is no global flag and no value of one:
 * the name of the command, or a flag that only a command has. */
size_t flags_find_command(const char *const *arguments);

bool flags_has(const struct flags *flags, enum flag flag); /* --flag=true */

/* The value of a number within [min, max], or fallback.
 * -EINVAL: it is none. */
must_check int flags_number(unsigned *out, const struct flags *flags,
	enum flag flag, const unsigned bounds[2], struct error *err);

/* Whether text can be the name of an object: only then it goes into a path. */
bool flags_is_name(const char *text);

/* Appends the "Options:" of a help text. */
void flags_help(struct buffer *out, uint32_t accepted);

/* Appends each flag that begins with prefix, one a line, for completion. */
void flags_complete(struct buffer *out, uint32_t accepted, const char *prefix);
