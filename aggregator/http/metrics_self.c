#include "aggregator/http/metrics_self.h"

#include "aggregator/ingest/node_owner.h"
#include "lib/clock.h"
#include "lib/exposition.h"
#include "lib/memory.h"

static void write_acks(struct buffer *out, const struct ingest_counts *counts)
{
	static const char name[] = "plimsoll_aggregator_acks_total";

	exposition_head(out, name,
		"Batches acknowledged as stored, or as received and not on "
		"disk yet",
		EXPOSITION_COUNTER);
	exposition_series(out, name, "state", "stored",
		(double)counts->batches_stored);
	exposition_series(out, name, "state", "received",
		(double)counts->batches_received);
}

static void write_size(struct buffer *out, const struct store_stats *stats)
{
	if (stats->database_bytes != REPORT_UNKNOWN) {
		exposition_single(out, "plimsoll_aggregator_database_bytes",
			"Size of the database without free pages",
			EXPOSITION_GAUGE, (double)stats->database_bytes);
	}
	if (stats->database_max_bytes != REPORT_UNKNOWN) {
		exposition_single(out,
			"plimsoll_aggregator_database_limit_bytes",
			"Size limit of the database", EXPOSITION_GAUGE,
			(double)stats->database_max_bytes);
	}
}

/* Only the first NODE_OWNER_NAMES_MAX, because anybody may invent nodes. */
static void write_rivals(struct buffer *out, const struct node_owners *owners)
{
	static const char name[] = "plimsoll_aggregator_waiting_agents";
	const char *nodes[NODE_OWNER_NAMES_MAX];
	size_t count = owners == NULL
		? 0
		: node_owners_rivals(owners, nodes, clock_monotonic_us());

	exposition_head(out, name,
		"1 for each node with a second agent, which waits",
		EXPOSITION_GAUGE);
	for (size_t i = 0; i < count && i < NODE_OWNER_NAMES_MAX; i++) {
		exposition_series(out, name, "node", nodes[i], 1);
	}
}

static void write_certificates(struct buffer *out,
	const struct metrics_self *self)
{
	static const char name[] =
		"plimsoll_aggregator_certificate_expiry_timestamp_seconds";

	exposition_certificates(out, name, self->certificates,
		count_of(self->certificates));
	exposition_authority(out,
		"plimsoll_aggregator_authority_expiry_timestamp_seconds",
		self->authority_expiry_s);
}

/* Agents, and messages of agents and schedulers. */
static void write_ingest(struct buffer *out, const struct metrics_self *self)
{
	uint64_t now_us = clock_monotonic_us();

	exposition_single(out, "plimsoll_aggregator_agents_connected",
		"Nodes whose agent reports", EXPOSITION_GAUGE,
		self->owners == NULL
			? 0
			: (double)node_owners_connected(self->owners, now_us));
	exposition_single(out, "plimsoll_aggregator_reports_total",
		"Reports accepted, including replays", EXPOSITION_COUNTER,
		(double)self->counts.reports);
	write_acks(out, &self->counts);
	exposition_single(out, "plimsoll_aggregator_refused_messages_total",
		"Messages refused", EXPOSITION_COUNTER,
		(double)self->counts.refused);
	exposition_single(out, "plimsoll_aggregator_wrong_pod_claims_total",
		"VM pods in reports of another node than the pod's",
		EXPOSITION_COUNTER, (double)self->counts.wrong_claims);
	write_rivals(out, self->owners);
	exposition_single(out, "plimsoll_aggregator_limited_batches_total",
		"Batches of a node that sends too many reports",
		EXPOSITION_COUNTER, (double)self->counts.limited);
	exposition_single(out, "plimsoll_aggregator_snapshots_total",
		"Snapshots sent to schedulers", EXPOSITION_COUNTER,
		(double)self->counts.snapshots);
}

static void write_store(struct buffer *out, const struct metrics_self *self)
{
	static const char commits[] =
		"plimsoll_aggregator_commit_duration_seconds";

	exposition_head(out, commits,
		"Duration of a commit, which writes the reports of about a "
		"tenth of a second",
		EXPOSITION_HISTOGRAM);
	histogram_write(out, commits, "", &self->store.commits,
		&store_stats_commits);
	exposition_single(out, "plimsoll_aggregator_storing",
		"1 while incoming reports are stored, else 0", EXPOSITION_GAUGE,
		self->is_storing ? 1 : 0);
	exposition_single(out, "plimsoll_aggregator_database_damaged",
		"1 if damage was found in the database since the start, else 0",
		EXPOSITION_GAUGE, self->store.is_damaged ? 1 : 0);
	write_size(out, &self->store);
	exposition_single(out, "plimsoll_aggregator_rollups_left_out_total",
		"Hours of a node without minutes and hours, because the node "
		"sent too much",
		EXPOSITION_COUNTER, (double)self->store.left_out.hours);
	exposition_single(out,
		"plimsoll_aggregator_rollup_samples_left_out_total",
		"Intervals of VM pods that minutes and hours leave out, "
		"because the node named too many pods in an hour",
		EXPOSITION_COUNTER, (double)self->store.left_out.samples);
}

