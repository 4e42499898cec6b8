/* A manifest while a pod is derived from it: shared by the files that write the
 * pod. */
#pragma once

#include "kube/json_value.h"
#include "lib/json.h"
#include "scheduler/launcher/launcher_amounts.h"
#include "scheduler/launcher/launcher_beside.h"
#include "scheduler/launcher/launcher_needs.h"
#include "scheduler/launcher/launcher_spec.h"

#include <stdbool.h>
#include <stddef.h>

enum { DERIVATION_NOTES_MAX = 4 };

struct derivation {
	const struct launcher_spec *spec; /* NULL: of a VMI that runs */
	const struct launcher_settings *settings;
	/* Metadata, spec and status of the VMI; NULL: none. */
	const struct json_value *meta, *vmi, *status;
	const struct json_value *claims; /* dataVolumeTemplates; or NULL */
	const char *from, *name;
	struct launcher_reading reading;
	struct launcher_beside beside;
	struct launcher_amounts amounts;
	const char *notes[DERIVATION_NOTES_MAX]; /* static texts */
	size_t note_count;
	bool is_whole; /* all of it could be written */
};

/* Once, however often it is called with the same text. */
void derivation_note(struct derivation *d, const char *words);

/* Each writes a part of the manifest as it is. */
void derivation_copy(struct derivation *d, struct json *j, const char *key,
	const struct json_value *value);
void derivation_copy_members(struct derivation *d, struct json *j,
	const struct json_value *object);

/* The VM's architecture as Kubernetes writes it, which the caller frees; "": it
 * names none. Only letters, digits and "_-", because it is written as JSON. */
char *derivation_architecture(const struct derivation *d);
