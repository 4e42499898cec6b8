#include "scheduler/kubevirt/migration_policies.h"

#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A policy may set these. */
enum {
	BITS = MIGRATION_LIMIT_BANDWIDTH | MIGRATION_LIMIT_TIMEOUT |
		MIGRATION_LIMIT_POST_COPY | MIGRATION_LIMIT_AUTO_CONVERGE,
};

struct policy {
	struct labels vmi, namespace;
	bool has_selectors; /* without, it matches nothing */
	unsigned bits;
	struct migration_limits limits;
};

static void policy_free(struct policy *policy, struct interner *interner)
{
	if (policy != NULL) {
		labels_fini(&policy->vmi, interner);
		labels_fini(&policy->namespace, interner);
		free(policy);
	}
}

void migration_policies_fini(struct migration_policies *policies)
{
	size_t at = 0;
	void *value;

	while (map_next(&policies->by_name, &at, NULL, &value)) {
		policy_free(value, policies->interner);
	}
	map_fini(&policies->by_name);
}

static int read_selectors(struct policy *policy, struct interner *interner,
	const struct json_value *selectors, struct error *err)
{
	const struct json_value *vmi =
		json_value_get(selectors, "virtualMachineInstanceSelector");
	const struct json_value *namespace =
		json_value_get(selectors, "namespaceSelector");
	int r;

	policy->has_selectors = json_value_is_object(selectors);
	if (json_value_count(vmi) > MIGRATION_POLICY_LABELS_MAX ||
		json_value_count(namespace) > MIGRATION_POLICY_LABELS_MAX) {
		return error_set(err, -E2BIG, "more than %d labels",
			MIGRATION_POLICY_LABELS_MAX);
	}
	r = labels_read(&policy->vmi, interner, vmi, err);
	return r < 0
		? r
		: labels_read(&policy->namespace, interner, namespace, err);
}

static int put(struct migration_policies *policies, const char *name,
	const struct json_value *object, struct error *err)
{
	struct policy *policy;
	int r;

	if (policies->by_name.count >= MIGRATION_POLICIES_MAX &&
		map_get(&policies->by_name, name) == NULL) {
		return error_set(err, -E2BIG, "more than %d policies",
			MIGRATION_POLICIES_MAX);
	}
	policy = xcalloc(1, sizeof(*policy));
	r = read_selectors(policy, policies->interner,
		json_value_at(object, "spec/selectors"), err);
	if (r < 0) {
		policy_free(policy, policies->interner);
		return r;
	}
	policy->bits = BITS &
		migration_limits_read(&policy->limits,
			json_value_get(object, "spec"));
	policy_free(map_put(&policies->by_name, name, policy),
		policies->interner);
	return 0;
}

int migration_policies_put(struct migration_policies *policies,
	const struct json_value *object, struct error *err)
{
	const char *name = json_value_text_at(object, "metadata/name", "");
	int r;

	if (*name == '\0') {
		return error_set(err, -EBADMSG,
			"a migration policy has no name");
	}
	r = put(policies, name, object, err);
	return r < 0 ? error_wrap(err, r, "migration policy '%.100s'", name)
		     : 0;
}

void migration_policies_remove(struct migration_policies *policies,
	const char *name)
{
	policy_free(map_remove(&policies->by_name, name), policies->interner);
}

/* A policy that matches, for comparison. */
struct match {
	const struct policy *policy; /* NULL: none */
	const char *name;
};

static bool is_better(const struct match *a, const struct match *best)
{
	uint32_t labels, best_labels;

	if (best->policy == NULL) {
		return true;
	}
	labels = a->policy->vmi.count + a->policy->namespace.count;
	best_labels = best->policy->vmi.count + best->policy->namespace.count;
	if (labels != best_labels) {
		return labels > best_labels;
	}
	if (a->policy->vmi.count != best->policy->vmi.count) {
		return a->policy->vmi.count > best->policy->vmi.count;
	}
	return strcmp(a->name, best->name) < 0;
}

static bool is_match(const struct policy *policy, const struct labels *vmi,
	const struct labels *namespace)
{
	static const struct labels none;

	return policy->has_selectors && labels_include(vmi, &policy->vmi) &&
		labels_include(namespace == NULL ? &none : namespace,
			&policy->namespace);
}

void migration_policies_apply(const struct migration_policies *policies,
	struct migration_limits *limits, const struct labels *vmi_labels,
	const struct labels *namespace_labels)
{
	struct match best = { 0 }, match;
	size_t at = 0;
	void *value;

	while (map_next(&policies->by_name, &at, &match.name, &value)) {
		match.policy = value;
		if (is_match(match.policy, vmi_labels, namespace_labels) &&
			is_better(&match, &best)) {
			best = match;
		}
	}
	if (best.policy != NULL) {
		migration_limits_copy(limits, &best.policy->limits,
			best.policy->bits);
	}
}
