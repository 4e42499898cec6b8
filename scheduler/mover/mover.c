#include "scheduler/mover/mover.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/loads/move_history.h"
#include "scheduler/mover/foreign_moves.h"
#include "scheduler/mover/foreign_reservation.h"
#include "scheduler/mover/measures.h"
#include "scheduler/mover/move_actions.h"
#include "scheduler/mover/mover_status.h"
#include "scheduler/mover/pauses.h"
#include "scheduler/mover/round.h"
#include "scheduler/mover/takeover.h"
#include "scheduler/mover/vm_beliefs.h"
#include "scheduler/mover/warnings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 1000, WHY_MAX = 1024 };
#define KUBEVIRT_POLL_US INT64_C(5000000)
#define MEASURES_US INT64_C(5000000)

/* The last leader's clock may be behind by this, and its last upload late. */
#define CHANGED_US UINT64_C(300000000)

struct mover {
	struct mover_options options;
	struct kubevirt *kubevirt;
	struct recorder recorder;
	struct open_moves open_moves;
	struct takeover takeover;
	struct foreign_moves foreign;
	struct move_actions actions;
	struct proposals proposals;
	struct conflicts conflicts;
	struct node_watches watches;
	struct round round;
	struct timer *tick, *slice;
	int64_t round_us, poll_us, measures_us; /* the last ones */
	uint64_t last_round_us;			/* since 1970 */
	double round_s;
	bool leads; /* as of the last tick */
	struct pauses pauses;
	bool has_conflicts; /* those of earlier leaders are restored */
	size_t answered;    /* aggregators whose records are taken */
	/* The result of a round: a move was ordered, or why the first one that
	 * held was not; "": none held. */
	bool has_ordered;
	char refusal[WHY_MAX];
};

/* The lease may have ended since the last tick. */
static bool is_leader(const struct mover *mover)
{
	return mover->leads && mover->options.leads(mover->options.owner);
}

/* Keeps the first refusal: the gain of that move is the largest. */
static bool try_order(struct mover *mover, struct proposal *proposal,
	struct moment now)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);
	bool ordered = move_actions_order(&mover->actions, proposal, &why, now);

	mover->has_ordered |= ordered;
	if (!ordered && *mover->refusal == '\0') {
		(void)snprintf(mover->refusal, sizeof(mover->refusal), "%s",
			why.data);
	}
	return ordered;
}

static void finish_round(struct mover *mover, struct moment now)
{
	struct proposals *proposals = &mover->proposals;

	mover->last_round_us = now.wall_us;
	mover->actions.vms = mover->round.vms;
	mover->round_s = (double)mover->round.work_us / 1e6;
	move_actions_withdraw_old(&mover->actions, &mover->proposals, now);
	mover->has_ordered = false;
	*mover->refusal = '\0';
	for (size_t i = 0; i < proposals->count;) {
		struct proposal *proposal = &proposals->list[i];

		if (!proposal_holds(proposal)) {
			i++;
		} else if (try_order(mover, proposal, now)) {
			const struct move_record gone = proposal->record;

			proposals_remove(proposals, gone.namespace, gone.vm);
		} else {
			move_actions_recommend(&mover->actions, proposal, now);
			i++;
		}
	}
}

/* ---- time ---- */

static void on_slice(void *owner)
{
	struct mover *mover = owner;

	if (mover->round.phase == ROUND_IDLE) {
		return;
	}
	if (!is_leader(mover)) {
		round_abort(&mover->round);
		return;
	}
	if (round_work(&mover->round)) {
		finish_round(mover, moment_now());
	} else {
		timer_start(mover->slice, 0, 0);
	}
}

static void start_round(struct mover *mover, struct moment now)
{
	mover->round_us = now.now_us;
	mover->round.sources.now_us = now.now_us;
	mover->round.sources.wall_us = now.wall_us;
	mover->round.copy_pace =
		move_records_copy_pace(&mover->recorder.records);
	round_begin(&mover->round);
	timer_start(mover->slice, 0, 0);
}

