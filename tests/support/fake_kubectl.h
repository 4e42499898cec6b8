/* A kubectl that a test plays. Each call of the plugin must be the next of the
 * test's exchanges, and gets the answer that stands there. The fake keeps all
 * that the plugin tells and asks the user as text. A wait takes no time: it
 * moves the clock. */
#pragma once

#include "kubectl/api_client.h"
#include "kubectl/flags.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"
#include "tests/support/fake_clock.h"

#include <stdint.h>

struct exchange {
	const char *call; /* the arguments; then " < " and the input, if any */
	const char *out;  /* NULL: nothing */
	const char *complaint; /* kubectl's words on standard error, or NULL */
	int status;
	int error;	 /* kubectl could not run: what call_run() returns */
	size_t claims;	 /* bytes that out pretends to have; 0: what it has */
	bool is_cut_off; /* Ctrl-C comes meanwhile */
};

extern struct plugin {
	struct flags flags;
	struct api_client client;
	const struct exchange *next;
	size_t left;	    /* calls that have not come */
	struct buffer said; /* errors begin with "! ", questions with "? " */
	bool says_yes;
	unsigned waits, ctrl_c_wait; /* Ctrl-C comes in that wait; 0: never */
	unsigned char numbers;	     /* random ones that were given */
	bool has_no_random;
	size_t blocks; /* of memory, when the test began */
} plugin;

#define NOT_FOUND "Error from server (NotFound): it is not there\n"
#define FORBIDDEN "Error from server (Forbidden): you may not\n"

/* The calls that are to come now. */
#define given(exchanges) given_calls(exchanges, count_of(exchanges))
void given_calls(const struct exchange *exchanges, size_t count);

/* Checks what the plugin said since the last time. */
void assert_said(const char *text);

/* Checks kubectl's words about the last failure. */
void assert_complaint(const char *text);

/* The teardown also checks that all calls came, that all that was said was
 * checked, that Ctrl-C ends the plugin again and that all memory is free. */
int plugin_setup(void **state);
int plugin_teardown(void **state);
