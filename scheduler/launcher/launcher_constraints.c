#include "scheduler/launcher/launcher_constraints.h"

#include "lib/memory.h"
#include "scheduler/launcher/launcher_selector.h"

#include <string.h>

static const char preferred[] =
	"preferredDuringSchedulingIgnoredDuringExecution";

static void write_absent(struct json *j, const char *key)
{
	json_object(j, NULL);
	json_string(j, "key", key);
	json_string(j, "operator", "DoesNotExist");
	json_object_end(j);
}

static bool is_forbidden(const struct json_value *feature)
{
	return strcmp(json_value_text_at(feature, "policy", ""), "forbid") == 0;
}

static const struct json_value *features_of(const struct derivation *d)
{
	return json_value_at(d->vmi, "domain/cpu/features");
}

static bool avoids_nodes(const struct derivation *d)
{
	const struct json_value *v = json_value_first(features_of(d));

	while (v != NULL && !is_forbidden(v)) {
		v = json_value_next(v);
	}
	return d->reading.is_host_model || v != NULL;
}

/* A VM with the CPU model host-model stays away from nodes with this label, and
 * every VM from nodes that have a feature that it forbids. */
static void write_avoided(const struct derivation *d, struct json *j)
{
	const struct json_value *v = json_value_first(features_of(d));

	if (d->reading.is_host_model) {
		write_absent(j,
			"node-labeller.kubevirt.io/obsolete-host-model");
	}
	for (; v != NULL; v = json_value_next(v)) {
		if (is_forbidden(v)) {
			scoped_free char *key =
				xasprintf("cpu-feature.node.kubevirt.io/%s",
					json_value_text_at(v, "name", ""));

			write_absent(j, key);
		}
	}
}

static void write_term(struct derivation *d, struct json *j,
	const struct json_value *term)
{
	const struct json_value *list =
		json_value_get(term, "matchExpressions");

	json_object(j, NULL);
	derivation_copy(d, j, "matchFields",
		json_value_get(term, "matchFields"));
	json_array(j, "matchExpressions");
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		derivation_copy(d, j, NULL, v);
	}
	write_avoided(d, j);
	json_array_end(j);
	json_object_end(j);
}

/* A VM that may be emulated prefers nodes of its own architecture. */
static void write_preferred(struct derivation *d, struct json *j,
	const struct json_value *list)
{
	const char *arch = json_value_text_at(d->vmi, "architecture", "");

	json_array(j, preferred);
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		derivation_copy(d, j, NULL, v);
	}
	if (d->settings->crosses_architectures && *arch != '\0') {
		scoped_free char *name = derivation_architecture(d);
		scoped_free char *term = xasprintf(
			"{\"weight\":100,\"preference\":{\"matchExpressions\":"
			"[{\"key\":\"kubernetes.io/arch\",\"operator\":"
			"\"In\",\"values\":[\"%s\"]}]}}",
			name);

		json_raw(j, NULL, term);
	}
	json_array_end(j);
}

static void write_node_affinity(struct derivation *d, struct json *j,
	const struct json_value *affinity)
{
	static const char required[] =
		"requiredDuringSchedulingIgnoredDuringExecution";
	const struct json_value *terms = json_value_get(
		json_value_get(affinity, required), "nodeSelectorTerms");
	const struct json_value *v = json_value_first(terms);

	json_object(j, "nodeAffinity");
	write_preferred(d, j, json_value_get(affinity, preferred));
	if (v != NULL || avoids_nodes(d)) {
		json_object(j, required);
		json_array(j, "nodeSelectorTerms");
		do {
			write_term(d, j, v);
			v = v == NULL ? NULL : json_value_next(v);
		} while (v != NULL);
		json_array_end(j);
		json_object_end(j);
	}
	json_object_end(j);
}

static void write_affinity(struct derivation *d, struct json *j)
{
	const struct json_value *affinity = json_value_get(d->vmi, "affinity");

	json_object(j, "affinity");
	write_node_affinity(d, j, json_value_get(affinity, "nodeAffinity"));
	derivation_copy(d, j, "podAffinity",
		json_value_get(affinity, "podAffinity"));
	derivation_copy(d, j, "podAntiAffinity",
		json_value_get(affinity, "podAntiAffinity"));
	json_object_end(j);
}

void launcher_constraints_write(struct derivation *d, struct json *j)
{
	launcher_selector_write(d, j);
	write_affinity(d, j);
	derivation_copy(d, j, "tolerations",
		json_value_get(d->vmi, "tolerations"));
	derivation_copy(d, j, "topologySpreadConstraints",
		json_value_get(d->vmi, "topologySpreadConstraints"));
}
