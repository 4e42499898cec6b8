#include "scheduler/metrics.h"

#include "lib/memory.h"
#include "scheduler/filter/constraint_cost.h"
#include "scheduler/filter/filter.h"
#include "scheduler/moves_metrics.h"

/* kube-scheduler 1.36, pkg/scheduler/metrics/metrics.go. */
static const struct histogram_shape attempt_shape = { 0.001, 2, 15 };
static const struct histogram_shape sli_shape = { 0.01, 2, 20 };
static const struct histogram_shape pod_attempts_shape = { 1, 2, 5 };
/* From a report's interval to the age at which a node is lost. */
static const struct histogram_shape age_shape = { 0.25, 2, 11 };

/* 5 ms, the goal, is one of the bounds. */
static const struct histogram_shape decision_cpu_shape = { 0.0003125, 2, 12 };

static double seconds(int64_t us)
{
	return (double)(us > 0 ? us : 0) / 1e6;
}

/* ---- events ---- */

void metrics_begin(struct metrics *metrics, struct queued_pod *queued,
	int64_t now_us, uint64_t cpu_us)
{
	if (queued->state == QUEUED_UNSCHEDULABLE) {
		metrics->flushed++;
	}
	if (queued->attempts == 0) {
		queued->first_us = now_us;
	}
	queued->attempts++;
	queued->attempt_us = now_us;
	metrics->began_cpu_us = cpu_us;
}

/* One plugin refuses a pod for its own spec, on every node. */
static enum filter_plugin refuser(const struct decision *decision)
{
	if (decision->pod->unsupported != NULL ||
		decision->prefilter.refusal == constraint_cost_refusal) {
		return PLUGIN_UNSUPPORTED;
	}
	return decision->prefilter.refusal ==
			decision->prefilter.volumes.refusal
		? PLUGIN_VOLUME_BINDING
		: PLUGIN_NODE_AFFINITY;
}

static uint32_t rejecting_plugins(const struct decision *decision)
{
	uint32_t plugins = 0;

	for (unsigned int i = 0; i < REASONS_MAX; i++) {
		if (decision->counts[i] > 0) {
			plugins |= UINT32_C(1)
				<< (i == REASON_REFUSED ? refuser(decision)
							: filter_plugin(i));
		}
	}
	return plugins;
}

void metrics_decided(struct metrics *metrics, struct queued_pod *queued,
	const struct decision *decision, int64_t now_us, uint64_t cpu_us)
{
	const struct node *chosen = decision_chosen(decision);

	histogram_observe(&metrics->algorithm, &attempt_shape,
		seconds(now_us - queued->attempt_us));
	histogram_observe(&metrics->decision_cpu, &decision_cpu_shape,
		seconds((int64_t)(cpu_us - metrics->began_cpu_us)));
	if (chosen == NULL) {
		queued->plugins = rejecting_plugins(decision);
	} else if (decision->best[0].score.trust > 0) {
		histogram_observe(&metrics->load_age, &age_shape,
			seconds(queued->attempt_us -
				chosen->metrics.sample_us));
	} else {
		metrics->without_load++;
	}
}

static void end_attempt(struct metrics *metrics,
	const struct queued_pod *queued, enum attempt_result result,
	int64_t now_us)
{
	histogram_observe(&metrics->attempts[result], &attempt_shape,
		seconds(now_us - queued->attempt_us));
}

void metrics_unschedulable(struct metrics *metrics,
	const struct queued_pod *queued, int64_t now_us)
{
	end_attempt(metrics, queued, ATTEMPT_UNSCHEDULABLE, now_us);
	metrics->to_unschedulable++;
}

void metrics_bound(struct metrics *metrics, const struct queued_pod *queued,
	enum bind_outcome outcome, int64_t now_us)
{
	size_t last;

	metrics->bindings[outcome]++;
	if (queued == NULL || queued->attempts == 0) {
		return;
	}
	if (outcome != BIND_DONE) {
		end_attempt(metrics, queued, ATTEMPT_ERROR, now_us);
		metrics->to_backoff += outcome == BIND_REFUSED;
		return;
	}
	end_attempt(metrics, queued, ATTEMPT_SCHEDULED, now_us);
	last = queued->attempts - 1;
	last = last < METRICS_ATTEMPTS_MAX ? last : METRICS_ATTEMPTS_MAX - 1;
	histogram_observe(&metrics->pod_attempts, &pod_attempts_shape,
		queued->attempts);
	histogram_observe(&metrics->sli[last], &sli_shape,
		seconds(now_us - queued->first_us));
}

