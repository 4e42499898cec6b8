#include "scheduler/filter/csi_drivers.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/buffer.h"
#include "lib/memory.h"

static bool has(const uint32_t *list, size_t count, uint32_t driver)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i] == driver) {
			return true;
		}
	}
	return false;
}

static bool is_required(const struct volumes *v, uint32_t driver)
{
	const struct csi_driver *object = storage_csi_driver(
		&v->cluster->storage, interner_text(v->pod->interner, driver));

	return object != NULL && object->is_required;
}

void csi_drivers_prepare(struct volumes *volumes)
{
	struct volumes *v = volumes;

	if (v->new_count == 0 ||
		!behaviours_have(v->cluster->behaviours,
			BEHAVIOUR_CSI_DRIVER_MISSING)) {
		return;
	}
	v->required = xcalloc(v->new_count, sizeof(*v->required));
	for (size_t i = 0; i < v->new_count; i++) {
		uint32_t driver = v->new_volumes[i].driver;

		if (!has(v->required, v->required_count, driver) &&
			is_required(v, driver)) {
			v->required[v->required_count++] = driver;
		}
	}
}

bool csi_drivers_are_there(const struct volumes *volumes,
	const struct node *node)
{
	const struct csi_node *csi = volumes->required_count == 0
		? NULL
		: storage_csi_node(&volumes->cluster->storage, node->name);

	for (size_t i = 0; i < volumes->required_count; i++) {
		if (csi == NULL ||
			!has(csi->drivers, csi->driver_count,
				volumes->required[i])) {
			return false;
		}
	}
	return true;
}

void csi_drivers_reason(char *out, size_t size, const struct volumes *volumes)
{
	scoped_buffer struct buffer names = BUFFER_MAX(4096);

	for (size_t i = 0; i < volumes->required_count; i++) {
		buffer_printf(&names, "%s%s", i > 0 ? ", " : "",
			interner_text(volumes->pod->interner,
				volumes->required[i]));
	}
	if (volumes->required_count == 1) {
		(void)snprintf(out, size,
			"%.300s CSI driver is not installed on the node",
			names.data);
	} else {
		(void)snprintf(out, size,
			"one of the CSI drivers %.300s is not installed on the "
			"node",
			names.data);
	}
}
