#include "scheduler/launcher/launcher_constraints.h"

#include "lib/memory.h"

#include <string.h>

static void write_cpu_labels(struct derivation *d, struct json *j)
{
	const struct json_value *cpu = json_value_at(d->vmi, "domain/cpu");
	const char *model = json_value_text_at(cpu, "model", "");
	const struct json_value *features = json_value_get(cpu, "features");

	if (*model != '\0' && !d->reading.is_host_model &&
		strcmp(model, "host-passthrough") != 0) {
		scoped_free char *key =
			xasprintf("cpu-model.node.kubevirt.io/%s", model);

		json_string(j, key, "true");
	}
	for (const struct json_value *v = json_value_first(features); v != NULL;
		v = json_value_next(v)) {
		scoped_free char *key =
			xasprintf("cpu-feature.node.kubevirt.io/%s",
				json_value_text_at(v, "name", ""));
		const char *policy = json_value_text_at(v, "policy", "require");

		if (strcmp(policy, "require") == 0) {
			json_string(j, key, "true");
		}
	}
}

/* Architecture and machine type are those of the cluster, unless they are
 * set. */
static void write_selector(struct derivation *d, struct json *j)
{
	const char *arch = json_value_text_at(d->vmi, "architecture", "");

	json_object(j, "nodeSelector");
	derivation_copy_members(d, j, json_value_get(d->vmi, "nodeSelector"));
	json_string(j, "kubevirt.io/schedulable", "true");
	if (*arch != '\0') {
		json_string(j, "kubernetes.io/arch", arch);
	}
	if (d->reading.needs.is_dedicated) {
		json_string(j, "kubevirt.io/cpumanager", "true");
	}
	write_cpu_labels(d, j);
	json_object_end(j);
}

/* A VM with the CPU model host-model stays away from nodes with this label. */
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
	if (d->reading.is_host_model) {
		json_object(j, NULL);
		json_string(j, "key",
			"node-labeller.kubevirt.io/obsolete-host-model");
		json_string(j, "operator", "DoesNotExist");
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void write_node_affinity(struct derivation *d, struct json *j,
	const struct json_value *affinity)
{
	static const char required[] =
		"requiredDuringSchedulingIgnoredDuringExecution";
	static const char preferred[] =
		"preferredDuringSchedulingIgnoredDuringExecution";
	const struct json_value *terms = json_value_get(
		json_value_get(affinity, required), "nodeSelectorTerms");
	const struct json_value *v = json_value_first(terms);

	json_object(j, "nodeAffinity");
	derivation_copy(d, j, preferred, json_value_get(affinity, preferred));
	if (v != NULL || d->reading.is_host_model) {
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
	write_selector(d, j);
	write_affinity(d, j);
	derivation_copy(d, j, "tolerations",
		json_value_get(d->vmi, "tolerations"));
	derivation_copy(d, j, "topologySpreadConstraints",
		json_value_get(d->vmi, "topologySpreadConstraints"));
}
