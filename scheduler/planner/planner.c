#include "scheduler/planner/planner.h"

#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/planner/plan_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With 0, libuv before 1.45 would run all slices at once. */
enum { PAUSE_MS = 1 };

enum phase { IDLE, COPYING, SEARCHING, FREEING };

struct planner {
	struct planner_options options;
	struct timer *slice;
	enum phase phase;
	struct planner_job waiting[PLANNER_JOBS_MAX];
	size_t waiting_count;
	struct planner_job job; /* unless it is idle or freeing */
	struct plan_world world;
	struct plan_input input;
	int64_t copy_us;
	struct planner_stats stats;

	uv_work_t work;
	uv_sem_t searched; /* posted by the thread at the end of a search */
	atomic_bool stop;
	int64_t search_us; /* the thread's until then */
	bool is_cancelled; /* the job whose search runs */
	bool is_closed;	   /* and freed when the loop is told of the end */
};

static int64_t now_us(void)
{
	return (int64_t)clock_monotonic_us();
}

/* ---- the thread ---- */

static void on_search(uv_work_t *work)
{
	struct planner *planner = work->data;
	int64_t begun_us = now_us();

	planner->job.work(planner->job.owner, &planner->input);
	planner->search_us = now_us() - begun_us;
	uv_sem_post(&planner->searched);
}

static void planner_free(struct planner *planner)
{
	uv_sem_destroy(&planner->searched);
	free(planner);
}

static void tell(struct planner *planner, bool is_done)
{
	const struct planner_job job = planner->job;

	planner->job = (struct planner_job){ 0 };
	job.done(job.owner, &planner->input, is_done);
	planner->input = (struct plan_input){ 0 };
}

/* On the event loop. */
static void on_searched(uv_work_t *work, int status)
{
	struct planner *planner = work->data;

	(void)status;
	if (planner->is_closed) {
		planner_free(planner);
		return;
	}
	uv_sem_wait(&planner->searched); /* posted before */
	planner->stats.jobs++;
	planner->stats.copy_s = (double)planner->copy_us / 1e6;
	planner->stats.search_s = (double)planner->search_us / 1e6;
	planner->phase = FREEING;
	timer_start(planner->slice, PAUSE_MS, 0);
	tell(planner, !planner->is_cancelled);
}

static void search(struct planner *planner)
{
	planner->phase = SEARCHING;
	planner->is_cancelled = false;
	atomic_store(&planner->stop, false);
	planner->input = plan_world_input(&planner->world);
	planner->input.now_us = now_us();
	planner->input.stop = &planner->stop;
	if (uv_queue_work(planner->options.loop, &planner->work, on_search,
		    on_searched) != 0) {
		abort();
	}
}

/* ---- slices ---- */

static bool is_ready(const struct planner *planner)
{
	scoped_buffer struct buffer why = BUFFER_MAX(1024);

	return planner->options.cache->is_complete &&
		kubevirt_is_ready(planner->options.kubevirt, &why);
}

static struct planner_job take_waiting(struct planner *planner, size_t index)
{
	struct planner_job job = planner->waiting[index];

	planner->waiting_count--;
	memmove(&planner->waiting[index], &planner->waiting[index + 1],
		(planner->waiting_count - index) * sizeof(job));
	return job;
}

static void take_job(struct planner *planner)
{
	planner->job = take_waiting(planner, 0);
}

static void note_slice(struct planner *planner, int64_t begun_us)
{
	int64_t spent_us = now_us() - begun_us;

	planner->copy_us += planner->phase == COPYING ? spent_us : 0;
	planner->stats.longest_slice_s =
		fmax(planner->stats.longest_slice_s, (double)spent_us / 1e6);
}

static void begin_copy(struct planner *planner)
{
	int64_t begun_us = now_us();

	planner->phase = COPYING;
	planner->copy_us = 0;
	plan_world_begin(&planner->world, &planner->options, begun_us,
		clock_wall_us());
	planner->world.is_asked = planner->job.is_asked;
	note_slice(planner, begun_us);
}

static void begin(struct planner *planner)
{
	if (planner->waiting_count == 0) {
		planner->phase = IDLE;
		return;
	}
	take_job(planner);
	timer_start(planner->slice, PAUSE_MS, 0);
	if (!is_ready(planner)) {
		tell(planner, false);
		return;
	}
	begin_copy(planner);
}

