#include "scheduler/mover/mover_status.h"

#include "lib/clock.h"
#include "lib/json.h"

#include "scheduler/mover/others.h"
#include "scheduler/rebalance/move_pauses.h"

#include <math.h>

/* null: the time is not known. */
static void write_time(struct json *j, const char *key, uint64_t wall_us)
{
	char when[CLOCK_TEXT_MAX];

	if (wall_us == 0) {
		json_null(j, key);
	} else {
		json_string(j, key, clock_text(when, wall_us));
	}
}

static void write_modes(struct json *j, const struct mover_status *status)
{
	const struct gate *gate = status->gate;
	enum mover_mode effective =
		gate->mode == MOVER_AUTOMATIC && gate_recommends_only(gate)
		? MOVER_RECOMMEND
		: gate->mode;

	json_string(j, "mode", mover_mode_name(gate->mode));
	json_string(j, "effective_mode", mover_mode_name(effective));
	json_string(j, "make_room", mover_mode_name(status->room_mode));
	json_bool(j, "leads", gate->leads);
	json_string(j, "why", status->why);
	json_number(j, "price", status->price);
}

static void write_windows(struct json *j, const struct mover_status *status)
{
	const struct gate *gate = status->gate;

	json_object(j, "windows");
	json_string(j, "times",
		*status->windows_text == '\0' ? "always"
					      : status->windows_text);
	json_bool(j, "open", windows_is_open(gate->windows, gate->wall_us));
	write_time(j, "next", windows_next_us(gate->windows, gate->wall_us));
	json_object_end(j);
}

static void write_budgets(struct json *j, const struct mover_status *status)
{
	const struct gate *gate = status->gate;
	const struct budget *budget = &gate->budget;

	json_object(j, "budgets");
	json_unsigned(j, "ordered_last_hour", budget->ordered);
	json_unsigned(j, "max_per_hour", budget_per_hour(budget));
	json_unsigned(j, "unfinished_migrations", budget->unfinished);
	json_unsigned(j, "not_ours", budget->foreign);
	json_unsigned(j, "max_unfinished", budget_per_cluster(budget));
	json_unsigned(j, "max_out_of_node",
		budget_out_of_node(status->limits.out_of_node, 0));
	json_unsigned(j, "max_into_node", 1);
	json_object_end(j);
	write_time(j, "paused_until",
		gate->paused_until_us > gate->wall_us ? gate->paused_until_us
						      : 0);
	json_unsigned(j, "failures_in_a_row", gate->failures);
}

static void write_paused(struct json *j, const struct mover_status *status)
{
	struct move_pauses pauses;
	struct move_pause pause;
	const char *namespace;
	size_t at = 0;

	move_pauses_init(&pauses, status->records);
	json_array(j, "paused_namespaces");
	while ((namespace = move_pauses_next(&pauses, &at,
			status->gate->wall_us, &pause)) != NULL) {
		json_object(j, NULL);
		json_string(j, "namespace", namespace);
		json_unsigned(j, "failures_in_a_row", pause.failures);
		write_time(j, "paused_until", pause.until_us);
		json_object_end(j);
	}
	json_array_end(j);
	move_pauses_fini(&pauses);
}

static void write_kubevirt(struct json *j, const struct mover_status *status)
{
	const struct migration_limits *limits = &status->limits;

	json_object(j, "kubevirt");
	json_string(j, "version", status->kubevirt_version);
	json_unsigned(j, "parallel_migrations_per_cluster",
		limits->per_cluster);
	json_unsigned(j, "parallel_outbound_migrations_per_node",
		limits->out_of_node);
	json_number(j, "bandwidth_bytes_per_second", limits->bytes_per_second);
	json_unsigned(j, "completion_timeout_per_gib_seconds",
		limits->timeout_per_gib_s);
	json_bool(j, "allows_post_copy", limits->allows_post_copy);
	json_bool(j, "allows_auto_converge", limits->allows_auto_converge);
	json_object_end(j);
}

