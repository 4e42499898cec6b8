/* The past of a whole cluster, for a program that runs beside the aggregator
 * whose database it is: read-only, without its lock and its threads. */
#pragma once

#include "aggregator/store/store.h"

struct store_past {
	const char *path;
	uint64_t from_ms, to_ms; /* of sample times; to is exclusive */
	/* Whose a pod is, of all that are known; node is "". Comes first. */
	void (*identity)(void *owner, const struct store_vm *vm);
	/* Minutes, node after node, the node's own and its pods' of an hour by
	 * rising hours; false ends it. */
	bool (*minute)(void *owner, const struct store_rollup *rollup);
	void *owner;
};

/* Each hour of a node is read as it is at one moment. -ENOENT: there is no such
 * file; -EINVAL: another program's; -ENOTSUP: of another format than this
 * program's; else as store_db_open(). */
must_check int store_past_read(const struct store_past *past,
	struct error *err);
