/* Reads the history of a whole cluster in another process than the aggregator
 * that uses the database: read-only, without the lock and without threads. */
#pragma once

#include "aggregator/store/store.h"

struct offline_reader {
	const char *path;
	uint64_t from_ms, to_ms; /* sample times; to is exclusive */
	/* Called first, for each pod whose node is known. */
	void (*identity)(void *owner, const struct store_vm *vm);
	/* Called node by node, then hour by hour, for the minutes of the node
	 * and of its pods; false ends the query. */
	bool (*minute)(void *owner, const struct store_rollup *rollup);
	void *owner;
};

/* Reads each hour of a node in one transaction. -ENOENT: the file does not
 * exist; -EINVAL: not a plimsoll database; -ENOTSUP: another format than this
 * program's; others as in store/db.h. */
must_check int offline_reader_read(const struct offline_reader *reader,
	struct error *err);
