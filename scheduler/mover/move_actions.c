#include "scheduler/mover/move_actions.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "scheduler/kubevirt/movability.h"
#include "scheduler/loads/move_history.h"
#include "scheduler/mover/measures.h"
#include "scheduler/mover/move_words.h"
#include "scheduler/mover/node_exclusion.h"
#include "scheduler/rebalance/move_pauses.h"

#include <stdio.h>
#include <string.h>

enum { WHY_MAX = 1024 };
#define HOUR_US UINT64_C(3600000000)

const struct kubevirt *move_actions_kubevirt(const struct move_actions *actions)
{
	return actions->kubevirt;
}

const struct move_records *move_actions_records(
	const struct move_actions *actions)
{
	return &actions->recorder->records;
}

const struct conflicts *move_actions_conflicts(
	const struct move_actions *actions)
{
	return actions->conflicts;
}

/* ---- whether moves may be ordered ---- */

void move_actions_gate_fini(struct gate_texts *texts)
{
	buffer_fini(&texts->not_watching);
	buffer_fini(&texts->not_ordering);
}

/* Orders whose migration the watch has not delivered yet. */
struct unseen {
	unsigned total, out, in; /* out of and into the two nodes */
};

static struct unseen count_unseen(const struct move_actions *actions,
	const char *source, const char *target)
{
	const struct move_record *record;
	struct unseen count = { 0 };
	size_t at = 0;

	while ((record = move_records_next(&actions->recorder->records, &at)) !=
		NULL) {
		if (!move_is_open(record) ||
			kubevirt_migration_of(actions->kubevirt,
				record->namespace, record->vm) != NULL) {
			continue;
		}
		count.total++;
		count.out += strcmp(record->source, source) == 0;
		count.in += strcmp(record->target, target) == 0;
	}
	return count;
}

static struct budget budget_now(const struct move_actions *actions,
	uint64_t wall_us)
{
	struct migration_limits limits;

	kubevirt_cluster_limits(actions->kubevirt, &limits);
	return (struct budget){
		.per_hour = actions->options->max_per_hour,
		.per_cluster = limits.per_cluster,
		.vms = actions->vms,
		.ordered = move_records_ordered(&actions->recorder->records,
			wall_us - HOUR_US),
		.unfinished = (unsigned)kubevirt_unfinished(actions->kubevirt) +
			count_unseen(actions, "", "").total,
		.foreign = (unsigned)kubevirt_foreign(actions->kubevirt),
	};
}

void move_actions_gate(const struct move_actions *actions,
	enum gate_purpose purpose, struct gate *gate, struct gate_texts *texts,
	struct moment now)
{
	const struct mover_options *o = actions->options;
	struct move_pauses pauses;

	*texts =
		(struct gate_texts){ BUFFER_MAX(WHY_MAX), BUFFER_MAX(WHY_MAX) };
	buffer_text(&texts->not_watching, "");
	buffer_text(&texts->not_ordering, "");
	(void)kubevirt_is_ready(actions->kubevirt, &texts->not_watching);
	(void)kubevirt_may_order(actions->kubevirt, &texts->not_ordering);
	*gate = (struct gate){
		.purpose = purpose,
		.mode = purpose == GATE_ROOM ? o->room_mode : o->mode,
		.is_synced = o->is_synced(o->owner),
		.leads = o->leads(o->owner),
		.not_watching = texts->not_watching.data,
		.not_ordering = texts->not_ordering.data,
		.has_history = actions->has_history &&
			move_history_is_known(o->history),
		.windows = o->windows,
		.wall_us = now.wall_us,
		.budget = budget_now(actions, now.wall_us),
	};
	move_pauses_init(&pauses, &actions->recorder->records);
	gate->paused_until_us = pauses.all.until_us;
	gate->failures = pauses.all.failures;
	move_pauses_fini(&pauses);
}

/* After a pause moves are tried one by one: in the namespace, or all. */
static bool is_alone(const struct move_actions *actions,
	const struct move_pause *pause, const char *namespace,
	struct buffer *why)
{
	if (pause->until_us == 0 ||
		move_records_open(&actions->recorder->records, namespace) ==
			0) {
		return true;
	}
	buffer_printf(why,
		"%u moves in a row failed%s, and another one is being tried",
		pause->failures,
		namespace == NULL ? "" : " in the VM's namespace");
	return false;
}

static bool may_try(const struct move_actions *actions, const char *namespace,
	struct buffer *why, uint64_t wall_us)
{
	char when[CLOCK_TEXT_MAX];
	struct move_pauses pauses;
	struct move_pause own, all;

