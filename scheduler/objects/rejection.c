#include "scheduler/objects/rejection.h"

#include "lib/hash.h"

#include <math.h>
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

static const char *controller_uid(const struct json_value *pod)
{
	const struct json_value *owners =
		json_value_at(pod, "metadata/ownerReferences");

	for (const struct json_value *owner = json_value_first(owners);
		owner != NULL; owner = json_value_next(owner)) {
		if (json_value_true(json_value_at(owner, "controller"))) {
			return json_value_text_at(owner, "uid", "");
		}
	}
	return "";
}

uint32_t rejection_hash(const struct json_value *pod)
{
	const char *name = json_value_text(
		json_value_get(json_value_at(pod, "metadata/annotations"),
			"kubevirt.io/domain"));

	if (name == NULL || *name == '\0') {
		name = controller_uid(pod);
	}
	if (*name == '\0') {
		name = json_value_text_at(pod, "metadata/name", "");
	}
	return (uint32_t)hash_text(
		hash_text(HASH_SEED,
			json_value_text_at(pod, "metadata/namespace", "")),
		name);
}

static double faded_count(const struct rejections *rejections, int64_t now_us)
{
	double ago = (double)(now_us - rejections->at_us);

	return fmax(
		rejections->count - fmax(ago, 0) / (double)REJECTION_FADES_US,
		0);
}

/* Puts it first, in place of itself or of the last one. False: it was there. */
static bool remember(struct rejections *rejections, uint32_t hash, double count)
{
	size_t known = (size_t)ceil(count);
	size_t at = 0;
	bool is_new;

	while (at < known && rejections->hashes[at] != hash) {
		at++;
	}
	is_new = at == known;
	at = at < REJECTION_COUNT_MAX ? at : REJECTION_COUNT_MAX - 1;
	memmove(rejections->hashes + 1, rejections->hashes,
		at * sizeof(rejections->hashes[0]));
	rejections->hashes[0] = hash;
	return is_new;
}

void rejections_add(struct rejections *rejections, uint32_t hash,
	int64_t now_us)
{
	double count = faded_count(rejections, now_us);

	count += remember(rejections, hash, count) ? 1 : 0;
	rejections->at_us = now_us;
	rejections->count = (float)fmin(count, REJECTION_COUNT_MAX);
}

double rejections_cost(const struct rejections *rejections, int64_t now_us)
{
	if (rejections->count <= 0) {
		return 0;
	}
	return REJECTION_COST * (exp2(faded_count(rejections, now_us)) - 1) /
		(exp2(REJECTION_COUNT_MAX) - 1);
}
