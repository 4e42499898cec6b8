/* Conversion of older databases.
 *
 * In format 1 each report was a row forever. In format 2 the identity of a pod
 * had no node: the pod then gets the node that reported it first, because the
 * API server states it again only if the pod still exists. In format 3
 * decisions had no VM: these keep none. In format 4 chunks had a version before
 * 3: these stay. In format 5 the head was the table tail, whose slots had
 * 131 s: its rows move, and keep everything but their ids. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>

struct sqlite3;

/* Converts reports in transactions of some thousand, so that a process that is
 * killed continues at the next start. schema creates the tables of format 6
 * and sets the version. -ECANCELED: *stopping became true. */
must_check int conversion_run(struct sqlite3 *db, const char *schema,
	const _Atomic bool *stopping, struct error *err);