static void begin_term(struct mover *mover, struct moment now)
{
	move_records_forget_open(&mover->recorder.records);
	mover->actions.has_history = false;
	mover->answered = 0;
	mover->has_conflicts = false;
	mover->proposals = (struct proposals){ 0 };
	move_history_ask(mover->options.history,
		now.wall_us - MOVE_RECORDS_KEPT_US, now.wall_us - CHANGED_US);
}

static void end_term(struct mover *mover)
{
	round_abort(&mover->round);
	timer_stop(mover->slice);
	open_moves_fini(&mover->open_moves);
}

/* Once enough of the aggregators have sent their records, and again whenever
 * another one has: its records may be newer. */
static void take_history(struct mover *mover, struct moment now)
{
	size_t answered = move_history_answered(mover->options.history);

	if ((!mover->actions.has_history &&
		    !move_history_is_known(mover->options.history)) ||
		answered == mover->answered) {
		return;
	}
	mover->answered = answered;
	mover->actions.has_history = true;
	move_records_restore_failures(&mover->recorder.records,
		&mover->options.cache->cluster.failures, now.wall_us,
		now.now_us);
	move_actions_take_over(&mover->actions, &mover->proposals, now);
	log_info("records of moves read",
		log_int("aggregators", (int64_t)answered),
		log_int("records",
			(int64_t)mover->recorder.records.by_id.count),
		log_int("open",
			(int64_t)move_records_open(&mover->recorder.records,
				NULL)),
		LOG_END);
}

/* Without the records of earlier leaders these records may be stale. */
static void follow_moves(struct mover *mover, struct moment now)
{
	if (!mover->has_conflicts) {
		mover->has_conflicts = true;
		foreign_moves_restore(&mover->foreign, now);
	}
	takeover_tick(&mover->takeover, now);
	open_moves_tick(&mover->open_moves, now);
	if (now.now_us - mover->measures_us >= MEASURES_US) {
		mover->measures_us = now.now_us;
		measures_take(&mover->recorder, mover->options.cache, now);
		move_records_expire(&mover->recorder.records, now.wall_us);
	}
}

static void lead(struct mover *mover, struct moment now)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);

	take_history(mover, now);
	if (!mover->options.is_synced(mover->options.owner) ||
		!kubevirt_is_ready(mover->kubevirt, &why)) {
		return;
	}
	if (mover->actions.has_history) {
		follow_moves(mover, now);
	}
	pauses_tick(&mover->pauses, &mover->recorder, now);
	if (mover->options.mode == MOVER_OFF) {
		/* A round counts them otherwise. */
		mover->actions.vms = cache_vms(mover->options.cache);
	} else if (mover->round.phase == ROUND_IDLE &&
		now.now_us - mover->round_us >= MOVER_ROUND_US) {
		start_round(mover, now);
	}
}

static void on_tick(void *owner)
{
	struct mover *mover = owner;
	struct moment now = moment_now();
	bool leads = mover->options.leads(mover->options.owner);

	if (now.now_us - mover->poll_us >= KUBEVIRT_POLL_US) {
		mover->poll_us = now.now_us;
		kubevirt_poll(mover->kubevirt);
		if (mover->round.phase == ROUND_IDLE) {
			node_watches_expire(&mover->watches,
				mover->options.cache);
		}
	}
	vm_beliefs_tick(mover->options.cache, mover->kubevirt);
	if (leads && !mover->leads) {
		begin_term(mover, now);
	} else if (!leads && mover->leads) {
		end_term(mover);
	}
	mover->leads = leads;
	if (leads) {
		lead(mover, now);
	}
}

/* ---- KubeVirt ---- */

static void on_vmi(void *owner, const char *namespace, const char *uid)
{
	const struct mover *mover = owner;

	cache_judge_vmi(mover->options.cache, namespace, uid);
}

