#include "aggregator/http/remote_metrics.h"

#include "lib/exposition.h"

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

void remote_metrics_write(struct buffer *out,
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

void remote_metrics_write_read(struct buffer *out,
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
