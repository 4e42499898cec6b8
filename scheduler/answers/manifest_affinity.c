#include "scheduler/answers/manifest_affinity.h"

#include "kube/label_syntax.h"
#include "scheduler/answers/manifest_selector.h"

#include <stdbool.h>

static const char required_key[] =
	"requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred_key[] =
	"preferredDuringSchedulingIgnoredDuringExecution";

static int check_weight(const struct manifest_field *term, struct error *err)
{
	const struct manifest_field weight = manifest_member(term, "weight");
	int number = 0;
	bool is_set = false;
	int r = manifest_object(term, err);

	r = r < 0 ? r : manifest_integer(&number, &is_set, &weight, err);
	if (r == 0 && (number < 1 || number > 100)) {
		r = manifest_refuse(&weight, "is not from 1 to 100", err);
	}
	return r;
}

/* ---- nodes ---- */

static int check_node_term(const struct manifest_field *term,
	bool has_free_values, struct error *err)
{
	const struct manifest_field expressions =
		manifest_member(term, "matchExpressions");
	const struct manifest_field fields =
		manifest_member(term, "matchFields");
	int r = manifest_object(term, err);

	r = r < 0 ? r
		  : manifest_each(&expressions, manifest_node_requirement,
			    &has_free_values, err);
	return r < 0 ? r
		     : manifest_each(&fields, manifest_node_field, NULL, err);
}

static int check_required_node(const struct manifest_field *term, void *owner,
	struct error *err)
{
	(void)owner;
	return check_node_term(term, false, err);
}

/* The API server checks no values of a preference. */
static int check_preferred_node(const struct manifest_field *term, void *owner,
	struct error *err)
{
	const struct manifest_field preference =
		manifest_member(term, "preference");
	int r = check_weight(term, err);

	(void)owner;
	return r < 0 ? r : check_node_term(&preference, true, err);
}

static int check_nodes(const struct manifest_field *nodes, struct error *err)
{
	const struct manifest_field required =
		manifest_member(nodes, required_key);
	const struct manifest_field terms =
		manifest_member(&required, "nodeSelectorTerms");
	const struct manifest_field preferred =
		manifest_member(nodes, preferred_key);
	int r = manifest_object(nodes, err);

	r = r < 0 ? r : manifest_object(&required, err);
	r = r < 0 ? r : manifest_each(&terms, check_required_node, NULL, err);
	if (r == 0 && required.value != NULL &&
		json_value_first(terms.value) == NULL) {
		r = manifest_refuse(&terms, "has no term", err);
	}
	return r < 0
		? r
		: manifest_each(&preferred, check_preferred_node, NULL, err);
}

/* ---- pods ---- */

static int check_namespace(const struct manifest_field *field, void *owner,
	struct error *err)
{
	const char *name = "";
	int r = manifest_text(&name, field, err);

	(void)owner;
	if (r == 0 && !label_syntax_is_dns_label(name)) {
		r = manifest_refuse(field, "is not a valid namespace", err);
	}
	return r;
}

static int check_pod_term(const struct manifest_field *term, void *owner,
	struct error *err)
{
	const struct manifest_field labels =
		manifest_member(term, "labelSelector");
	const struct manifest_field selector =
		manifest_member(term, "namespaceSelector");
	const struct manifest_field names = manifest_member(term, "namespaces");
	const struct manifest_field key = manifest_member(term, "topologyKey");
	int r = manifest_object(term, err);

	(void)owner;
	r = r < 0 ? r : manifest_label_selector(&labels, err);
	r = r < 0 ? r : manifest_label_selector(&selector, err);
	r = r < 0 ? r : manifest_each(&names, check_namespace, NULL, err);
	r = r < 0 ? r : manifest_match_label_keys(term, err);
	return r < 0 ? r : manifest_label_key(&key, err);
}

static int check_preferred_pod(const struct manifest_field *term, void *owner,
	struct error *err)
{
	const struct manifest_field inner =
		manifest_member(term, "podAffinityTerm");
	int r = check_weight(term, err);

	return r < 0 ? r : check_pod_term(&inner, owner, err);
}

static int check_pods(const struct manifest_field *pods, struct error *err)
{
	const struct manifest_field required =
		manifest_member(pods, required_key);
	const struct manifest_field preferred =
		manifest_member(pods, preferred_key);
	int r = manifest_object(pods, err);

	r = r < 0 ? r : manifest_each(&required, check_pod_term, NULL, err);
	return r < 0
		? r
		: manifest_each(&preferred, check_preferred_pod, NULL, err);
}

int manifest_affinity(const struct manifest_field *affinity, struct error *err)
{
	const struct manifest_field nodes =
		manifest_member(affinity, "nodeAffinity");
	const struct manifest_field pods =
		manifest_member(affinity, "podAffinity");
	const struct manifest_field anti =
		manifest_member(affinity, "podAntiAffinity");
	int r = manifest_object(affinity, err);

	r = r < 0 ? r : check_nodes(&nodes, err);
	r = r < 0 ? r : check_pods(&pods, err);
	return r < 0 ? r : check_pods(&anti, err);
}
