/* Conversion of a database of format 1, where each report was a row forever. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>

struct sqlite3;

/* Converts in transactions of some thousand reports, so that a process that is
 * killed continues at the next start. schema creates the tables of format 2
 * and sets the version. -ECANCELED: *stopping became true. */
must_check int migrate_run(struct sqlite3 *db, const char *schema,
	const _Atomic bool *stopping, struct error *err);
