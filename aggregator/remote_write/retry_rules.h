/* What becomes of a request of remote write, by how it was answered. Pure. */
#pragma once

#include <stdint.h>

enum remote_verdict {
	REMOTE_SENT,
	/* Nothing is wrong with the request itself: it is sent again. */
	REMOTE_AGAIN,
	/* The engine does not want what is in it, and will not the next time:
	 * the half of it is tried, down to one report, which is dropped. So a
	 * report that is too old takes no other one along. */
	REMOTE_REFUSED,
};

/* status 0: there was no answer. Of the 4xx, that a request was too early
 * (429), has no right to be there (401, 403), found nobody (404) or took too
 * long (408) says nothing of what is in it. */
enum remote_verdict remote_judge(int status);

/* Milliseconds until the next try after so many failures in a row (from 1),
 * where the engine asked for asked_ms or 0; random in [0, 1). */
uint64_t remote_wait_ms(unsigned failures, uint64_t asked_ms, double random);

/* How many reports the next request may have, after one with count of them was
 * refused, or taken. */
uint64_t remote_less(uint64_t count);
uint64_t remote_more(uint64_t limit, uint64_t most);
