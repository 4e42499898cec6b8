/* The load of every node, now, in memory.
 *
 * Takes reports in any order, fresh, replayed after an outage or read back from
 * the store, and keeps of each node the newest one, its last rates and its
 * windows. A sample carries the time it was taken at, on this machine's
 * monotonic clock; nothing that came late replaces what is newer or looks
 * fresh. No I/O and no clock of its own.
 *
 * Every change raises the revision and moves its node to the end of the list,
 * so "what is newer than revision r" costs only what is newer. */
#pragma once

#include "aggregator/series/rollup.h"
#include "lib/error.h"
#include "proto/load.h"
#include "proto/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Beyond them the node that was silent longest gives way, if it is lost. */
enum { LIVE_NODES_MAX = 20000 };

struct identities;
struct live;
struct live_node;

struct live_sample {
	const char *node;
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES */
	const struct report *report;
	/* When it was taken, on this machine's monotonic clock; below 0 if that
	 * was before the machine came up. */
	int64_t at_us;
};

/* The epoch tells this table's revisions from another process's. identities
 * outlives the table, or is NULL: VMs are pod uids then. */
struct live *live_new(uint64_t epoch, const struct identities *identities);
void live_free(struct live *live); /* NULL is fine */

uint64_t live_epoch(const struct live *live);
uint64_t live_revision(const struct live *live); /* 0: nothing came yet */
size_t live_count(const struct live *live);

/* Takes a sample; the report is copied as far as it is needed.
 * -ENOSPC: too many nodes, this one is not among them. */
must_check int live_take(struct live *live, const struct live_sample *sample,
	uint64_t now_us, struct error *err);

/* A minute of a node that the table has, for the percentile of a day. sample_ms
 * is the wall time of its newest sample. */
void live_add_minute(struct live *live, const char *name, uint64_t sample_ms,
	const struct rollup_row *minute);

/* Puts what another table knows of a node behind what this one has of it since
 * a stored sample, which was the newest of the other. Does nothing if the node
 * was started anew since then. */
void live_put_behind(struct live *live, const struct live *past,
	const char *name);

/* The same of a node's last stored sample: what was before it is not taken from
 * its sender but comes by live_put_behind(). */
must_check int live_take_stored(struct live *live,
	const struct live_sample *sample, uint64_t now_us, struct error *err);

struct live_node *live_find(const struct live *live, const char *name);

/* Steps through nodes by rising revision: the first one above revision, then
 * the next; NULL at the end. */
const struct live_node *live_after(const struct live *live, uint64_t revision);
const struct live_node *live_next(const struct live_node *node);

const char *live_node_name(const struct live_node *node);
uint64_t live_node_revision(const struct live_node *node);
size_t live_node_vms(const struct live_node *node);
uint64_t live_node_age_us(const struct live_node *node, uint64_t now_us);
uint32_t live_node_interval_ms(const struct live_node *node);

/* The newest one, in which figures of VMs that only every fifth report has
 * stand as they were said last. Borrowed until the next live_take(). */
const struct report *live_node_report(const struct live_node *node);

/* All figures of the node with its age at now_us; release with
 * node_load_fini(). */
void live_node_load(struct node_load *out, const struct live_node *node,
	uint64_t now_us);

/* The same without its VMs. */
void live_node_figures(struct node_load *out, const struct live_node *node,
	uint64_t now_us);

/* One VM's figures without its namespace and name; i is its index in the
 * report. */
void live_node_vm(struct vm_load *out, const struct live_node *node, size_t i);
