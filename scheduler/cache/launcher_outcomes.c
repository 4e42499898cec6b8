#include "scheduler/cache/launcher_outcomes.h"

#include "kube/time.h"
#include "lib/clock.h"
#include "scheduler/forecast/forecast.h"
#include "scheduler/objects/launcher.h"
#include "scheduler/objects/rejection.h"

#include <string.h>

/* The names in a Pod object; "" for none. */
struct launcher {
	const char *namespace, *vm, *node;
};

static struct launcher launcher_of(const struct json_value *object)
{
	const char *vm = json_value_text(
		json_value_get(json_value_at(object, "metadata/annotations"),
			"kubevirt.io/domain"));

	return (struct launcher){
		.namespace =
			json_value_text_at(object, "metadata/namespace", ""),
		.vm = vm == NULL ? "" : vm,
		.node = json_value_text_at(object, "spec/nodeName", ""),
	};
}

static void reject(struct cache *cache, const struct launcher *launcher,
	const struct json_value *object, int64_t now_us)
{
	cache_reject(cache, launcher->node, rejection_hash(object), now_us);
	vm_failures_add(&cache->cluster.failures, launcher->namespace,
		launcher->vm, launcher->node, now_us);
}

static bool is_deleting(const struct json_value *object)
{
	return *json_value_text_at(object, "metadata/deletionTimestamp", "") !=
		'\0';
}

void launcher_outcomes_failed(struct cache *cache,
	const struct json_value *object, int64_t now_us)
{
	const struct launcher launcher = launcher_of(object);
	struct vm_failures *failures = &cache->cluster.failures;
	int64_t ran = launcher_ran_us(object);

	if (rejection_of(object) != REJECTION_NONE) {
		reject(cache, &launcher, object, now_us);
	} else if (launcher_is_target(object)) {
		launcher_outcomes_left(cache,
			json_value_text_at(object, "metadata/uid", ""), now_us);
	} else if (ran >= FORECAST_BOOT_US) {
		vm_failures_succeeded(failures, launcher.namespace, launcher.vm,
			launcher.node);
	} else if (ran != LAUNCHER_UNKNOWN && !is_deleting(object)) {
		vm_failures_add(failures, launcher.namespace, launcher.vm,
			launcher.node, now_us);
	}
}

static bool has_run(const struct pod *pod)
{
	return pod->started_wall_us != TIME_LONG_AGO &&
		(int64_t)clock_wall_us() - pod->started_wall_us >=
		FORECAST_BOOT_US;
}

void launcher_outcomes_left(struct cache *cache, const char *uid,
	int64_t now_us)
{
	const struct pod *pod = cache_pod(cache, uid);
	struct vm_failures *failures = &cache->cluster.failures;

	if (pod == NULL || !pod->is_launcher || cache_is_assumed(cache, uid)) {
		return;
	}
	if (pod->is_target && cache_migration_source(cache, pod) != NULL) {
		vm_failures_add(failures, pod->namespace, pod->vm_name,
			pod->node_name, now_us);
	} else if (!pod->is_target && has_run(pod)) {
		vm_failures_succeeded(failures, pod->namespace, pod->vm_name,
			pod->node_name);
	}
}

void launcher_outcomes_changed(struct cache *cache, const struct pod *pod)
{
	const struct pod *old = cache_pod(cache, pod->uid);

	if (old != NULL && old->is_target && !pod->is_target) {
		vm_failures_succeeded(&cache->cluster.failures, pod->namespace,
			pod->vm_name, pod->node_name);
	}
}
