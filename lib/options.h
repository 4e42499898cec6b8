/* Command line options from one table: flag, environment variable, default,
 * help and validation. docs/configuration.md is held against the same tables.
 *
 * `--flag value`, `--flag=value` and `--bool` are accepted; a flag beats its
 * variable, which beats the default. The variable of `--kvm-probe` is
 * PLIMSOLL_KVM_PROBE unless the table names another one beside it. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
	OPTION_TEXT,	 /* const char *: points into argv or the environment */
	OPTION_LIST,	 /* struct option_list: may be repeated; the variable is
	                  * split at commas */
	OPTION_BOOL,	 /* bool */
	OPTION_INTEGER,	 /* int64_t within [min, max] */
	OPTION_DURATION, /* uint64_t microseconds within [min, max] us, written
	                  * as Go does: 2s, 250ms, 1h30m, 7d */
	OPTION_BYTES,	 /* uint64_t within [min, max]: 100MB, 40GiB, 1024 */
	OPTION_CHOICE,	 /* int: index into the space-separated `choices` */
};

enum { OPTION_LIST_MAX = 16 };

struct option_list {
	const char *items[OPTION_LIST_MAX];
	size_t count;
};

struct option {
	const char *name;	 /* without the dashes; NULL ends a table */
	const char *placeholder; /* "URL" in the help; NULL for booleans */
	enum option_type type;
	size_t offset;	      /* of the member in the configuration struct */
	const char *fallback; /* the default as one would type it; NULL: none */
	const char *help;     /* one sentence without full stop */
	double min, max;      /* both 0: no bounds */
	const char *choices;
	const char *extra_env; /* a further variable: NODE_NAME; or NULL */
};

struct options_program {
	const char *name;    /* plimsoll-agent */
	const char *summary; /* one line */
	const char *usage;   /* what follows the name in the usage line */
	const struct option *table;
};

enum options_outcome {
	OPTIONS_RUN,  /* the configuration is filled in */
	OPTIONS_EXIT, /* --help or --version was printed: exit 0 */
};

/* Fills config (whose members the table points at) from defaults, environment
 * and argv[1..]. Arguments that are not flags are moved into *rest (borrowed
 * from argv) if it is not NULL; otherwise they are errors.
 * -EINVAL: one sentence says which flag or variable is wrong and why. */
must_check int options_parse(void *config, enum options_outcome *outcome,
	struct option_list *rest, const struct options_program *program,
	char **argv, struct error *err);

/* Writes the help text. */
void options_help(const struct options_program *program, FILE *out);

/* Parses a duration ("1h30m", "2s", "0") to microseconds.
 * -EINVAL: not a duration; -ERANGE: more than 64 bits hold. */
must_check int options_duration(uint64_t *us, const char *text,
	struct error *err);

/* Whether address ends in ':' and a port from 0 to 65535. What resolves
 * addresses takes larger ones too, and counts them modulo 65536. */
bool options_has_port(const char *address);

/* The version all programs report. */
extern const char *const plimsoll_version;

/* Rows every daemon has: --log-format, --log-level. The struct holds them at
 * the given offsets. */
#define OPTIONS_LOG_ROWS(type, format, level)                                  \
	{ "log-format", "FORMAT", OPTION_CHOICE, offsetof(type, format),       \
		"text", "how logs are written: text (klog) or json", 0, 0,     \
		"text json", NULL },                                           \
	{                                                                      \
		"log-level", "LEVEL", OPTION_CHOICE, offsetof(type, level),    \
			"info",                                                \
			"least level that is logged: debug, info, warning or " \
			"error",                                               \
			0, 0, "debug info warning error", NULL                 \
	}
