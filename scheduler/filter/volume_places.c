#include "scheduler/filter/volume_places.h"

#include <inttypes.h>

static void write_requirement(struct buffer *out,
	const struct requirement *wanted)
{
	buffer_printf(out, " %d%d%x:%" PRIx64, (int)wanted->op,
		wanted->is_field, wanted->key, (uint64_t)wanted->number);
	for (size_t i = 0; i < wanted->value_count; i++) {
		buffer_printf(out, ",%x", wanted->values[i]);
	}
}

static void write_affinity(struct buffer *out,
	const struct node_selector *affinity)
{
	buffer_text(out, " (");
	for (size_t i = 0; i < affinity->count; i++) {
		const struct label_selector *all = &affinity->list[i].all;

		buffer_printf(out, "|%d", all->is_invalid);
		for (size_t r = 0; r < all->count; r++) {
			write_requirement(out, &all->list[r]);
		}
	}
	buffer_text(out, ")");
}

static void write_bound(struct buffer *out, const struct volumes *volumes)
{
	for (size_t i = 0; i < volumes->bound_count; i++) {
		const struct volume *volume = storage_volume(
			&volumes->cluster->storage, volumes->bound[i]->volume);

		if (volume == NULL) {
			buffer_text(out, " missing");
		} else if (volume->has_affinity) {
			write_affinity(out, &volume->affinity);
		}
	}
}

static void write_zones(struct buffer *out, const struct volume *volume)
{
	for (size_t i = 0; i < volume->zone_count; i++) {
		buffer_printf(out, " z%x", volume->zones[i].plain_key);
		write_requirement(out, &volume->zones[i].wanted);
	}
}

void volume_places_write(struct buffer *out, const struct volumes *volumes)
{
	write_bound(out, volumes);
	for (size_t i = 0; i < volumes->zoned_count; i++) {
		write_zones(out, volumes->zoned[i]);
	}
	for (size_t i = 0; i < volumes->required_count; i++) {
		buffer_printf(out, " d%x", volumes->required[i]);
	}
}
