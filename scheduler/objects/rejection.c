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

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

enum rejection rejection_of(const struct value *pod)
{
	const char *reason = value_text_at(pod, "status/reason", "");

	if (strcmp(value_text_at(pod, "status/phase", ""), "Failed") != 0) {
		return REJECTION_NONE;
	}
	for (int i = REJECTION_CPU; i < REJECTIONS; i++) {
		if (strcmp(reason, names[i]) == 0) {
			return (enum rejection)i;
		}
	}
	if (begins(reason, names[REJECTION_RESOURCE])) {
		return REJECTION_RESOURCE;
	}
	return begins(value_text_at(pod, "status/message", ""),
		       "Pod was rejected")
		? REJECTION_OTHER
		: REJECTION_NONE;
}

const char *rejection_name(enum rejection rejection)
{
	return names[rejection];
}
