#include "scheduler/objects/consent.h"

#include <string.h>

enum consent consent_read(const struct json_value *annotations)
{
	const struct json_value *word =
		json_value_get(annotations, CONSENT_ANNOTATION);
	const char *text = json_value_text(word);

	if (json_value_get(annotations, CONSENT_NO_EVICTION) != NULL) {
		return CONSENT_NEVER;
	}
	if (word == NULL) {
		return CONSENT_UNSET;
	}
	return text != NULL && strcmp(text, "allowed") == 0 ? CONSENT_ALLOWED
							    : CONSENT_NEVER;
}

enum consent consent_of(enum consent vmi, enum consent namespace_consent,
	enum consent node)
{
	if (vmi != CONSENT_UNSET) {
		return vmi;
	}
	return namespace_consent == CONSENT_NEVER || node == CONSENT_NEVER
		? CONSENT_NEVER
		: CONSENT_ALLOWED;
}