/* True: a step was the last one. */
static bool work_slice(struct planner *planner,
	bool (*step)(struct plan_world *world))
{
	int64_t begun_us = now_us();
	int64_t spent_us = 0;
	bool is_last = false;

	while (!is_last && spent_us < PLANNER_SLICE_US) {
		is_last = !step(&planner->world);
		spent_us = now_us() - begun_us;
	}
	note_slice(planner, begun_us);
	return is_last;
}

static void on_slice(void *owner)
{
	struct planner *planner = owner;

	switch (planner->phase) {
	case COPYING:
		if (work_slice(planner, plan_world_next)) {
			search(planner);
			return;
		}
		break;
	case FREEING:
		if (work_slice(planner, plan_world_free_next)) {
			planner->phase = IDLE;
		}
		break;
	default:
		begin(planner);
		return;
	}
	timer_start(planner->slice, PAUSE_MS, 0);
}

struct planner *planner_new(const struct planner_options *options)
{
	struct planner *planner = xcalloc(1, sizeof(*planner));

	planner->options = *options;
	planner->stats.copy_s = NAN;
	planner->stats.search_s = NAN;
	planner->slice = timer_new(options->loop, on_slice, planner);
	planner->work.data = planner;
	if (uv_sem_init(&planner->searched, 0) != 0) {
		abort();
	}
	return planner;
}

/* Before the reports, unless it is one. */
static void add_waiting(struct planner *planner, const struct planner_job *job)
{
	size_t at = planner->waiting_count++;

	while (at > 0 && !job->is_report &&
		planner->waiting[at - 1].is_report) {
		planner->waiting[at] = planner->waiting[at - 1];
		at--;
	}
	planner->waiting[at] = *job;
}

bool planner_start(struct planner *planner, const struct planner_job *job)
{
	if (planner->is_closed || planner->waiting_count == PLANNER_JOBS_MAX) {
		return false;
	}
	add_waiting(planner, job);
	if (planner->phase == IDLE) {
		timer_start(planner->slice, PAUSE_MS, 0);
	}
	return true;
}

/* ---- jobs that nobody wants any more ---- */

static void cancel_waiting(struct planner *planner, const void *owner)
{
	static const struct plan_input none = { 0 };

	for (size_t i = 0; i < planner->waiting_count; i++) {
		if (planner->waiting[i].owner == owner) {
			struct planner_job job = take_waiting(planner, i);

			job.done(job.owner, &none, false);
			return;
		}
	}
}

static void cancel_current(struct planner *planner)
{
	if (planner->phase == SEARCHING) {
		planner->is_cancelled = true;
		atomic_store(&planner->stop, true);
		return;
	}
	planner->phase = FREEING; /* the copy, from the next slice on */
	tell(planner, false);
}

void planner_cancel(struct planner *planner, const void *owner)
{
	if (planner->job.done != NULL && planner->job.owner == owner) {
		cancel_current(planner);
	} else {
		cancel_waiting(planner, owner);
	}
}

bool planner_may_move(const struct planner *planner, const struct pod *pod,
	const struct node *node, struct buffer *why)
{
	return plan_world_may_move(&planner->options,
		&(const struct pod_on_node){ pod, node }, now_us(),
		clock_wall_us(), why);
}

void planner_stats(const struct planner *planner, struct planner_stats *out)
{
	*out = planner->stats;
}

/* ---- the end ---- */

/* True: the loop will be told of the end of the search. */
static bool end_search(struct planner *planner)
{
	if (planner->phase != SEARCHING) {
		return false;
	}
	atomic_store(&planner->stop, true);
	if (uv_cancel((uv_req_t *)&planner->work) != 0) {
		uv_sem_wait(&planner->searched);
	}
	return true;
}

static void refuse_all(struct planner *planner)
{
	if (planner->phase == COPYING || planner->phase == SEARCHING) {
		tell(planner, false);
	}
	while (planner->waiting_count > 0) {
		take_job(planner);
		tell(planner, false);
	}
}

void planner_close(struct planner *planner)
{
	bool is_told;

	if (planner == NULL) {
		return;
	}
	planner->is_closed = true;
	is_told = end_search(planner);
	refuse_all(planner);
	while (plan_world_free_next(&planner->world)) {
	}
	timer_close(planner->slice);
	if (!is_told) {
		planner_free(planner);
	}
}
