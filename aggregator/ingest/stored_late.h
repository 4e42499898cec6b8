/* Which reports came to the disk after their batch was answered.
 *
 * Where a commit takes longer than a sender is kept waiting, every batch is
 * answered as received, and what is sent again would be as late as before. What
 * is noted here need not be written again: it is stored. In memory, bounded;
 * what was forgotten is only written once more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LATE_RUNS_MAX = 4096, /* of agents; the one longest not noted goes */
	LATE_SPANS_MAX = 64,  /* of successive seqs in each; the first goes */
};

struct late;

struct late *late_new(void);
void late_free(struct late *late); /* NULL is fine */

/* This report is on disk. run_id has REPORT_RUN_ID_BYTES. */
void late_note(struct late *late, const char *node, const uint8_t *run_id,
	uint64_t seq);

/* True: it was noted, and not forgotten. */
bool late_has(const struct late *late, const char *node, const uint8_t *run_id,
	uint64_t seq);