void metrics_extender_request(struct metrics *metrics, enum extender_verb verb,
	enum extender_outcome outcome)
{
	metrics->extender_requests[verb][outcome]++;
}

/* ---- the text ---- */

/* {result="...",profile="..."}, without the braces. */
static void attempt_labels(struct buffer *out, enum attempt_result result,
	const char *profile)
{
	static const char *const names[] = {
		[ATTEMPT_SCHEDULED] = "scheduled",
		[ATTEMPT_UNSCHEDULABLE] = "unschedulable",
		[ATTEMPT_ERROR] = "error",
	};

	buffer_printf(out, "result=\"%s\"", names[result]);
	exposition_label(out, "profile", profile);
}

static void write_attempts(struct buffer *out, const struct metrics *metrics,
	const char *profile)
{
	static const char count[] = "scheduler_schedule_attempts_total";
	static const char latency[] =
		"scheduler_scheduling_attempt_duration_seconds";

	exposition_head(out, count, "Attempts to schedule a pod, by result",
		EXPOSITION_COUNTER);
	for (int i = 0; i < ATTEMPT_RESULTS; i++) {
		buffer_printf(out, "%s{", count);
		attempt_labels(out, (enum attempt_result)i, profile);
		buffer_char(out, '}');
		exposition_value(out, (double)metrics->attempts[i].count);
	}
	exposition_head(out, latency,
		"Duration of an attempt, from the decision to the end of the "
		"binding",
		EXPOSITION_HISTOGRAM);
	for (int i = 0; i < ATTEMPT_RESULTS; i++) {
		scoped_buffer struct buffer labels = BUFFER_MAX(1024);

		attempt_labels(&labels, (enum attempt_result)i, profile);
		histogram_write(out, latency, labels.data,
			&metrics->attempts[i], &attempt_shape);
	}
}

static void write_pods(struct buffer *out, const struct metrics *metrics)
{
	static const char algorithm[] =
		"scheduler_scheduling_algorithm_duration_seconds";
	static const char cpu[] = "plimsoll_scheduler_decision_cpu_seconds";
	static const char sli[] =
		"scheduler_pod_scheduling_sli_duration_seconds";
	static const char attempts[] = "scheduler_pod_scheduling_attempts";

	exposition_head(out, algorithm, "Duration of a decision",
		EXPOSITION_HISTOGRAM);
	histogram_write(out, algorithm, "", &metrics->algorithm,
		&attempt_shape);
	exposition_head(out, cpu, "CPU time of a decision",
		EXPOSITION_HISTOGRAM);
	histogram_write(out, cpu, "", &metrics->decision_cpu,
		&decision_cpu_shape);
	exposition_head(out, sli,
		"Time from a pod's first attempt to its binding, by number of "
		"attempts",
		EXPOSITION_HISTOGRAM);
	for (unsigned int i = 0; i < METRICS_ATTEMPTS_MAX; i++) {
		scoped_buffer struct buffer labels = BUFFER_MAX(64);

		buffer_printf(&labels, "attempts=\"%u%s\"", i + 1,
			i + 1 == METRICS_ATTEMPTS_MAX ? "+" : "");
		if (metrics->sli[i].count > 0) {
			histogram_write(out, sli, labels.data, &metrics->sli[i],
				&sli_shape);
		}
	}
	exposition_head(out, attempts, "Attempts until a pod was bound",
		EXPOSITION_HISTOGRAM);
	histogram_write(out, attempts, "", &metrics->pod_attempts,
		&pod_attempts_shape);
}

struct queue_counts {
	size_t active, backoff, unschedulable, gated;
	size_t plugins[FILTER_PLUGINS];
};

static void count_waiting(struct queue_counts *counts,
	const struct queued_pod *queued, int64_t now_us)
{
	if (queued->state == QUEUED_GATED) {
		counts->gated++;
	} else if (queued->state == QUEUED_UNSCHEDULABLE) {
		counts->unschedulable++;
		for (int i = 0; i < FILTER_PLUGINS; i++) {
			counts->plugins[i] += queued->plugins >> i & 1;
		}
	} else if (queued->state == QUEUED_READY) {
		if (queued->not_before_us > now_us) {
			counts->backoff++;
		} else {
			counts->active++;
		}
	}
}

