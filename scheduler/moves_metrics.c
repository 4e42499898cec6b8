#include "scheduler/moves_metrics.h"

#include "lib/exposition.h"

#include <math.h>

static void write_mover(struct buffer *out, const struct mover_stats *moves)
{
	static const char name[] = "plimsoll_scheduler_moves_total";

	exposition_head(out, name,
		"Records of moves of running VMs that came into this state",
		EXPOSITION_COUNTER);
	for (int i = 0; i < MOVE_STATES; i++) {
		exposition_series(out, name, "state",
			move_state_name((enum move_state)i),
			(double)moves->counts[i]);
	}
	exposition_single(out, "plimsoll_scheduler_move_recommendations",
		"Recommended moves that hold now", EXPOSITION_GAUGE,
		(double)moves->recommendations);
	exposition_single(out, "plimsoll_scheduler_moves_in_flight",
		"Ordered moves that have not ended", EXPOSITION_GAUGE,
		(double)moves->in_flight);
	exposition_single(out, "plimsoll_scheduler_moves_automatic",
		"1 while moves are ordered, 0 while they are only recommended",
		EXPOSITION_GAUGE, moves->orders);
	exposition_single(out, "plimsoll_scheduler_moves_paused",
		"1 while all moves are paused after failures in a row",
		EXPOSITION_GAUGE, moves->is_paused);
	exposition_single(out, "plimsoll_scheduler_moves_paused_namespaces",
		"Namespaces whose moves are paused after failures in a row",
		EXPOSITION_GAUGE, (double)moves->paused_namespaces);
	exposition_single(out, "plimsoll_scheduler_move_round_seconds",
		"Work of the last look at the cluster for moves",
		EXPOSITION_GAUGE, isnan(moves->round_s) ? 0 : moves->round_s);
	exposition_single(out, "plimsoll_scheduler_move_slice_max_seconds",
		"The longest time for which such a look held the event loop",
		EXPOSITION_GAUGE, moves->longest_slice_s);
}

static void write_planner(struct buffer *out,
	const struct planner_stats *planner)
{
	static const char name[] = "plimsoll_scheduler_plan_seconds";

	exposition_single(out, "plimsoll_scheduler_plans_total",
		"Searches for plans of moves", EXPOSITION_COUNTER,
		(double)planner->jobs);
	exposition_head(out, name,
		"The last search for a plan; copy: of the cluster, on the "
		"event loop in slices; search: in a thread",
		EXPOSITION_GAUGE);
	exposition_series(out, name, "part", "copy",
		isnan(planner->copy_s) ? 0 : planner->copy_s);
	exposition_series(out, name, "part", "search",
		isnan(planner->search_s) ? 0 : planner->search_s);
	exposition_single(out, "plimsoll_scheduler_plan_slice_max_seconds",
		"The longest time for which a search held the event loop",
		EXPOSITION_GAUGE, planner->longest_slice_s);
}

static void write_room(struct buffer *out, const struct make_room_stats *room)
{
	exposition_single(out, "plimsoll_scheduler_room_attempts",
		"Pods for which room is made or recommended", EXPOSITION_GAUGE,
		(double)room->attempts);
	exposition_single(out, "plimsoll_scheduler_room_made_total",
		"Pods that were placed after moves that made room for them",
		EXPOSITION_COUNTER, (double)room->made);
	exposition_single(out, "plimsoll_scheduler_room_lost_total",
		"Held places that another pod took", EXPOSITION_COUNTER,
		(double)room->lost);
	exposition_single(out, "plimsoll_scheduler_room_given_up_total",
		"Pods for which no more room is made for an hour",
		EXPOSITION_COUNTER, (double)room->given_up);
	exposition_single(out, "plimsoll_scheduler_room_without_plan_total",
		"Pods for which no moves make room", EXPOSITION_COUNTER,
		(double)room->without_plan);
}

/* Without the first series, nothing is known. */
static void write_reach(struct buffer *out, const struct reach_stats *reach)
{
	if (reach->is_known) {
		exposition_single(out,
			"plimsoll_scheduler_vms_that_reach_no_other_node",
			"Running VMs whose next pod no other node could take, "
			"if it were empty",
			EXPOSITION_GAUGE, (double)reach->stranded);
	}
	if (reach->is_known) {
		exposition_single(out, "plimsoll_scheduler_vms_misplaced",
			"Running VMs that stand where they may not",
			EXPOSITION_GAUGE, (double)reach->misplaced);
	}
	exposition_single(out, "plimsoll_scheduler_reach_seconds",
		"Work of the last look at how many nodes VMs can reach",
		EXPOSITION_GAUGE, reach->work_s);
	exposition_single(out, "plimsoll_scheduler_reach_slice_max_seconds",
		"The longest time for which such a look held the event loop",
		EXPOSITION_GAUGE, reach->longest_slice_s);
}

void moves_metrics_write(struct buffer *out, const struct moves_stats *stats)
{
	write_mover(out, &stats->mover);
	write_room(out, &stats->room);
	write_planner(out, &stats->planner);
	write_reach(out, &stats->reach);
}
