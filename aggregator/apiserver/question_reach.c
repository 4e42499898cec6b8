#include "aggregator/apiserver/question_reach.h"

#include "kube/json_value.h"
#include "kube/label_syntax.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

static const char required_key[] =
	"requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred_key[] =
	"preferredDuringSchedulingIgnoredDuringExecution";

static void add(struct question_reach *reach, const char *namespace,
	const char *own_namespace)
{
	if (!label_syntax_is_dns_label(namespace) ||
		strcmp(namespace, own_namespace) == 0) {
		return;
	}
	for (size_t i = 0; i < reach->count; i++) {
		if (strcmp(reach->namespaces[i], namespace) == 0) {
			return;
		}
	}
	if (reach->count == QUESTION_REACH_MAX) {
		reach->is_all = true;
		return;
	}
	reach->namespaces[reach->count++] = xstrdup(namespace);
}

static void read_term(struct question_reach *reach,
	const struct json_value *term, const char *own_namespace)
{
	const struct json_value *selector =
		json_value_get(term, "namespaceSelector");

	reach->is_all |= selector != NULL && !json_value_is_null(selector);
	for (const struct json_value *v =
			json_value_first(json_value_get(term, "namespaces"));
		v != NULL && !reach->is_all; v = json_value_next(v)) {
		if (json_value_text(v) != NULL) {
			add(reach, json_value_text(v), own_namespace);
		}
	}
}

static void read_terms(struct question_reach *reach,
	const struct json_value *pods, const char *own_namespace)
{
	for (const struct json_value *v =
			json_value_first(json_value_get(pods, required_key));
		v != NULL; v = json_value_next(v)) {
		read_term(reach, v, own_namespace);
	}
	for (const struct json_value *v =
			json_value_first(json_value_get(pods, preferred_key));
		v != NULL; v = json_value_next(v)) {
		read_term(reach, json_value_get(v, "podAffinityTerm"),
			own_namespace);
	}
}

static void read_affinity(struct question_reach *reach,
	const struct json_value *spec, const char *own_namespace)
{
	read_terms(reach, json_value_at(spec, "affinity/podAffinity"),
		own_namespace);
	read_terms(reach, json_value_at(spec, "affinity/podAntiAffinity"),
		own_namespace);
}

void question_reach_read(struct question_reach *out, const char *spec,
	size_t len, const char *own_namespace)
{
	struct json_value *value = NULL;
	const struct json_value *pod;

	*out = (struct question_reach){ 0 };
	if (json_value_parse_bounded(&value, spec, len, NULL) < 0) {
		out->is_all = true;
		return;
	}
	/* A VirtualMachine has the pod's parts in its template. Both places are
	 * read, whatever the kind is. */
	pod = json_value_at(value, "object/spec");
	read_affinity(out, pod, own_namespace);
	read_affinity(out, json_value_at(pod, "template/spec"), own_namespace);
	json_value_free(value);
}

void question_reach_fini(struct question_reach *reach)
{
	for (size_t i = 0; i < reach->count; i++) {
		free(reach->namespaces[i]);
	}
	*reach = (struct question_reach){ 0 };
}

size_t question_reach_reviews(const struct question_reach *reach)
{
	return reach->is_all ? 1 : reach->count;
}

const char *question_reach_namespace(const struct question_reach *reach,
	size_t review)
{
	return reach->is_all ? "" : reach->namespaces[review];
}
