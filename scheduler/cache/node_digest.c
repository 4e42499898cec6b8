#include "scheduler/cache/node_digest.h"

#include "lib/hash.h"
#include "lib/memory.h"

static uint64_t digest_text(uint64_t digest, const char *text)
{
	return hash_text(digest, text) * 31 + 1;
}

static uint64_t digest_value(uint64_t digest, const struct json_value *value)
{
	const struct json_value *v;

	digest = digest_text(digest, json_value_text(value));
	digest = digest * 2 + json_value_true(value);
	for (v = json_value_first(value); v != NULL; v = json_value_next(v)) {
		digest = digest_text(digest, json_value_key(v));
		digest = digest_value(digest, v);
	}
	return digest;
}

uint64_t node_digest(const struct json_value *object)
{
	static const char *const parts[] = { "metadata/labels", "spec/taints",
		"spec/unschedulable", "status/allocatable",
		"status/declaredFeatures" };
	uint64_t digest = HASH_SEED;

	for (size_t i = 0; i < count_of(parts); i++) {
		digest = digest_value(digest, json_value_at(object, parts[i]));
	}
	return digest;
}