	move_pauses_init(&pauses, &actions->recorder->records);
	own = move_pauses_of(&pauses, namespace);
	all = pauses.all;
	move_pauses_fini(&pauses);
	if (own.until_us > wall_us) {
		buffer_printf(why,
			"%u moves in a row failed in the VM's namespace, and "
			"its moves are paused until %.19sZ",
			own.failures, clock_text(when, own.until_us));
		return false;
	}
	return is_alone(actions, &all, NULL, why) &&
		is_alone(actions, &own, namespace, why);
}

static enum gate_purpose purpose_of(const struct move_record *record)
{
	return record->reason == MOVE_FOR_ROOM ? GATE_ROOM : GATE_REBALANCE;
}

static bool may_order(const struct move_actions *actions,
	const struct move_record *record, struct buffer *why, struct moment now)
{
	struct gate_texts texts;
	struct gate gate;
	bool is_open;

	move_actions_gate(actions, purpose_of(record), &gate, &texts, now);
	is_open = gate_is_open(&gate, why) &&
		may_try(actions, record->namespace, why, now.wall_us);
	move_actions_gate_fini(&texts);
	return is_open;
}

/* ---- a move that holds ---- */

static bool may_take_part(const struct move_actions *actions,
	const struct node *node, struct buffer *why, int64_t now_us)
{
	struct kubevirt_node work;
	const char *exclusion;

	kubevirt_node(actions->kubevirt, node->name, &work);
	exclusion = node_exclusion(node, &work, now_us);
	if (exclusion != NULL) {
		buffer_printf(why, "%s %s", node->name, exclusion);
	}
	return exclusion == NULL;
}

static void tell_no_slot(struct buffer *why, const char *node, unsigned out)
{
	if (out == 0) {
		buffer_printf(why,
			"an evacuation of %s waits for the only slot that "
			"KubeVirt gives the node",
			node);
	} else {
		buffer_printf(why, "%u migrations leave %s", out, node);
	}
}

/* The limits of the VM's MigrationPolicy, and of both nodes. */
static bool is_within_limits(const struct move_actions *actions,
	const struct vmi *vmi, const struct move_record *record,
	struct buffer *why)
{
	const struct unseen unseen =
		count_unseen(actions, record->source, record->target);
	struct kubevirt_node source, target;
	struct migration_limits limits;

	kubevirt_limits(actions->kubevirt, vmi, &limits);
	kubevirt_node(actions->kubevirt, record->source, &source);
	kubevirt_node(actions->kubevirt, record->target, &target);
	if (source.out + unseen.out >=
		budget_out_of_node(limits.out_of_node, source.drains)) {
		tell_no_slot(why, record->source, source.out + unseen.out);
		return false;
	}
	if (target.in + unseen.in > 0) {
		buffer_printf(why, "a migration into %s is unfinished",
			record->target);
		return false;
	}
	return true;
}

/* KubeVirt's reason may name the VM's volumes, and why a round orders no move
 * is told to all who may read the cluster's status. */
static const char *words_of(const struct vmi *vmi, enum gate_purpose purpose,
	const char *words)
{
	return purpose == GATE_REBALANCE && !vmi->is_migratable
		? "cannot be migrated"
		: words;
}

/* Nobody forbids the move, and the VM does not rest. A round checks that as
 * well, but a plan waits for its turn. */
static bool may_leave(const struct move_actions *actions, const struct vmi *vmi,
	const struct pod *pod, enum gate_purpose purpose, struct buffer *why,
	struct moment now)
{
	const struct cache *cache = actions->options->cache;
	scoped_buffer struct buffer words = BUFFER_MAX(WHY_MAX);

	if (!movability_check(vmi, pod, cache_node(cache, pod->node_name),
		    &cache->cluster, &words)) {
		buffer_printf(why, "the VM %s",
			words_of(vmi, purpose, words.data));
		return false;
	}
	if (move_records_cooling_until(&actions->recorder->records,
		    vmi->namespace, vmi->name) > now.wall_us ||
		conflicts_until(actions->conflicts, vmi->namespace, vmi->name,
			now.wall_us) != 0) {
		buffer_text(why,
			"the VM is in the cooldown after its last move");
		return false;
	}
	return true;
}

/* The cluster may have changed since the move was found. */
static bool is_still_right(const struct move_actions *actions,
	const struct proposal *proposal, struct buffer *why, struct moment now)
{
	const struct move_record *r = &proposal->record;
	const struct cache *cache = actions->options->cache;
	const struct pod *pod = cache_pod(cache, proposal->pod_uid);
	const struct node *source = cache_node(cache, r->source);
	const struct node *target = cache_node(cache, r->target);
	const struct vmi *vmi = kubevirt_vmi(actions->kubevirt, r->vmi_uid);

	if (pod == NULL || source == NULL || target == NULL || vmi == NULL ||
		strcmp(pod->node_name, r->source) != 0) {
		buffer_text(why, "the VM or a node is gone");
		return false;
	}
	/* The pod's annotation names the VM, and people may change it. */
	if (strcmp(vmi->namespace, r->namespace) != 0 ||
		strcmp(vmi->name, r->vm) != 0) {
		buffer_text(why, "the launcher pod names another VM");
		return false;
	}
	if (kubevirt_migration_of(actions->kubevirt, r->namespace, r->vm) !=
			NULL ||
		vmi->is_migrating || *vmi->evacuating != '\0') {
		buffer_text(why, "the VM is being migrated");
		return false;
	}
	return may_leave(actions, vmi, pod, purpose_of(r), why, now) &&
		may_take_part(actions, source, why, now.now_us) &&
		may_take_part(actions, target, why, now.now_us) &&
		is_within_limits(actions, vmi, r, why);
}

