/* The load of every node, now, in memory.
 *
 * Accepts reports in any order: new ones, replays after an outage, and those
 * read from the store. For each node the table keeps the newest report, its
 * last rates and its windows. A sample carries its time on this machine's
 * monotonic clock; a late sample never replaces a newer one, nor makes its node
 * look fresh. No I/O and no clock of its own.
 *
 * Every change raises the revision and moves its node to the end of the list,
 * so a list of the changes since revision r costs no more than its length. */
#pragma once

#include "aggregator/series/rollup.h"
#include "lib/error.h"
#include "proto/load.h"
#include "proto/report.h"

/* Above it, a new node takes the place of one that live/claims.h names, or else
 * of the one with the oldest change if that is lost. */
enum { LIVE_NODES_MAX = 20000 };

struct identities;
struct live;
struct live_node;

struct live_sample {
	const char *node;
	const uint8_t *run_id; /* REPORT_RUN_ID_BYTES */
	const struct report *report;
	/* On this machine's monotonic clock; negative: before the machine
	 * booted. */
	int64_t at_us;
	uint64_t peer; /* equal for all that a peer sends; 0: the store */
};

/* Random, so that no client mistakes another process's revisions for this
 * one's; below 2^53, the largest exact JSON number; not 0, which new clients
 * send. */
uint64_t live_epoch_new(void);

/* The epoch distinguishes this table's revisions from another process's.
 * identities outlives the table, which holds its nodes' pods there
 * (live/pod_refs.h); NULL: VMs have pod uids only. */
struct live *live_new(uint64_t epoch, struct identities *identities);
void live_free(struct live *live); /* NULL is fine */

uint64_t live_epoch(const struct live *live);
uint64_t live_revision(const struct live *live); /* 0: no report yet */
size_t live_count(const struct live *live);

/* Adds a sample; copies of the report what it needs. -ENOSPC: the sample is of
 * another node than the LIVE_NODES_MAX in the table, and none gives way. */
must_check int live_add(struct live *live, const struct live_sample *sample,
	uint64_t now_us, struct error *err);

/* Adds a minute of a node in the table, for the percentile of a day. sample_ms
 * is the wall time of the node's newest sample. */
void live_add_minute(struct live *live, const char *name, uint64_t sample_ms,
	const struct rollup_row *minute);

/* Merges the node's history in `older` under the samples that this table got
 * since live_add_stored() of the newest sample in `older`. Does nothing if the
 * node was rebooted since. */
void live_merge_history(struct live *live, const struct live *older,
	const char *name);

/* Adds a node's last stored sample: the history before it comes from
 * live_merge_history(), and not from the agent's backlog. */
must_check int live_add_stored(struct live *live,
	const struct live_sample *sample, uint64_t now_us, struct error *err);

/* Removes a node, which changes the revision. False: it is not in the table. A
 * client that has the node's figures keeps them, and they age. */
bool live_remove(struct live *live, const char *name);

struct live_node *live_find(const struct live *live, const char *name);

/* When the certificate of a node's agent expires, in seconds since 1970; 0: not
 * known. Setting it for a node that is not in the table does nothing. */
void live_set_certificate_expiry(struct live *live, const char *name,
	uint64_t expiry_s);
uint64_t live_node_certificate_expiry_s(const struct live_node *node);

/* Steps through nodes by rising revision: the first one above revision, then
 * the next; NULL at the end. */
const struct live_node *live_after(const struct live *live, uint64_t revision);
const struct live_node *live_next(const struct live_node *node);

const char *live_node_name(const struct live_node *node);
uint64_t live_node_revision(const struct live_node *node);
size_t live_node_vms(const struct live_node *node);
uint64_t live_node_age_us(const struct live_node *node, uint64_t now_us);
enum load_state live_node_state(const struct live_node *node, uint64_t now_us);
uint32_t live_node_interval_ms(const struct live_node *node);

/* The newest report. VM figures that only every fifth report has are those of
 * the last report that had them. Borrowed until the next live_add(). */
const struct report *live_node_report(const struct live_node *node);

/* The node that the API server states for a pod that this node reports; NULL:
 * it states none. node NULL: the table does not have it. *at is 0 for the first
 * pod of a report, and left alone between its pods: pods in the order of the
 * newest report need no search. Borrowed as from identities_node(). */
const char *live_node_of_pod(const struct live *live,
	const struct live_node *node, const char *pod_uid, size_t *at);

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
