/* spec.affinity of a manifest, as the API server's validation admits it. Pure.
 * -EINVAL: the sentence names the field. */
#pragma once

#include "lib/error.h"
#include "scheduler/answers/manifest_fields.h"

must_check int manifest_affinity(const struct manifest_field *affinity,
	struct error *err);