static void write_incoming(struct buffer *out, const struct metrics *metrics,
	const struct queue *queue)
{
	static const char name[] = "scheduler_queue_incoming_pods_total";
	const struct {
		const char *queue, *event;
		uint64_t count;
	} rows[] = {
		{ "active", "PodAdd", queue->added },
		{ "active", "ClusterChange", queue->woken },
		{ "active", "UnschedulableTimeout", metrics->flushed },
		{ "backoff", "ScheduleAttemptFailure", metrics->to_backoff },
		{ "unschedulable", "ScheduleAttemptFailure",
			metrics->to_unschedulable },
	};

	exposition_head(out, name, "Pods added to a queue, by event",
		EXPOSITION_COUNTER);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buffer_printf(out, "%s{queue=\"%s\",event=\"%s\"}", name,
			rows[i].queue, rows[i].event);
		exposition_value(out, (double)rows[i].count);
	}
}

static void write_queue(struct buffer *out, const struct metrics *metrics,
	const struct scheduler_view *now, const char *profile)
{
	static const char pending[] = "scheduler_pending_pods";
	static const char by_plugin[] = "scheduler_unschedulable_pods";
	struct queue_counts counts = { 0 };
	size_t at = 0;
	void *value;

	while (map_next(&now->queue->by_uid, &at, NULL, &value)) {
		count_waiting(&counts, value, now->now_us);
	}
	exposition_head(out, pending, "Pending pods, by queue",
		EXPOSITION_GAUGE);
	exposition_series(out, pending, "queue", "active",
		(double)counts.active);
	exposition_series(out, pending, "queue", "backoff",
		(double)counts.backoff);
	exposition_series(out, pending, "queue", "unschedulable",
		(double)counts.unschedulable);
	exposition_series(out, pending, "queue", "gated", (double)counts.gated);
	write_incoming(out, metrics, now->queue);
	exposition_head(out, by_plugin,
		"Unschedulable pods by each plugin that rejected them on some "
		"node",
		EXPOSITION_GAUGE);
	for (int i = 0; i < FILTER_PLUGINS; i++) {
		buffer_printf(out, "%s{plugin=\"%s\"", by_plugin,
			filter_plugin_name((enum filter_plugin)i));
		exposition_label(out, "profile", profile);
		buffer_char(out, '}');
		exposition_value(out, (double)counts.plugins[i]);
	}
}

static void write_cache(struct buffer *out, const struct scheduler_view *now)
{
	static const char name[] = "scheduler_cache_size";

	exposition_head(out, name,
		"Nodes, pods and assumed pods in the scheduler's cache",
		EXPOSITION_GAUGE);
	exposition_series(out, name, "type", "nodes",
		(double)now->cache->cluster.count);
	exposition_series(out, name, "type", "pods",
		(double)now->cache->pods.count);
	exposition_series(out, name, "type", "assumed_pods",
		(double)cache_assumed(now->cache));
	exposition_single(out, "plimsoll_scheduler_cache_age_seconds",
		"Since the API server was last heard of by that watch which "
		"has waited longest",
		EXPOSITION_GAUGE, now->cache_age_s);
}

static void write_bindings(struct buffer *out, const struct metrics *metrics)
{
	static const char bindings[] = "plimsoll_scheduler_bindings_total";
	static const char rejections[] =
		"plimsoll_scheduler_rejected_by_kubelet_total";
	static const char *const outcomes[] = {
		[BIND_DONE] = "done",
		[BIND_REFUSED] = "refused",
		[BIND_GONE] = "gone",
		[BIND_UNKNOWN] = "unknown",
	};

	exposition_head(out, bindings,
		"Bindings by outcome; gone: the pod was deleted, or another "
		"scheduler bound it; unknown: the API server does not show the "
		"pod",
		EXPOSITION_COUNTER);
	for (int i = 0; i < BIND_OUTCOMES; i++) {
		exposition_series(out, bindings, "outcome", outcomes[i],
			(double)metrics->bindings[i]);
	}
	exposition_head(out, rejections,
		"Pods that the kubelet of their node rejected, by reason",
		EXPOSITION_COUNTER);
	for (int i = REJECTION_NONE + 1; i < REJECTIONS; i++) {
		exposition_series(out, rejections, "reason",
			rejection_name((enum rejection)i),
			(double)metrics->rejections[i]);
	}
}

