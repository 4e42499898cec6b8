#include "scheduler/objects/pod_kin.h"

#include "lib/hash.h"

/* 0: the pod does not have the label. */
static uint32_t label(const struct pod *pod, const char *key)
{
	uint32_t id = interner_find(pod->interner, key);

	return id == 0 ? 0 : labels_get(&pod->labels, id);
}

/* Ids of texts are held by the pod's labels, and the same for the same text. */
static uint64_t label_hash(const struct pod *pod, uint64_t size)
{
	const uint32_t pool[] = { 1, label(pod, "kubevirt.io/vmpool") };
	const uint32_t app[] = { 2, label(pod, "app") };
	const uint32_t group[] = { 3, label(pod, "app.kubernetes.io/instance"),
		label(pod, "app.kubernetes.io/name"),
		label(pod, "app.kubernetes.io/component") };

	if (pool[1] != 0) {
		return hash_bytes(HASH_SEED, pool, sizeof(pool));
	}
	if (group[1] != 0 || group[2] != 0) {
		return hash_bytes(HASH_SEED, group, sizeof(group));
	}
	return app[1] != 0 ? hash_bytes(HASH_SEED, app, sizeof(app)) : size;
}

struct kin_keys pod_kin(const struct pod *pod)
{
	const double figures[] = { pod->vcpus,
		(double)pod->requests.memory_bytes };
	uint64_t size = hash_bytes(HASH_SEED, figures, sizeof(figures));

	if (!pod->is_vm || pod->namespace_id == 0) {
		return (struct kin_keys){ 0 };
	}
	return (struct kin_keys){ .by = {
					  kin_key_of(pod->namespace_id,
						  KIN_BY_SIZE, size),
					  kin_key_of(pod->namespace_id,
						  KIN_BY_LABELS,
						  label_hash(pod, size)),
				  } };
}
