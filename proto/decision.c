#include "proto/decision.h"

#include <string.h>

bool decision_add_name(struct decision_record *record, const char *node)
{
	struct decision_rejection *last =
		&record->rejections[record->rejection_count - 1];
	size_t size = strlen(node) + 1;

	if (last->name_count == DECISION_NAMES_MAX ||
		size > sizeof(record->names) - record->names_len) {
		return false;
	}
	if (last->name_count == 0) {
		last->first_name = (uint32_t)record->names_len;
	}
	memcpy(record->names + record->names_len, node, size);
	record->names_len += size;
	last->name_count++;
	return true;
}

const char *decision_names(const struct decision_record *record,
	const struct decision_rejection *rejection)
{
	return record->names + rejection->first_name;
}
