/* Questions to the API server whose answers are remembered for a while.
 *
 * Who asks the same while the answer is on its way, or is remembered, shares
 * it. At most MEMO_RUNNING questions are put at a time, the rest waits in
 * order; open and remembered ones together are MEMO_ENTRIES at most, where the
 * oldest answer gives way. A question may hold a token: it and its answer are
 * overwritten when they are forgotten, with the first question after their
 * time. */
#pragma once

#include "kube/client.h"
#include "lib/error.h"

#include <stdint.h>

enum {
	MEMO_ENTRIES = 2048,
	MEMO_RUNNING = 32,
	MEMO_TIMEOUT_MS = 4000, /* peers wait for longer than for three */
	MEMO_ANSWER_MAX = 256 << 10,
	MEMO_KEPT_MAX = 16 << 10, /* answers larger than this are not kept */
};

struct memo;

/* For how many microseconds an answer may be given again; 0: not at all. */
typedef uint64_t (*memo_keep)(const struct kube_answer *answer);

/* The answer is borrowed until the next question is asked. Status 0 where
 * none was had; error says why. */
typedef void (*memo_done)(void *owner, const struct kube_answer *answer);

struct memo_question {
	const char *method; /* a literal */
	const char *path;   /* copied */
	const char *body;   /* copied; NULL: none */
	memo_keep keep;
	memo_done done; /* exactly once, maybe before memo_ask() returns */
	void *owner;
};

/* Takes the client. Never NULL. */
struct memo *memo_new(struct kube_client *client);

void memo_ask(struct memo *memo, const struct memo_question *question,
	uint64_t now_us);

/* Closes the client. Open questions get their answer now, with status 0, and
 * so does every further one. */
void memo_stop(struct memo *memo);

void memo_free(struct memo *memo); /* after memo_stop(); NULL is fine */
