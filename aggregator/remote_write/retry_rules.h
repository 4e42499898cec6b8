/* Decides by the status whether a remote write request is sent again. Pure. */
#pragma once

#include <stdint.h>

enum retry_verdict {
	RETRY_SENT,
	/* The request itself is valid: it is sent again. */
	RETRY_AGAIN,
	/* The engine refuses a report of the request: the request is split in
	 * half until it has one report, which is dropped. A report that is too
	 * old therefore costs no other report. */
	RETRY_REFUSED,
};

/* status 0: no response. These 4xx are no verdict on the reports: 401 and 403
 * (not allowed), 404 (no such endpoint), 408 (timeout), 429 (too early). */
enum retry_verdict retry_judge(int status);

/* Milliseconds until the next attempt. failures: in a row, from 1; asked_ms:
 * the engine's Retry-After, or 0; random: in [0, 1). */
uint64_t retry_wait_ms(unsigned failures, uint64_t asked_ms, double random);

/* The number of reports in the next request: half of a refused one, twice the
 * limit after an accepted one. */
uint64_t retry_shrink(uint64_t count);
uint64_t retry_grow(uint64_t limit, uint64_t most);
