#include "scheduler/objects/rejection.h"

#include <stdbool.h>
#include <string.h>

static const char *const names[] = {
	[REJECTION_CPU] = "OutOfcpu",
	[REJECTION_MEMORY] = "OutOfmemory",
	[REJECTION_PODS] = "OutOfpods",
	[REJECTION_RESOURCE] = "OutOf",
	[REJECTION_AFFINITY] = "NodeAffinity",
	[REJECTION_ADMISSION] = "UnexpectedAdmissionError",
	[REJECTION_OTHER] = "other",
};

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

enum rejection rejection_of(const struct json_value *pod)
{
	const char *reason = json_value_text_at(pod, "status/reason", "");

	if (strcmp(json_value_text_at(pod, "status/phase", ""), "Failed") !=
		0) {
		return REJECTION_NONE;
	}
	for (int i = REJECTION_CPU; i < REJECTIONS; i++) {
		if (strcmp(reason, names[i]) == 0) {
			return (enum rejection)i;
		}
	}
	if (has_prefix(reason, names[REJECTION_RESOURCE])) {
		return REJECTION_RESOURCE;
	}
	return has_prefix(json_value_text_at(pod, "status/message", ""),
		       "Pod was rejected")
		? REJECTION_OTHER
		: REJECTION_NONE;
}

const char *rejection_name(enum rejection rejection)
{
	return names[rejection];
}