static void on_migration(void *owner, const struct migration *migration,
	const struct vmi *vmi)
{
	struct mover *mover = owner;

	if (!is_leader(mover)) {
		return;
	}
	if (migration->is_ours) {
		open_moves_changed(&mover->open_moves, migration, vmi,
			moment_now());
	} else {
		foreign_reservation_keep(mover->options.reservations, migration,
			vmi, moment_now().now_us);
		foreign_moves_observe(&mover->foreign, migration, vmi,
			moment_now());
	}
}

static void on_migration_gone(void *owner, const struct migration *migration)
{
	struct mover *mover = owner;

	if (is_leader(mover) && migration->is_ours) {
		open_moves_gone(&mover->open_moves, migration, moment_now());
	}
}

static void on_ordered(void *owner, const char *move_id, const char *name,
	const char *error)
{
	struct mover *mover = owner;

	if (is_leader(mover)) {
		open_moves_answered(&mover->open_moves, move_id, name, error,
			moment_now());
	}
}

/* ---- others ---- */

void mover_note_load(struct mover *mover, const struct node_load *load,
	int64_t sample_us)
{
	if (mover != NULL) {
		node_watches_note(&mover->watches, mover->options.cache, load,
			sample_us);
	}
}

/* Nothing that an aggregator says about the future can pause or unpause. */
void mover_remember(struct mover *mover, const struct move_record *record)
{
	uint64_t last_us = moment_now().wall_us + CHANGED_US;

	if (record->wall_us > last_us || record->ordered_us > last_us ||
		record->ended_us > last_us) {
		return;
	}
	(void)move_records_put(&mover->recorder.records, record);
}

void mover_unschedulable(struct mover *mover, const struct pod *pod,
	const char *message)
{
	open_moves_unschedulable(&mover->open_moves, pod, message);
}

void mover_stats(struct mover *mover, struct mover_stats *out)
{
	struct gate_texts texts;
	struct gate gate;

	move_actions_gate(&mover->actions, GATE_REBALANCE, &gate, &texts,
		moment_now());
	*out = (struct mover_stats){
		.recommendations = mover_status_recommendations(
			&mover->recorder.records, &mover->proposals),
		.in_flight = move_records_open(&mover->recorder.records, NULL),
		.is_paused = gate.paused_until_us > gate.wall_us,
		.paused_namespaces = pauses_count(&mover->pauses),
		.orders = !gate_recommends_only(&gate),
		.round_s = mover->round_s,
		.longest_slice_s = (double)mover->round.longest_slice_us / 1e6,
	};
	memcpy(out->counts, mover->recorder.counts, sizeof(out->counts));
	move_actions_gate_fini(&texts);
}

static void explain(const struct mover *mover, const struct gate *gate,
	bool names_vms, struct buffer *why)
{
	if (!gate_is_open(gate, why)) {
		return;
	}
	if (mover->last_round_us == 0) {
		buffer_text(why, "the first look at the cluster is not done");
	} else if (mover->has_ordered) {
		return;
	} else if (*mover->refusal != '\0') {
		buffer_text(why, mover->refusal);
	} else if (pauses_count(&mover->pauses) > 0) {
		buffer_printf(why,
			"moves of VMs of %zu namespaces are paused after "
			"failures in a row",
			pauses_count(&mover->pauses));
	} else if (mover->proposals.count > 0) {
		buffer_text(why, "a move must pay in two rounds in a row");
	} else if (*mover->round.exclusion != '\0') {
		buffer_text(why, mover->round.exclusion);
		buffer_text(why, names_vms ? mover->round.exclusion_names : "");
	} else {
		buffer_text(why, "no move saves more than its price");
		not_movable_explain(&mover->round.not_movable, names_vms, why);
	}
}

void mover_explain(const struct mover *mover, struct buffer *why)
{
	struct gate_texts texts;
	struct gate gate;

	move_actions_gate(&mover->actions, GATE_REBALANCE, &gate, &texts,
		moment_now());
	explain(mover, &gate, false, why);
	move_actions_gate_fini(&texts);
}

