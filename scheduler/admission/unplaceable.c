#include "scheduler/admission/unplaceable.h"

#include "scheduler/objects/unsupported.h"

#include <stddef.h>

char *unplaceable_why(const struct storage *storage, const char *namespace_name,
	const struct json_value *pod)
{
	const struct json_value *spec = json_value_get(pod, "spec");
	char *why = unsupported_spec(spec);

	for (const struct json_value *v =
			json_value_first(json_value_get(spec, "volumes"));
		v != NULL && why == NULL; v = json_value_next(v)) {
		const struct claim *claim =
			storage_claim(storage, namespace_name,
				json_value_text_at(v,
					"persistentVolumeClaim/claimName", ""));

		if (claim != NULL) {
			why = storage_unsupported(storage, claim);
		}
	}
	return why;
}