static void write_drops(struct buffer *out,
	const struct remote_write_health *remote)
{
	static const char name[] =
		"plimsoll_remote_write_dropped_reports_total";

	exposition_head(out, name,
		"Reports that were not sent: queue_full, refused by the "
		"engine, unreadable, or same_time as a later report",
		EXPOSITION_COUNTER);
	exposition_series(out, name, "reason", "queue_full",
		(double)remote->queue.dropped);
	exposition_series(out, name, "reason", "refused",
		(double)remote->refused);
	exposition_series(out, name, "reason", "unreadable",
		(double)remote->unreadable);
	exposition_series(out, name, "reason", "same_time",
		(double)remote->same_time);
}

static void write_remote_write(struct buffer *out,
	const struct remote_write_health *remote)
{
	exposition_single(out, "plimsoll_remote_write_pending_reports",
		"Stored reports that wait to be sent", EXPOSITION_GAUGE,
		(double)remote->queue.reports);
	exposition_single(out, "plimsoll_remote_write_pending_bytes",
		"Size of these reports in the database", EXPOSITION_GAUGE,
		(double)remote->queue.bytes);
	exposition_single(out, "plimsoll_remote_write_lag_seconds",
		"Time since the oldest of these reports was stored",
		EXPOSITION_GAUGE, remote->lag_s);
	exposition_single(out, "plimsoll_remote_write_failing_shards",
		"Shards of the queue whose last request failed",
		EXPOSITION_GAUGE, (double)remote->failing_shards);
	exposition_single(out, "plimsoll_remote_write_sent_requests_total",
		"Requests that the engine accepted", EXPOSITION_COUNTER,
		(double)remote->sent_requests);
	exposition_single(out, "plimsoll_remote_write_sent_reports_total",
		"Reports in these requests", EXPOSITION_COUNTER,
		(double)remote->sent_reports);
	exposition_single(out, "plimsoll_remote_write_sent_samples_total",
		"Samples in these requests", EXPOSITION_COUNTER,
		(double)remote->sent_samples);
	exposition_single(out, "plimsoll_remote_write_retries_total",
		"Requests that were sent again", EXPOSITION_COUNTER,
		(double)remote->retries);
	exposition_single(out,
		"plimsoll_remote_write_last_success_timestamp_seconds",
		"Unix time of the last request that the engine accepted",
		EXPOSITION_GAUGE, remote->last_success_s);
	write_drops(out, remote);
}

static void write_remote_read(struct buffer *out,
	const struct remote_read_health *remote)
{
	static const char name[] =
		"plimsoll_remote_read_unanswered_questions_total";

	exposition_single(out, "plimsoll_remote_read_questions_total",
		"Questions about histories and profiles that the engine was "
		"to answer",
		EXPOSITION_COUNTER, (double)remote->questions);
	exposition_head(out, name,
		"Questions without an answer: busy, too many at a time; "
		"timeout; or failed",
		EXPOSITION_COUNTER);
	exposition_series(out, name, "reason", "busy", (double)remote->busy);
	exposition_series(out, name, "reason", "failed",
		(double)remote->failures);
	exposition_series(out, name, "reason", "timeout",
		(double)remote->timeouts);
	exposition_single(out, "plimsoll_remote_read_seconds_total",
		"Time from these questions to their end", EXPOSITION_COUNTER,
		remote->seconds);
}

void metrics_self_write(struct buffer *out, const struct metrics_self *self)
{
	exposition_single(out, "plimsoll_aggregator_identities",
		"VM pods whose namespace and name are known", EXPOSITION_GAUGE,
		(double)self->identities);
	write_ingest(out, self);
	write_certificates(out, self);
	exposition_responses(out, "plimsoll_aggregator_http_requests_total",
		self->responses, count_of(self->responses));
	if (self->is_remote) {
		write_remote_write(out, &self->remote);
	}
	if (self->is_remote_read) {
		write_remote_read(out, &self->remote_read);
	}
	write_store(out, self);
}
