/* Where volumes may be used, as a text: pods with equal texts get the same
 * answer of volumes_filter_places() on every node, as long as no volume
 * changes. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/filter/volumes.h"

/* Appends nothing if the volumes may be used everywhere. volumes: after
 * volumes_prepare_places(), not refused. */
void volume_places_write(struct buffer *out, const struct volumes *volumes);
