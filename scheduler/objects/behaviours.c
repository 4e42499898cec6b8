#include "scheduler/objects/behaviours.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lib/memory.h"

enum { MINOR_MAX = 9999 };

/* docs/parity.md says why. */
static const struct {
	const char *name;
	int since; /* the minor version from which on it is so by default */
} rows[] = {
	/* Gate NodeDeclaredFeatures: a pod with a restart rule
	 * RestartAllContainers, or with hostNetwork and without hostUsers,
	 * needs a node that declares the feature. */
	[BEHAVIOUR_DECLARED_FEATURES] = { "declared-features", 36 },
	/* The same of bindMountOptions, if the API server serves that field. */
	[BEHAVIOUR_BIND_MOUNT_OPTIONS] = { "bind-mount-options", 37 },
	/* A pod that is resized in place counts as the maximum of three sums;
	 * before, as the sum of the maxima of its containers. */
	[BEHAVIOUR_RESIZE_BY_SUMS] = { "resize-by-sums", 37 },
	/* Gate VolumeLimitScaling: preventPodSchedulingIfMissing of a CSIDriver
	 * excludes nodes that lack the driver. */
	[BEHAVIOUR_CSI_DRIVER_MISSING] = { "csi-driver-missing", 37 },
	/* spec.nodeName chooses the node before anything is read of nodes. */
	[BEHAVIOUR_NODE_NAME_FIRST] = { "node-name-first", 37 },
	/* A gated pod that is nominated for a node counts there. */
	[BEHAVIOUR_GATED_NOMINATIONS] = { "gated-nominations", 37 },
};

_Static_assert(count_of(rows) == BEHAVIOURS, "each behaviour has a row");

static uint32_t bit(int row)
{
	return UINT32_C(1) << row;
}

const char *behaviour_name(enum behaviour row)
{
	return rows[row].name;
}

struct behaviours behaviours_of(int minor,
	const struct behaviour_overrides *overrides)
{
	struct behaviours behaviours = { 0 };

	for (int i = 0; i < BEHAVIOURS; i++) {
		behaviours.off |= minor < rows[i].since ? bit(i) : 0;
	}
	behaviours.off = (behaviours.off & ~overrides->on) | overrides->off;
	return behaviours;
}

int behaviours_read_version(int *minor, const char *text, struct error *err)
{
	const char *digits = text + (*text == 'v');
	int number = 0;

	if (strncmp(digits, "1.", 2) != 0 ||
		!isdigit((unsigned char)digits[2])) {
		return error_set(err, -EINVAL,
			"'%.60s' is not a version of Kubernetes, such as "
			"v1.37.2",
			text);
	}
	for (digits += 2; isdigit((unsigned char)*digits); digits++) {
		number = number * 10 + (*digits - '0');
		number = number > MINOR_MAX ? MINOR_MAX : number;
	}
	*minor = number;
	return 0;
}

static void append_names(struct buffer *out, uint32_t set)
{
	const char *space = "";

	for (int i = 0; i < BEHAVIOURS; i++) {
		if ((set & bit(i)) != 0) {
			buffer_printf(out, "%s%s", space, rows[i].name);
			space = " ";
		}
	}
}

static int no_such_row(const char *text, struct error *err)
{
	scoped_buffer struct buffer names = BUFFER_MAX(1024);

	append_names(&names, UINT32_MAX);
	return error_set(err, -EINVAL,
		"'%.60s' is not NAME=on or NAME=off with one of these names: "
		"%s",
		text, names.data);
}

int behaviours_override(struct behaviour_overrides *overrides, const char *text,
	struct error *err)
{
	const char *value = strchr(text, '=');
	size_t len = value == NULL ? 0 : (size_t)(value - text);

	for (int i = 0; i < BEHAVIOURS && value != NULL; i++) {
		if (strlen(rows[i].name) != len ||
			memcmp(rows[i].name, text, len) != 0) {
			continue;
		}
		if (strcmp(value, "=on") == 0) {
			overrides->on |= bit(i);
			overrides->off &= ~bit(i);
			return 0;
		}
		if (strcmp(value, "=off") == 0) {
			overrides->off |= bit(i);
			overrides->on &= ~bit(i);
			return 0;
		}
	}
	return no_such_row(text, err);
}

void behaviours_describe(struct buffer *out, struct behaviours behaviours)
{
	buffer_text(out, "");
	append_names(out, ~behaviours.off);
}