static void write_events(struct buffer *out, const struct scheduler_view *now)
{
	static const char name[] = "plimsoll_scheduler_events_suppressed_total";
	static const char *const limits[] = {
		[EVENTS_OF_POD] = "pod",
		[EVENTS_OF_ALL] = "total",
		[EVENTS_OF_VMI] = "vmi",
		[EVENTS_IN_FLIGHT] = "in_flight",
	};

	exposition_head(out, name,
		"Events that were not sent, by limit; pod: one per pod and "
		"rejecting plugin in 5 min; total: 30 a second; vmi: of a VMI "
		"while there are many; in_flight: 384 requests",
		EXPOSITION_COUNTER);
	for (int i = 0; i < EVENTS_LIMITS; i++) {
		exposition_series(out, name, "limit", limits[i],
			(double)now->suppressed[i]);
	}
}

static void write_leader(struct buffer *out, const struct scheduler_view *now)
{
	static const char name[] = "leader_election_master_status";

	if (now->lease != NULL) {
		exposition_head(out, name,
			"1 while this process holds the Lease",
			EXPOSITION_GAUGE);
		exposition_series(out, name, "name", now->lease, now->leads);
	}
}

static void write_load(struct buffer *out, const struct metrics *metrics,
	const struct scheduler_view *now)
{
	static const char age[] = "plimsoll_scheduler_load_age_seconds";
	static const char nodes[] = "plimsoll_scheduler_nodes";
	size_t fresh = cache_fresh_loads(now->cache, now->now_us);

	exposition_head(out, age,
		"Age of the chosen node's newest sample at the decision",
		EXPOSITION_HISTOGRAM);
	histogram_write(out, age, "", &metrics->load_age, &age_shape);
	exposition_single(out, "plimsoll_scheduler_without_load_total",
		"Decisions for a node without a load, or with one that is too "
		"old",
		EXPOSITION_COUNTER, (double)metrics->without_load);
	exposition_head(out, nodes, "Nodes by the state of their load",
		EXPOSITION_GAUGE);
	exposition_series(out, nodes, "load", "fresh", (double)fresh);
	exposition_series(out, nodes, "load", "not_fresh",
		(double)(now->cache->cluster.count - fresh));
	exposition_single(out, "plimsoll_scheduler_aggregators",
		"Configured aggregators", EXPOSITION_GAUGE,
		(double)now->aggregators);
	exposition_single(out, "plimsoll_scheduler_aggregators_connected",
		"Connected aggregators", EXPOSITION_GAUGE,
		(double)now->connected);
}

static void write_extended(struct buffer *out, const struct metrics *metrics)
{
	static const char name[] = "plimsoll_scheduler_extender_requests_total";
	static const char *const verbs[] = {
		[EXTENDER_FILTER] = "filter",
		[EXTENDER_PRIORITIZE] = "prioritize",
	};
	static const char *const outcomes[] = {
		[EXTENDER_JUDGED] = "judged",
		[EXTENDER_NO_OPINION] = "no_opinion",
		[EXTENDER_REFUSED] = "refused",
	};

	exposition_head(out, name,
		"Requests to the extender, by verb and outcome",
		EXPOSITION_COUNTER);
	for (int i = 0; i < EXTENDER_VERBS; i++) {
		for (int k = 0; k < EXTENDER_OUTCOMES; k++) {
			buffer_printf(out, "%s{verb=\"%s\",outcome=\"%s\"}",
				name, verbs[i], outcomes[k]);
			exposition_value(out,
				(double)metrics->extender_requests[i][k]);
		}
	}
}

static void write_certificates(struct buffer *out,
	const struct scheduler_view *now)
{
	const struct exposition_certificate certificates[] = {
		{ "aggregator", now->aggregator_expiry_s },
		{ "http", now->http_expiry_s },
		{ "webhook", now->webhook_expiry_s },
	};

	exposition_certificates(out,
		"plimsoll_scheduler_certificate_expiry_timestamp_seconds",
		certificates, count_of(certificates));
	exposition_authority(out,
		"plimsoll_scheduler_authority_expiry_timestamp_seconds",
		now->authority_expiry_s);
}

void metrics_write(struct buffer *out, const struct scheduler_view *now,
	const char *profile)
{
	const struct metrics *metrics = now->metrics;

	exposition_process(out, now->started_us);
	exposition_responses(out, "plimsoll_scheduler_http_requests_total",
		now->responses, count_of(now->responses));
	write_certificates(out, now);
	write_leader(out, now);
	write_attempts(out, metrics, profile);
	write_pods(out, metrics);
	write_queue(out, metrics, now, profile);
	write_cache(out, now);
	write_bindings(out, metrics);
	write_events(out, now);
	write_load(out, metrics, now);
	write_extended(out, metrics);
	if (now->moves.has_moves) {
		moves_metrics_write(out, &now->moves);
	}
}
