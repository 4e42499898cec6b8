/* Runs searches for plans in a thread, on a copy of the cluster.
 *
 * The copy is made and freed in slices on the event loop, which serves
 * everything else between them. One job runs at a time; others wait in order
 * of arrival, reports after the rest. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct cache;
struct conflicts;
struct kubevirt;
struct move_records;
struct planner;

/* The work of a slice. */
#define PLANNER_SLICE_US INT64_C(2000)

/* Jobs that wait; further ones are refused. */
enum { PLANNER_JOBS_MAX = 16 };

/* All outlive the planner. */
struct planner_options {
	uv_loop_t *loop;
	struct cache *cache;
	const struct kubevirt *kubevirt;
	const struct move_records *records;
	const struct conflicts *conflicts;
	const char *scheduler_name; /* only VMs that name it may move */
};

struct planner_job {
	/* In the thread. input is ready; it may be changed, as may its
	 * cluster. It must end soon once input->stop is true, and neither makes
	 * nor frees copies of pods: see cache/cluster_copy.h. */
	void (*work)(void *owner, struct plan_input *input);
	/* On the event loop. The results of work() may be read until it
	 * returns. is_done false: the caches or KubeVirt's watches are not
	 * complete, and work() did not run; or the job was cancelled or the
	 * planner closes, and a result of work() may be cut off. It must not
	 * close the planner. */
	void (*done)(void *owner, const struct plan_input *input, bool is_done);
	void *owner;	/* of this job alone */
	bool is_report; /* for people: all other jobs go before it */
	bool is_asked;	/* see make_room/plan_world.h */
};

/* Never NULL. */
struct planner *planner_new(const struct planner_options *options);

/* False: too many jobs wait, or the planner closes. done() is called exactly
 * once for each job that is taken, and never inside this. */
bool planner_start(struct planner *planner, const struct planner_job *job);

/* The owner no longer wants its job. If its search runs, input->stop is set,
 * and done() is called when it has ended; else the job is over at once, and
 * done() is called inside this. Nothing happens if the owner has no job. */
void planner_cancel(struct planner *planner, const void *owner);

/* Whether the VM that runs in this pod, on node, may be moved: by KubeVirt, by
 * people and by this scheduler. False: appends the words that follow the VM's
 * name, such as "cannot be migrated: ...". KubeVirt's watches are ready. */
bool planner_may_move(const struct planner *planner, const struct pod *pod,
	const struct node *node, struct buffer *why);

struct planner_stats {
	uint64_t jobs;		/* whose search ended */
	double longest_slice_s; /* on the event loop */
	/* For the last job; NAN: none. copy_s sums its slices. */
	double copy_s, search_s;
};
void planner_stats(const struct planner *planner, struct planner_stats *out);

/* Stops a search that runs and waits for its end, at most some 10 ms. NULL is
 * fine. */
void planner_close(struct planner *planner);
