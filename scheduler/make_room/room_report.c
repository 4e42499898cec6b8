#include "scheduler/make_room/room_report.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/cache/cache.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/make_room/room_fits.h"
#include "scheduler/planner/planner.h"

/* Four kinds of three shapes, each with a sentence of PLAN_SENTENCE_MAX bytes,
 * which JSON may make six times as long. */
enum { ANSWER_MAX = 1 << 18 };

struct waiting {
	void (*done)(void *owner, const char *fits, const char *error);
	void *owner;
	uint64_t turn;
};

/* A search, which the planner owns between planner_start() and done(). It may
 * outlive the report. */
struct job {
	struct room_report *report; /* NULL: nobody wants it any more */
	struct room_fits fits;
};

struct room_report {
	struct cache *cache;
	const struct kubevirt *kubevirt;
	struct planner *planner;
	struct timer *timer; /* answers those who need no search */
	struct job *job;     /* NULL: no search runs */
	struct room_fits *kept;
	int64_t kept_us;				 /* since when */
	struct waiting waiting[ROOM_REPORT_WAITING_MAX]; /* by turn */
	size_t count;
	uint64_t turn;
};

static int64_t now(void)
{
	return (int64_t)clock_monotonic_us();
}

static bool is_kept(const struct room_report *report)
{
	return report->kept != NULL &&
		now() - report->kept_us < ROOM_REPORT_KEPT_US;
}

/* ---- answers ---- */

static struct waiting take_first(struct room_report *report)
{
	struct waiting first = report->waiting[0];

	report->count--;
	memmove(report->waiting, report->waiting + 1,
		report->count * sizeof(*report->waiting));
	return first;
}

/* Answers all who have asked until now. */
static void answer(struct room_report *report, const char *fits,
	const char *error)
{
	uint64_t last = report->turn;

	while (report->count > 0 && report->waiting[0].turn <= last) {
		struct waiting first = take_first(report);

		first.done(first.owner, fits, error);
	}
}

static void answer_kept(struct room_report *report)
{
	scoped_buffer struct buffer text = BUFFER_MAX(ANSWER_MAX);
	struct json j = json_into(&text);

	json_object(&j, NULL);
	json_number(&j, "age_s", (double)(now() - report->kept->now_us) / 1e6);
	room_fits_write(report->kept, &j);
	json_object_end(&j);
	answer(report, text.overflowed ? NULL : text.data,
		text.overflowed ? "the answer is too long" : NULL);
}

static void on_timer(void *owner)
{
	struct room_report *report = owner;

	if (report->job != NULL) {
		return; /* its end answers all */
	}
	if (is_kept(report)) {
		answer_kept(report);
	} else {
		answer(report, NULL,
			"too many searches for plans wait; ask again later");
	}
}

/* ---- the search ---- */

static void work(void *owner, struct plan_input *input)
{
	struct job *job = owner;

	room_fits_find(&job->fits, input);
}

static void answer_failed(struct room_report *report)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);

	if (report->kubevirt == NULL ||
		kubevirt_is_ready(report->kubevirt, &why)) {
		buffer_clear(&why);
		buffer_text(&why,
			"not all nodes and pods are known, or the scheduler "
			"stops");
	}
	answer(report, NULL, why.data);
}

static void keep(struct room_report *report, const struct room_fits *fits)
{
	free(report->kept);
	report->kept = xmemdup(fits, sizeof(*fits));
	report->kept_us = now();
}

static void on_done(void *owner, const struct plan_input *input, bool is_done)
{
	struct job *job = owner;
	struct room_report *report = job->report;

	(void)input;
	room_fits_fini(&job->fits);
	if (report != NULL) {
		report->job = NULL;
	}
	if (report != NULL && is_done) {
		keep(report, &job->fits);
		answer_kept(report);
	} else if (report != NULL) {
		answer_failed(report);
	}
	free(job);
}

static struct job *job_new(struct room_report *report)
{
	struct job *job = xcalloc(1, sizeof(*job));
	struct launcher_settings settings = launcher_settings_default;

	if (report->kubevirt != NULL) {
		kubevirt_launcher_settings(report->kubevirt, &settings);
	}
	job->report = report;
	room_fits_init(&job->fits, report->cache->interner, &settings);
	return job;
}

/* False: the planner refuses. */
static bool start(struct room_report *report)
{
	struct job *job = job_new(report);

	if (!planner_start(report->planner,
		    &(struct planner_job){ .work = work,
			    .done = on_done,
			    .owner = job,
			    .is_report = true })) {
		room_fits_fini(&job->fits);
		free(job);
		return false;
	}
	report->job = job;
	return true;
}

/* The next one who asks begins another search. */
static void drop_job(struct room_report *report)
{
	struct job *job = report->job;

	if (job != NULL) {
		report->job = NULL;
		job->report = NULL;
		planner_cancel(report->planner, job);
	}
}

/* ---- what others call ---- */

struct room_report *room_report_new(uv_loop_t *loop, struct cache *cache,
	const struct kubevirt *kubevirt, struct planner *planner)
{
	struct room_report *report = xcalloc(1, sizeof(*report));

	report->cache = cache;
	report->kubevirt = kubevirt;
	report->planner = planner;
	report->timer = timer_new(loop, on_timer, report);
	return report;
}

bool room_report_ask(struct room_report *report,
	void (*done)(void *owner, const char *fits, const char *error),
	void *owner)
{
	if (report->count == ROOM_REPORT_WAITING_MAX) {
		return false;
	}
	report->waiting[report->count++] =
		(struct waiting){ done, owner, ++report->turn };
	if (report->job == NULL && (is_kept(report) || !start(report))) {
		timer_start(report->timer, 0, 0);
	}
	return true;
}

void room_report_forget(struct room_report *report, void *owner)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->count; i++) {
		if (report->waiting[i].owner != owner) {
			report->waiting[kept++] = report->waiting[i];
		}
	}
	report->count = kept;
	if (kept == 0) {
		drop_job(report);
	}
}

void room_report_close(struct room_report *report)
{
	if (report == NULL) {
		return;
	}
	drop_job(report);
	timer_close(report->timer);
	free(report->kept);
	free(report);
}
