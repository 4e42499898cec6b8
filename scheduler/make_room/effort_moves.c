#include "scheduler/make_room/effort_moves.h"

#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/mover/live_filter.h"

#include <stdio.h>
#include <string.h>

static bool is_for(const struct move_record *record, const char *pod_uid)
{
	return record->reason == MOVE_FOR_ROOM &&
		strcmp(record->room_for_uid, pod_uid) == 0;
}

static bool has_record(const struct effort *effort, const char *id)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		if (strcmp(effort->moves[i].record.id, id) == 0) {
			return true;
		}
	}
	return false;
}

/* ---- a new plan ---- */

static bool is_same_move(const struct move_record *a,
	const struct move_record *b)
{
	return strcmp(a->vmi_uid, b->vmi_uid) == 0 &&
		strcmp(a->source, b->source) == 0 &&
		strcmp(a->target, b->target) == 0;
}

/* The recommendation of the same move, also an earlier leader's. */
static const struct move_record *recommended(const struct move_records *records,
	const struct move_record *move)
{
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (record->state == MOVE_RECOMMENDED &&
			is_for(record, move->room_for_uid) &&
			is_same_move(record, move)) {
			return record;
		}
	}
	return NULL;
}

/* The VM was ordered to another node after the search had begun. */
static bool is_moved(const struct move_records *records, const char *vmi_uid)
{
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (move_is_open(record) &&
			strcmp(record->vmi_uid, vmi_uid) == 0) {
			return true;
		}
	}
	return false;
}

static void add_move(struct effort *effort, const struct move_records *records,
	const struct proposal *found)
{
	const struct move_record *record = recommended(records, &found->record);
	struct proposal *move;

	if (effort->move_count == EFFORT_MOVES_MAX ||
		is_moved(records, found->record.vmi_uid)) {
		return;
	}
	move = &effort->moves[effort->move_count++];
	*move = *found;
	if (record != NULL) {
		(void)snprintf(move->record.id, sizeof(move->record.id), "%s",
			record->id);
	}
}

void effort_moves_take(struct effort *effort,
	const struct effort_context *context, const struct found_plan *found)
{
	const struct move_records *records =
		move_actions_records(context->actions);

	effort_keep_open(effort);
	(void)snprintf(effort->node, sizeof(effort->node), "%s",
		found->is_found ? found->node : "");
	(void)snprintf(effort->sentence, sizeof(effort->sentence), "%s",
		found->sentence);
	for (size_t i = 0; found->is_found && i < found->move_count; i++) {
		add_move(effort, records, &found->moves[i]);
	}
}

void effort_moves_restore(struct effort *effort,
	const struct move_records *records)
{
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL &&
		effort->move_count < EFFORT_MOVES_MAX) {
		if (move_is_open(record) && is_for(record, effort->uid) &&
			!has_record(effort, record->id)) {
			effort->moves[effort->move_count++] =
				(struct proposal){ .record = *record };
		}
	}
}

/* ---- records and orders ---- */

bool effort_moves_recommend(struct effort *effort,
	const struct effort_context *context)
{
	bool is_new = false;

	for (size_t i = 0; i < effort->move_count; i++) {
		struct proposal *move = &effort->moves[i];

		if (move->record.ordered_us == 0) {
			is_new |= *move->record.id == '\0';
			move_actions_recommend(context->actions, move,
				context->now);
		}
	}
	return is_new;
}

/* The filters of the target, as the cluster is now. */
static bool has_target(const struct effort_context *context,
	const struct proposal *move, struct buffer *why)
{
	const struct cache *cache = context->cache;
	struct live_filter filter = { .cache = cache,
		.kubevirt = move_actions_kubevirt(context->actions) };
	const struct fleet_vm vm = { .pod = cache_pod(cache, move->pod_uid) };
	const struct fleet_node target = { .node = cache_node(cache,
						   move->record.target) };
	bool is_admitted;

	if (vm.pod == NULL || target.node == NULL) {
		buffer_printf(why, "%s/%s or %s is gone",
			move->record.namespace, move->record.vm,
			move->record.target);
		return false;
	}
	live_filter_begin(&filter, context->now.now_us);
	is_admitted = live_filter_may_run(&filter, &vm, &target);
	live_filter_fini(&filter);
	if (!is_admitted) {
		buffer_printf(why, "%s/%s does not fit on %s yet",
			move->record.namespace, move->record.vm,
			move->record.target);
	}
	return is_admitted;
}

static bool is_at_source(const struct cache *cache, const struct proposal *move)
{
	const struct pod *pod = cache_pod(cache, move->pod_uid);

	return pod != NULL && strcmp(pod->node_name, move->record.source) == 0;
}

bool effort_moves_could_begin(const struct effort *effort,
	const struct effort_context *context)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		const struct proposal *move = &effort->moves[i];
		scoped_buffer struct buffer why = BUFFER_MAX(EFFORT_WHY_MAX);

		if (move->record.ordered_us != 0 ||
			!is_at_source(context->cache, move) ||
			!has_target(context, move, &why)) {
			return false;
		}
	}
	return true;
}

/* KubeVirt has not shown the migration of the last order. Until it does, the
 * limits of nodes do not count it. */
static bool is_unseen(const struct effort *effort,
	const struct effort_context *context)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		const struct move_record *record = &effort->moves[i].record;

		if (move_is_open(record) &&
			kubevirt_migration_of(
				move_actions_kubevirt(context->actions),
				record->namespace, record->vm) == NULL) {
			return true;
		}
	}
	return false;
}

bool effort_moves_order(struct effort *effort,
	const struct effort_context *context)
{
	scoped_buffer struct buffer why = BUFFER_MAX(EFFORT_WHY_MAX);
	struct proposal *next = NULL;
	bool is_ordered;

	effort->why[0] = '\0';
	for (size_t i = 0; i < effort->move_count && next == NULL; i++) {
		if (effort->moves[i].record.ordered_us == 0) {
			next = &effort->moves[i];
		}
	}
	if (next == NULL || is_unseen(effort, context)) {
		return false;
	}
	buffer_text(&why, "");
	is_ordered = has_target(context, next, &why) &&
		move_actions_order(context->actions, next, &why, context->now);
	(void)snprintf(effort->why, sizeof(effort->why), "%s", why.data);
	return is_ordered;
}

/* ---- the ends ---- */

/* The VM is still on the source of its move. */
static bool is_on(const struct cache *cache, const struct move_record *record)
{
	const struct node *node = cache_node(cache, record->source);

	for (size_t i = 0; node != NULL && i < node->vms.count; i++) {
		const struct pod *pod = cache_pod(cache, node->vms.list[i].uid);

		if (pod != NULL && strcmp(pod->vmi_uid, record->vmi_uid) == 0 &&
			strcmp(pod->namespace, record->namespace) == 0) {
			return true;
		}
	}
	return false;
}

bool effort_moves_have_left(const struct effort *effort,
	const struct effort_context *context)
{
	for (size_t i = 0; i < effort->move_count; i++) {
		const struct move_record *record = &effort->moves[i].record;

		if (is_on(context->cache, record)) {
			return false;
		}
	}
	return true;
}

void effort_moves_withdraw(const struct effort_context *context,
	const char *pod_uid, const struct effort *effort, const char *why)
{
	const struct move_records *records =
		move_actions_records(context->actions);
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (is_for(record, pod_uid) &&
			(effort == NULL || !has_record(effort, record->id))) {
			move_actions_withdraw(context->actions, record->id, why,
				context->now);
		}
	}
}
