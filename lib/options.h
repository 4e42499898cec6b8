/* Command line options from one table: flag, environment variable, default,
 * help and validation. A test compares docs/configuration.md with the tables.
 *
 * Accepts `--flag value`, `--flag=value` and `--bool`. A flag overrides its
 * variable, which overrides the default. `--kvm-probe` has the variable
 * PLIMSOLL_KVM_PROBE; the table may name a second one. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The type of the member that an option sets. */
enum option_type {
	OPTION_TEXT,	 /* const char *, into argv or the environment */
	OPTION_ADDRESS,	 /* const char *: HOST:PORT of a listener, the host an
	                  * IP address, or empty for all interfaces */
	OPTION_LIST,	 /* struct option_list: the flag may be repeated; the
	                  * variable is split at commas */
	OPTION_BOOL,	 /* bool */
	OPTION_INTEGER,	 /* int64_t within [min, max] */
	OPTION_DURATION, /* uint64_t within [min, max] us, written as in Go:
	                  * 2s, 250ms, 1h30m, 7d */
	OPTION_BYTES,	 /* uint64_t within [min, max]: 100MB, 40GiB, 1024 */
	OPTION_CHOICE,	 /* int: index into the space-separated `choices` */
};

enum { OPTION_LIST_MAX = 16 };

struct option_list {
	const char *items[OPTION_LIST_MAX];
	size_t count;
};

struct option {
	const char *name;	 /* without dashes; NULL ends a table */
	const char *placeholder; /* "URL" in the help; NULL for booleans */
	enum option_type type;
	size_t offset;	      /* of the member in the configuration struct */
	const char *fallback; /* the default as typed; NULL: none */
	const char *help;     /* one sentence without a full stop */
	double min, max;      /* both 0: no bounds */
	const char *choices;
	const char *extra_env; /* a second variable, such as NODE_NAME */
};

struct options_program {
	const char *name;    /* plimsoll-agent */
	const char *summary; /* one line */
	const char *usage;   /* the usage line after the program's name */
	const struct option *table;
};

enum options_outcome {
	OPTIONS_RUN,	 /* config is filled in */
	OPTIONS_HELP,	 /* --help was printed: exit 0 */
	OPTIONS_VERSION, /* --version was given: print it and exit 0 */
};

/* Fills in config, whose members the table names, from defaults, environment
 * and argv[1..]. Arguments that are not flags go to *rest (borrowed from argv),
 * or are errors if rest is NULL.
 * -EINVAL: the sentence names the flag or variable and the reason. */
must_check int options_parse(void *config, enum options_outcome *outcome,
	struct option_list *rest, const struct options_program *program,
	char **argv, struct error *err);

/* Writes the help text. */
void options_help(const struct options_program *program, FILE *out);

/* Parses a duration ("1h30m", "2s", "0") into microseconds.
 * -EINVAL: not a duration; -ERANGE: does not fit 64 bits. */
must_check int options_duration(uint64_t *us, const char *text,
	struct error *err);

/* The version all programs report, such as 0.2.0, and its commit. */
extern const char *const plimsoll_version;
extern const char *const plimsoll_commit;

/* A row of a table: the struct and its member, the flag, its type, its
 * placeholder, and designated initialisers for the rest. */
#define OPTION_ROW(struct_, member_, name_, type_, placeholder_, ...)          \
	{                                                                      \
		.name = (name_), .placeholder = (placeholder_),                \
		.type = (type_), .offset = offsetof(struct_, member_),         \
		__VA_ARGS__                                                    \
	}

/* The rows that every daemon has: --log-format, --log-level. format and level
 * are members of the configuration struct. */
#define OPTIONS_LOG_ROWS(struct_, format_, level_)                             \
	OPTION_ROW(struct_, format_, "log-format", OPTION_CHOICE, "FORMAT",    \
		.fallback = "text", .choices = "text json",                    \
		.help = "log format: text (klog) or json"),                    \
		OPTION_ROW(struct_, level_, "log-level", OPTION_CHOICE,        \
			"LEVEL", .fallback = "info",                           \
			.choices = "debug info warning error",                 \
			.help = "minimum log level: debug, info, warning or "  \
				"error")
