#include "scheduler/admission/admission_metrics.h"

#include "lib/exposition.h"

static void write_check(struct buffer *out,
	const struct admission_check_stats *stats)
{
	static const char name[] = "plimsoll_scheduler_admission_state";
	static const char pods[] = "plimsoll_scheduler_admission_default_pods";

	exposition_head(out, name,
		"1 for what sets schedulerName on VMs of labelled namespaces",
		EXPOSITION_GAUGE);
	for (int i = 0; i < SERVING_STATES; i++) {
		exposition_series(out, name, "state",
			serving_name((enum serving)i),
			stats->serving == (enum serving)i);
	}
	exposition_single(out, "plimsoll_scheduler_admission_namespaces",
		"Namespaces with the label plimsoll.io/schedule=enabled",
		EXPOSITION_GAUGE, (double)stats->labelled);
	exposition_head(out, pods,
		"Pods of VMs in these namespaces with schedulerName "
		"default-scheduler",
		EXPOSITION_GAUGE);
	exposition_series(out, pods, "created", "watched",
		(double)stats->pods.missed);
	exposition_series(out, pods, "created", "earlier",
		(double)stats->pods.earlier);
	exposition_single(out, "plimsoll_scheduler_admission_unsupported_pods",
		"Pods of VMs in these namespaces that stay with "
		"default-scheduler, because plimsoll cannot place them",
		EXPOSITION_GAUGE, (double)stats->pods.unsupported);
	exposition_single(out, "plimsoll_scheduler_admission_missed_pods_total",
		"Pods that were created so while this scheduler watched",
		EXPOSITION_COUNTER, (double)stats->missed_total);
}

static void write_reviews(struct buffer *out, const struct webhook *webhook)
{
	static const char name[] = "plimsoll_scheduler_admission_reviews_total";
	static const char *const outcomes[] = {
		[REVIEW_NAMED] = "named",
		[REVIEW_LEFT] = "left",
		[REVIEW_UNSUPPORTED] = "unsupported",
		[REVIEW_INVALID] = "invalid",
	};

	exposition_head(out, name, "Reviews of pods that the webhook answered",
		EXPOSITION_COUNTER);
	for (int i = 0; i < REVIEW_OUTCOMES; i++) {
		exposition_series(out, name, "outcome", outcomes[i],
			(double)webhook_reviews(webhook,
				(enum review_outcome)i));
	}
}

void admission_metrics_write(struct buffer *out,
	const struct admission_check *check, const struct webhook *webhook)
{
	struct admission_check_stats stats = admission_check_stats(check);

	write_check(out, &stats);
	if (webhook != NULL) {
		write_reviews(out, webhook);
	}
}