static void write_move(struct json *j, const struct move_record *record)
{
	json_object(j, NULL);
	json_string(j, "id", record->id);
	json_string(j, "namespace", record->namespace);
	json_string(j, "vm", record->vm);
	json_string(j, "source", record->source);
	json_string(j, "target", record->target);
	json_string(j, "state", move_state_name(record->state));
	json_string(j, "reason", move_reason_name(record->reason));
	if (*record->room_for != '\0') {
		json_string(j, "room_for", record->room_for);
	}
	json_number(j, "gain", record->gain);
	json_bool(j, "other_scheduler", record->is_other_scheduler);
	json_string(j, "sentence", record->sentence);
	json_object_end(j);
}

static void write_in_flight(struct json *j, const struct move_records *records)
{
	const struct move_record *record;
	size_t at = 0;

	json_array(j, "in_flight");
	while ((record = move_records_next(records, &at)) != NULL) {
		if (move_is_open(record)) {
			write_move(j, record);
		}
	}
	json_array_end(j);
}

/* The next move that would make room; NULL: no more. Those of the rounds are
 * proposals. */
static const struct move_record *next_for_room(
	const struct move_records *records, size_t *at)
{
	const struct move_record *record;

	while ((record = move_records_next(records, at)) != NULL) {
		if (record->reason == MOVE_FOR_ROOM &&
			record->state == MOVE_RECOMMENDED) {
			return record;
		}
	}
	return NULL;
}

size_t mover_status_recommendations(const struct move_records *records,
	const struct proposals *proposals)
{
	size_t count = 0;
	size_t at = 0;

	for (size_t i = 0; i < proposals->count; i++) {
		count += *proposals->list[i].record.id != '\0';
	}
	while (next_for_room(records, &at) != NULL) {
		count++;
	}
	return count;
}

static void write_recommendations(struct json *j,
	const struct mover_status *status)
{
	const struct proposals *proposals = status->proposals;
	const struct move_record *record;
	size_t at = 0;

	json_array(j, "recommendations");
	for (size_t i = 0; i < proposals->count; i++) {
		if (*proposals->list[i].record.id != '\0') {
			write_move(j, &proposals->list[i].record);
		}
	}
	while ((record = next_for_room(status->records, &at)) != NULL) {
		write_move(j, record);
	}
	json_array_end(j);
}

static void write_round(struct json *j, const struct mover_status *status)
{
	json_object(j, "last_round");
	write_time(j, "time", status->last_round_us);
	json_number_or_null(j, "seconds", status->round_s);
	json_unsigned(j, "nodes", status->nodes);
	json_unsigned(j, "vms", status->vms);
	json_unsigned(j, "movable_vms_on_short_nodes", status->movable);
	json_number(j, "untried_save_at_most", status->left);
	json_object_end(j);
}

void mover_status_write(struct buffer *out, const struct mover_status *status)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	write_modes(&j, status);
	write_windows(&j, status);
	write_budgets(&j, status);
	write_paused(&j, status);
	write_kubevirt(&j, status);
	json_number_or_null(&j, "copy_seconds_per_gb", status->copy_pace * 1e9);
	json_unsigned(&j, "vms_left_to_others",
		conflicts_count(status->conflicts, status->gate->wall_us));
	others_write(&j, status->kubevirt);
	write_in_flight(&j, status->records);
	write_recommendations(&j, status);
	not_movable_write(&j, status->not_movable);
	write_round(&j, status);
	json_object_end(&j);
}

void mover_status_write_off(struct buffer *out)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "mode", mover_mode_name(MOVER_OFF));
	json_string(&j, "effective_mode", mover_mode_name(MOVER_OFF));
	json_string(&j, "make_room", mover_mode_name(MOVER_OFF));
	json_string(&j, "why", "--rebalance is off");
	json_object_end(&j);
}
