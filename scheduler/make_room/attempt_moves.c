#include "scheduler/make_room/attempt_moves.h"

#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/mover/live_filter.h"

#include <stdio.h>
#include <string.h>

static bool is_for(const struct move_record *record, const char *pod_uid)
{
	return record->reason == MOVE_FOR_ROOM &&
		strcmp(record->room_for_uid, pod_uid) == 0;
}

static bool has_record(const struct attempt *attempt, const char *id)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		if (strcmp(attempt->moves[i].record.id, id) == 0) {
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

static void add_move(struct attempt *attempt,
	const struct move_records *records, const struct proposal *found)
{
	const struct move_record *record = recommended(records, &found->record);
	struct proposal *move;

	if (attempt->move_count == ATTEMPT_MOVES_MAX ||
		is_moved(records, found->record.vmi_uid)) {
		return;
	}
	move = &attempt->moves[attempt->move_count++];
	*move = *found;
	if (record != NULL) {
		(void)snprintf(move->record.id, sizeof(move->record.id), "%s",
			record->id);
	}
}

void attempt_moves_take(struct attempt *attempt,
	const struct attempt_context *context, const struct found_plan *found)
{
	const struct move_records *records =
		move_actions_records(context->actions);

	attempt_keep_open(attempt);
	(void)snprintf(attempt->node, sizeof(attempt->node), "%s",
		found->is_found ? found->node : "");
	(void)snprintf(attempt->sentence, sizeof(attempt->sentence), "%s",
		found->sentence);
	for (size_t i = 0; found->is_found && i < found->move_count; i++) {
		add_move(attempt, records, &found->moves[i]);
	}
}

void attempt_moves_restore(struct attempt *attempt,
	const struct move_records *records)
{
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL &&
		attempt->move_count < ATTEMPT_MOVES_MAX) {
		if (move_is_open(record) && is_for(record, attempt->uid) &&
			!has_record(attempt, record->id)) {
			attempt->moves[attempt->move_count++] =
				(struct proposal){ .record = *record };
		}
	}
}

/* ---- records and orders ---- */

bool attempt_moves_recommend(struct attempt *attempt,
	const struct attempt_context *context)
{
	bool is_new = false;

	for (size_t i = 0; i < attempt->move_count; i++) {
		struct proposal *move = &attempt->moves[i];

		if (move->record.ordered_us == 0) {
			is_new |= *move->record.id == '\0';
			move_actions_recommend(context->actions, move,
				context->now);
		}
	}
	return is_new;
}

/* The filters of the target, as the cluster is now. */
static bool has_target(const struct attempt_context *context,
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

bool attempt_moves_could_begin(const struct attempt *attempt,
	const struct attempt_context *context)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		const struct proposal *move = &attempt->moves[i];
		scoped_buffer struct buffer why = BUFFER_MAX(ATTEMPT_WHY_MAX);

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
static bool is_unseen(const struct attempt *attempt,
	const struct attempt_context *context)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		const struct move_record *record = &attempt->moves[i].record;

		if (move_is_open(record) &&
			kubevirt_migration_of(
				move_actions_kubevirt(context->actions),
				record->namespace, record->vm) == NULL) {
			return true;
		}
	}
	return false;
}

bool attempt_moves_order(struct attempt *attempt,
	const struct attempt_context *context)
{
	scoped_buffer struct buffer why = BUFFER_MAX(ATTEMPT_WHY_MAX);
	struct proposal *next = NULL;
	bool is_ordered;

	attempt->why[0] = '\0';
	for (size_t i = 0; i < attempt->move_count && next == NULL; i++) {
		if (attempt->moves[i].record.ordered_us == 0) {
			next = &attempt->moves[i];
		}
	}
	if (next == NULL || is_unseen(attempt, context)) {
		return false;
	}
	buffer_text(&why, "");
	is_ordered = has_target(context, next, &why) &&
		move_actions_order(context->actions, next, &why, context->now);
	(void)snprintf(attempt->why, sizeof(attempt->why), "%s", why.data);
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

bool attempt_moves_have_left(const struct attempt *attempt,
	const struct attempt_context *context)
{
	for (size_t i = 0; i < attempt->move_count; i++) {
		const struct move_record *record = &attempt->moves[i].record;

		if (is_on(context->cache, record)) {
			return false;
		}
	}
	return true;
}

void attempt_moves_withdraw(const struct attempt_context *context,
	const char *pod_uid, const struct attempt *attempt, const char *why)
{
	const struct move_records *records =
		move_actions_records(context->actions);
	const struct move_record *record;
	size_t at = 0;

	while ((record = move_records_next(records, &at)) != NULL) {
		if (is_for(record, pod_uid) &&
			(attempt == NULL || !has_record(attempt, record->id))) {
			move_actions_withdraw(context->actions, record->id, why,
				context->now);
		}
	}
}
