/* Questions for outlooks, until they are answered.
 *
 * One on a VM is answered at once. One on the cluster waits for what GET
 * /v1/room says, OUTLOOKS_ROOM_MS at most. */
#pragma once

#include "scheduler/loads/question_client.h"

#include <sys/queue.h>

enum { OUTLOOKS_ROOM_MS = 8000 };

struct answers_options;
struct json_value;
struct outlook_job;

/* Both members are borrowed and outlive it; the list starts empty. */
struct outlooks {
	const struct answers_options *options;
	const char *scheduler; /* this replica's identity */
	LIST_HEAD(outlook_jobs, outlook_job) jobs;
};

/* A question of kind QUESTION_OUTLOOK with its body; both are borrowed for the
 * call. Answers it, maybe before this returns. */
void outlooks_ask(struct outlooks *outlooks, const struct json_value *body,
	const struct question *question, const struct question_ref *ref);

/* Those that wait are not answered any more. */
void outlooks_close(struct outlooks *outlooks);
