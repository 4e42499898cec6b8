/* Conversion of the queue of remote write in older databases.
 *
 * At first the queue was one list in the table outbox, whatever the node. A
 * program of that time may have written to that table again, after a newer one
 * made the shards; its reports follow those of the shards. */
#pragma once

#include "aggregator/store/outbox_table.h"

#include <stdbool.h>

/* Moves the reports of the old table into the shards, and removes it. Does so
 * in transactions of some thousand reports, so that a process that is killed
 * continues at the next start. -ECANCELED: *stopping became true. */
must_check int outbox_convert(struct outbox_table *table, struct sqlite3 *db,
	const _Atomic bool *stopping, struct error *err);