static bool is_over(const struct move_record *record)
{
	return record->state != MOVE_RECOMMENDED && !move_is_open(record);
}

/* The kept record of the move; adds it. The proposal gets its id. */
static struct move_record *record_of(struct move_actions *actions,
	struct proposal *proposal, struct moment now)
{
	struct move_record *record = move_records_find(
		&actions->recorder->records, proposal->record.id);

	if (record == NULL || is_over(record)) {
		record =
			recorder_add(actions->recorder, &proposal->record, now);
		memcpy(proposal->record.id, record->id,
			sizeof(proposal->record.id));
	}
	return record;
}

static void measure_before(const struct move_actions *actions,
	struct move_record *record, int64_t now_us)
{
	record->measured_source_before =
		measures_share(actions->options->cache, record->source, now_us);
	record->measured_target_before =
		measures_share(actions->options->cache, record->target, now_us);
}

bool move_actions_order(struct move_actions *actions, struct proposal *proposal,
	struct buffer *why, struct moment now)
{
	const struct node *target =
		cache_node(actions->options->cache, proposal->record.target);
	struct move_record *record;
	const char *hostname;

	if (proposal->record.is_other_scheduler) {
		buffer_text(why, "another scheduler places the VM's pods");
		return false;
	}
	if (proposal->record.reason == MOVE_FOR_KVM) {
		buffer_printf(why,
			"KVM is broken on %s, and moves away are only "
			"recommended",
			proposal->record.source);
		return false;
	}
	if (!may_order(actions, &proposal->record, why, now) ||
		!is_still_right(actions, proposal, why, now)) {
		return false;
	}
	hostname = node_hostname(target);
	if (hostname == NULL) {
		buffer_printf(why, "%s has no label kubernetes.io/hostname",
			target->name);
		return false;
	}
	record = record_of(actions, proposal, now);
	/* Why the move is ordered now, not why it was recommended. */
	move_words_update(record, &proposal->record);
	measure_before(actions, record, now.now_us);
	if (!open_moves_order(actions->open_moves, record, proposal->pod_uid,
		    hostname, now)) {
		buffer_text(why, "a node keeps room for the VM already");
		return false;
	}
	proposal->record = *record;
	return true;
}

void move_actions_recommend(struct move_actions *actions,
	struct proposal *proposal, struct moment now)
{
	struct move_record *record = record_of(actions, proposal, now);

	if (record->revision > 1) {
		return; /* it is recommended already */
	}
	measure_before(actions, record, now.now_us);
	recorder_enter(actions->recorder, record, MOVE_RECOMMENDED, now);
	proposal->record = *record;
}

void move_actions_withdraw(struct move_actions *actions, const char *id,
	const char *why, struct moment now)
{
	struct move_record *record =
		move_records_find(&actions->recorder->records, id);

	if (record != NULL && record->state == MOVE_RECOMMENDED) {
		if (why != NULL) {
			(void)snprintf(record->failure, sizeof(record->failure),
				"%s", why);
		}
		recorder_enter(actions->recorder, record, MOVE_WITHDRAWN, now);
	}
}

void move_actions_withdraw_old(struct move_actions *actions,
	struct proposals *proposals, struct moment now)
{
	struct move_record over;

	while (proposals_remove_over(proposals, &over)) {
		move_actions_withdraw(actions, over.id, NULL, now);
	}
}

static bool is_kept(const struct move_actions *actions,
	struct proposals *proposals, const struct move_record *record)
{
	if (record->reason == MOVE_FOR_ROOM) {
		return actions->options->room_mode != MOVER_OFF;
	}
	return actions->options->mode != MOVER_OFF &&
		proposals_restore(proposals, record);
}

void move_actions_take_over(struct move_actions *actions,
	struct proposals *proposals, struct moment now)
{
	struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(&actions->recorder->records, &at)) !=
		NULL) {
		if (record->state == MOVE_RECOMMENDED &&
			!is_kept(actions, proposals, record)) {
			recorder_enter(actions->recorder, record,
				MOVE_WITHDRAWN, now);
		}
	}
}
