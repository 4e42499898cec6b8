#include "scheduler/mover/move_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double gb = 1e9;

void move_words_init(struct move_record *out)
{
	*out = (struct move_record){ .state = MOVE_RECOMMENDED };
#define X(field) out->field = NAN;
	MOVE_FIGURES(X)
#undef X
}

static double load_of(const struct fleet_node *node, double more_cores)
{
	return node->cores > 0 ? (node->mean + more_cores) / node->cores : NAN;
}

static void write_names(struct move_record *out, const struct pod *pod,
	const char *source, const char *target)
{
	(void)snprintf(out->namespace, sizeof(out->namespace), "%s",
		pod->namespace);
	(void)snprintf(out->vm, sizeof(out->vm), "%s", pod->vm_name);
	(void)snprintf(out->vmi_uid, sizeof(out->vmi_uid), "%s", pod->vmi_uid);
	(void)snprintf(out->source, sizeof(out->source), "%s", source);
	(void)snprintf(out->target, sizeof(out->target), "%s", target);
}

static void write_sentence(struct move_record *out)
{
	(void)snprintf(out->sentence, sizeof(out->sentence),
		"within an hour %s is short of %.1f core-minutes, and of %.1f "
		"without the VM; %s of %.1f, and of %.1f with it; the move "
		"saves %.1f more than its price of %.1f",
		out->source, MOVE_WORDS_MINUTES * out->source_shortage_before,
		MOVE_WORDS_MINUTES * out->source_shortage_after, out->target,
		MOVE_WORDS_MINUTES * out->target_shortage_before,
		MOVE_WORDS_MINUTES * out->target_shortage_after,
		MOVE_WORDS_MINUTES * out->gain,
		MOVE_WORDS_MINUTES * out->price);
}

static void write_figures(struct move_record *out, const struct fleet *fleet,
	const struct fleet_move *move, double price)
{
	const struct fleet_vm *vm = &fleet->vms[move->vm];
	const struct fleet_node *source = &fleet->nodes[vm->node];
	const struct fleet_node *target = &fleet->nodes[move->target];

	move_words_init(out);
	write_names(out, vm->pod, source->node->name, target->node->name);
	out->gain = move->gain;
	out->price = price;
	out->source_shortage_before = move->source_before;
	out->source_shortage_after = move->source_after;
	out->target_shortage_before = move->target_before;
	out->target_shortage_after = move->target_after;
	out->source_load_before = load_of(source, 0);
	out->source_load_after = load_of(source, -vm->cores);
	out->target_load_before = load_of(target, 0);
	out->target_load_after = load_of(target, vm->cores);
	out->memory_bytes = vm->memory_bytes;
}

void move_words_from(struct move_record *out, const struct fleet *fleet,
	const struct fleet_move *move, double price)
{
	write_figures(out, fleet, move, price);
	out->reason = MOVE_FOR_CPU;
	write_sentence(out);
}

static void write_relief(char *out, size_t size,
	const struct pressure_move *move)
{
	if (move->reason == MOVE_FOR_MEMORY) {
		(void)snprintf(out, size, "the VM holds %.1f GB there",
			move->needed_bytes / gb);
	} else if (move->reason == MOVE_FOR_IO) {
		(void)snprintf(out, size, "the VM waits in %.0f %% of the time",
			100 * move->relief);
	} else {
		(void)snprintf(out, size, "no VM can start there");
	}
}

void move_words_from_pressure(struct move_record *out,
	const struct fleet *fleet, const struct pressure_move *move,
	double price)
{
	char relief[64];

	write_figures(out, fleet, &move->move, price);
	out->reason = move->reason;
	write_relief(relief, sizeof(relief), move);
	(void)snprintf(out->sentence, sizeof(out->sentence),
		"%s is in trouble, %s; %s, and the copy transfers %.1f GB; "
		"within an hour %s is short of %.1f core-minutes, and of %.1f "
		"with the VM",
		out->source, move->text, relief, move->copied_bytes / gb,
		out->target, MOVE_WORDS_MINUTES * out->target_shortage_before,
		MOVE_WORDS_MINUTES * out->target_shortage_after);
}

void move_words_for_placement(struct move_record *out,
	const struct fleet *fleet, const struct fleet_move *move, double price,
	const char *why)
{
	write_figures(out, fleet, move, price);
	out->reason = MOVE_FOR_PLACEMENT;
	(void)snprintf(out->sentence, sizeof(out->sentence),
		"the VM may not stand on %s: %s; within an hour %s is short of "
		"%.1f core-minutes, and of %.1f with the VM",
		out->source, why, out->target,
		MOVE_WORDS_MINUTES * out->target_shortage_before,
		MOVE_WORDS_MINUTES * out->target_shortage_after);
}

static void write_room_sentence(struct move_record *out,
	const struct move_words_room *move)
{
	size_t used;

	(void)snprintf(out->sentence, sizeof(out->sentence),
		"makes room for %s on %s, move %zu of %zu", out->room_for,
		move->node, move->number, move->count);
	used = strlen(out->sentence);
	if (!isnan(out->target_load_before) && !isnan(out->target_load_after)) {
		(void)snprintf(out->sentence + used,
			sizeof(out->sentence) - used,
			"; %s is expected to use %.0f %% of its cores, and "
			"%.0f %% with the VM",
			out->target, 100 * out->target_load_before,
			100 * out->target_load_after);
	}
}

void move_words_for_room(struct move_record *out,
	const struct move_words_room *move)
{
	move_words_init(out);
	write_names(out, move->vm, move->source, move->target);
	out->reason = MOVE_FOR_ROOM;
	(void)snprintf(out->room_for, sizeof(out->room_for), "%s/%s",
		move->room_for->namespace, move->room_for->name);
	(void)snprintf(out->room_for_uid, sizeof(out->room_for_uid), "%s",
		move->room_for->uid);
	out->source_load_before = move->source_load_before;
	out->source_load_after = move->source_load_after;
	out->target_load_before = move->target_load_before;
	out->target_load_after = move->target_load_after;
	out->memory_bytes = move->memory_bytes;
	write_room_sentence(out, move);
}

void move_words_update(struct move_record *record,
	const struct move_record *figures)
{
	const struct move_record old = *record;

	*record = *figures;
	memcpy(record->id, old.id, sizeof(record->id));
	record->revision = old.revision;
	record->wall_us = old.wall_us;
	record->state = old.state;
}
