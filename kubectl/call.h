/* Runs kubectl once and waits for its end: an argument vector and never a
 * shell. KUBECTL names another program than kubectl on PATH.
 *
 * Standard input is the plugin's own, so that a way of logging in may ask for a
 * password, unless there is an input to write. The call keeps what kubectl says
 * on standard error. If kubectl has not ended a second later, the call shows
 * those words instead, because somebody may have to answer.
 *
 * A call ends a second after kubectl, even if a process that kubectl left
 * behind holds its output open. kubectl is killed when it wrote too much. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>

enum {
	CALL_OUTPUT_MAX = 64 << 20,	/* of one call; a page has a few MiB */
	CALL_COMPLAINTS_MAX = 16 << 20, /* on standard error; -v=8 is much */
	CALL_COMPLAINT_MAX = 64 << 10,	/* what is kept of it */
	CALL_ARGUMENTS_MAX = 512,
};

struct call {
	const char *program;	      /* NULL: kubectl */
	const char *const *arguments; /* behind the program's name; NULL ends
	                               * them */
	const char *input;	      /* NULL: the plugin's standard input */
	bool is_shown; /* output goes to the plugin's own, unread */
};

struct call_result {
	int status; /* the exit status, or 128 and the signal */
	struct buffer out, complaint;
};

/* Fills in a zeroed *result, for call_result_fini().
 * -ENOENT: there is no kubectl; -EFBIG: above CALL_OUTPUT_MAX or
 * CALL_COMPLAINTS_MAX. */
must_check int call_run(struct call_result *result, const struct call *call,
	struct error *err);
void call_result_fini(struct call_result *result);

/* The argument vector of a call, for execvp(); freed by the other. */
char **call_argv(const struct call *call);
void call_argv_free(char **argv);
