/* The answer as JSON. */
#include "scheduler/make_room/room_fits.h"

static void write_fit(const struct room_fit *fit, struct json *j)
{
	json_object(j, NULL);
	json_unsigned(j, "vcpus", fit->size.vcpus);
	json_unsigned(j, "memory_gib", fit->size.memory_gib);
	json_bool(j, "fits_now", fit->nodes > 0);
	json_unsigned(j, "nodes", fit->nodes);
	json_unsigned(j, "copies", fit->copies);
	json_bool(j, "fits_after_moves", fit->fits_after_moves);
	if (fit->fits_after_moves) {
		json_unsigned(j, "moves", fit->moves);
	} else {
		json_null(j, "moves");
	}
	json_bool(j, "cut_off", fit->is_cut_off);
	json_string(j, "message", fit->message);
	json_object_end(j);
}

static void write_largest(const struct room_largest *largest, struct json *j,
	const char *key)
{
	if (largest->vcpus == 0) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	json_unsigned(j, "vcpus", largest->vcpus);
	json_unsigned(j, "memory_gib",
		(uint64_t)largest->vcpus * ROOM_VCPU_GIB);
	json_string(j, "node", largest->node);
	json_unsigned(j, "moves", largest->moves);
	json_object_end(j);
}

static void write_kind(const struct room_kind *kind, const char *name,
	struct json *j)
{
	bool is_offered = *kind->message == '\0';

	json_object(j, NULL);
	json_string(j, "kind", name);
	json_bool(j, "offered", is_offered);
	json_string(j, "message", kind->message);
	json_array(j, "shapes");
	for (size_t i = 0; is_offered && i < ROOM_SHAPES; i++) {
		write_fit(&kind->fits[i], j);
	}
	json_array_end(j);
	write_largest(&kind->now, j, "largest_now");
	write_largest(&kind->after_moves, j, "largest_after_moves");
	json_bool(j, "cut_off", kind->is_cut_off);
	json_object_end(j);
}

void room_fits_write(const struct room_fits *fits, struct json *j)
{
	json_unsigned(j, "nodes", fits->nodes);
	json_unsigned(j, "vms", fits->vms);
	json_unsigned(j, "max_moves", fits->max_moves);
	json_unsigned(j, "cpu_allocation_ratio",
		fits->settings.cpu_allocation_ratio);
	json_unsigned(j, "memory_overcommit", fits->settings.memory_overcommit);
	json_array(j, "kinds");
	for (size_t i = 0; i < LAUNCHER_KINDS; i++) {
		write_kind(&fits->kinds[i],
			launcher_kind_name((enum launcher_kind)i), j);
	}
	json_array_end(j);
}