void mover_describe(struct mover *mover, struct buffer *out)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);
	struct gate_texts texts;
	struct gate gate;
	struct mover_status status = {
		.gate = &gate,
		.room_mode = mover->options.room_mode,
		.kubevirt_version = kubevirt_version(mover->kubevirt),
		.records = &mover->recorder.records,
		.proposals = &mover->proposals,
		.kubevirt = mover->kubevirt,
		.conflicts = &mover->conflicts,
		.windows_text = mover->options.windows_text,
		.price = mover->options.price,
		.copy_pace = move_records_copy_pace(&mover->recorder.records),
		.last_round_us = mover->last_round_us,
		.round_s = mover->round_s,
		.not_movable = &mover->round.not_movable,
		.nodes = mover->round.nodes,
		.vms = mover->round.vms,
		.movable = mover->round.movable,
		.left = mover->round.left,
	};

	move_actions_gate(&mover->actions, GATE_REBALANCE, &gate, &texts,
		moment_now());
	kubevirt_cluster_limits(mover->kubevirt, &status.limits);
	buffer_text(&why, "");
	explain(mover, &gate, true, &why);
	status.why = why.data;
	mover_status_write(out, &status);
	move_actions_gate_fini(&texts);
}

/* ---- life ---- */

static void connect_parts(struct mover *mover)
{
	const struct mover_options *o = &mover->options;

	mover->recorder.upload = o->upload;
	mover->recorder.events = o->events;
	mover->open_moves = (struct open_moves){ .recorder = &mover->recorder,
		.cache = o->cache,
		.reservations = o->reservations,
		.kubevirt = mover->kubevirt,
		.watches = &mover->watches };
	mover->takeover = (struct takeover){ .recorder = &mover->recorder,
		.kubevirt = mover->kubevirt,
		.cache = o->cache };
	mover->foreign = (struct foreign_moves){ .recorder = &mover->recorder,
		.kubevirt = mover->kubevirt,
		.cache = o->cache,
		.conflicts = &mover->conflicts };
	mover->actions = (struct move_actions){ .options = o,
		.kubevirt = mover->kubevirt,
		.recorder = &mover->recorder,
		.open_moves = &mover->open_moves,
		.conflicts = &mover->conflicts };
	mover->round.proposals = &mover->proposals;
	mover->round.price = o->price;
	mover->round.sources = (struct fleet_sources){ .cache = o->cache,
		.kubevirt = mover->kubevirt,
		.records = &mover->recorder.records,
		.conflicts = &mover->conflicts,
		.watches = &mover->watches,
		.scheduler_name = o->scheduler_name };
}

struct mover *mover_new(const struct mover_options *options)
{
	struct mover *mover = xcalloc(1, sizeof(*mover));

	mover->options = *options;
	mover->round_s = NAN;
	mover->kubevirt = kubevirt_new(options->client,
		&(struct kubevirt_options){ .cluster = &options->cache->cluster,
			.others_us = options->others_us,
			.on_migration = on_migration,
			.on_migration_gone = on_migration_gone,
			.on_vmi = on_vmi,
			.on_ordered = on_ordered,
			.owner = mover });
	connect_parts(mover);
	mover->slice = timer_new(options->loop, on_slice, mover);
	mover->tick = timer_new(options->loop, on_tick, mover);
	timer_start(mover->tick, TICK_MS, TICK_MS);
	return mover;
}

struct move_actions *mover_actions(struct mover *mover)
{
	return &mover->actions;
}

void mover_use_reach(struct mover *mover, const struct reach *reach)
{
	mover->round.sources.reach = reach;
}

void mover_close(struct mover *mover)
{
	if (mover == NULL) {
		return;
	}
	kubevirt_close(mover->kubevirt);
	timer_close(mover->tick);
	timer_close(mover->slice);
	round_fini(&mover->round);
	open_moves_fini(&mover->open_moves);
	conflicts_fini(&mover->conflicts);
	node_watches_fini(&mover->watches);
	pauses_fini(&mover->pauses);
	recorder_fini(&mover->recorder);
	free(mover);
}
