/* The tables of the database, their version, and whose database a file is.
 *
 * On disk, most tables and columns keep the names of their first version:
 *
 *     table        in the code                          module
 *     head         one row a report                     head
 *     seqs         intervals of the seqs of a run       head
 *     node, run    nodes, and the runs of their agents  head
 *     place        pod_nodes: a pod's nodes, and when   pod_nodes
 *     identity     store_identity: a pod's VM and node  pod_nodes
 *     raw_DAY      partition of STORE_RAW: chunks       partition, compact
 *     m1_DAY       partition of STORE_1M: minutes       partition, rollups
 *     h1_32DAYS    partition of STORE_1H: hours         partition, rollups
 *     rollup_due   hours whose chunks have changed      compact, rollups
 *     outbox_shard reports for remote write             outbox_table
 *     decision     decision records                     decisions
 *     move         moves, the last revision of each     move_table
 *     blob_bytes   bytes of each node in partitions     blob_bytes
 *     retention    the time that deletion has reached   maintenance
 *
 * The last five modules create their tables themselves. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>

struct sqlite3;

/* Checks by reading alone whether the file is the store's; 0 if there is no
 * file. -EINVAL: another program made the database; -EBADMSG: damaged. */
must_check int store_schema_check_owner(const char *path, struct error *err);

/* Creates the schema if there is none, and converts an older one, which may
 * take minutes. -ENOTSUP: a newer version made the database; -ECANCELED:
 * *stopping became true. */
must_check int store_schema_prepare(struct sqlite3 *db,
	const _Atomic bool *stopping, struct error *err);

/* -ENOTSUP: the database's format is not the one that this program writes. */
must_check int store_schema_check_format(struct sqlite3 *db, struct error *err);
