#include "scheduler/objects/pod_affinity.h"

#include <stdlib.h>

#include "lib/id_list.h"
#include "lib/memory.h"
#include "scheduler/objects/node_selector.h"
#include "scheduler/objects/value_list.h"

static const char required_key[] =
	"requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred_key[] =
	"preferredDuringSchedulingIgnoredDuringExecution";

static void term_fini(struct pod_affinity_term *term, struct interner *interner)
{
	for (size_t i = 0; i < term->namespace_count; i++) {
		interner_drop(interner, term->namespaces[i]);
	}
	free(term->namespaces);
	interner_drop(interner, term->topology_key);
	label_selector_fini(&term->namespace_selector, interner);
	label_selector_fini(&term->label_selector, interner);
}

static void terms_fini(struct pod_affinity_terms *terms,
	struct interner *interner)
{
	for (size_t i = 0; i < terms->count; i++) {
		term_fini(&terms->list[i], interner);
	}
	free(terms->list);
	*terms = (struct pod_affinity_terms){ 0 };
}

/* Without names and a selector, a term is about its owner's namespace. */
static void read_namespaces(struct pod_affinity_term *term,
	struct interner *interner, const struct json_value *object,
	const char *owner)
{
	const struct json_value *list = json_value_get(object, "namespaces");
	const struct json_value *selector =
		json_value_get(object, "namespaceSelector");
	size_t count = json_value_count(list);

	term->namespaces = xcalloc(count + 1, sizeof(*term->namespaces));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (json_value_text(v) != NULL) {
			term->namespaces[term->namespace_count++] =
				interner_hold(interner, json_value_text(v));
		}
	}
	if (count == 0 && !json_value_is_object(selector)) {
		term->namespaces[term->namespace_count++] =
			interner_hold(interner, owner);
	}
	id_list_sort(term->namespaces, term->namespace_count);
	label_selector_read(&term->namespace_selector, interner, selector);
}

static struct pod_affinity_term read_term(struct interner *interner,
	const struct json_value *object, const char *owner)
{
	struct pod_affinity_term term = {
		.topology_key = interner_hold(interner,
			json_value_text_at(object, "topologyKey", "")),
	};

	read_namespaces(&term, interner, object, owner);
	label_selector_read(&term.label_selector, interner,
		json_value_get(object, "labelSelector"));
	return term;
}

struct read_context {
	struct interner *interner;
	const char *owner;
	struct error *err;
};

static int read_terms(struct pod_affinity_terms *out,
	const struct read_context *context, const struct json_value *list,
	bool are_preferred)
{
	int r = value_list_check(list, "pod affinity terms", context->err);

	if (r < 0) {
		return r;
	}
	out->list = xcalloc(json_value_count(list) + 1, sizeof(*out->list));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		struct pod_affinity_term *term = &out->list[out->count++];

		*term = read_term(context->interner,
			are_preferred ? json_value_get(v, "podAffinityTerm")
				      : v,
			context->owner);
		term->weight = are_preferred ? node_selector_term_weight(v) : 1;
	}
	return 0;
}

static int read_affinity(struct pod_affinity_terms *required,
	struct pod_affinity_terms *preferred,
	const struct read_context *context, const struct json_value *affinity)
{
	int r = read_terms(required, context,
		json_value_get(affinity, required_key), false);

	return r < 0 ? r
		     : read_terms(preferred, context,
			       json_value_get(affinity, preferred_key), true);
}

int pod_affinity_read(struct pod_affinity *out, struct interner *interner,
	const struct json_value *affinity, const char *namespace,
	struct error *err)
{
	const struct json_value *affine =
		json_value_get(affinity, "podAffinity");
	const struct json_value *anti =
		json_value_get(affinity, "podAntiAffinity");
	const struct read_context context = { interner, namespace, err };
	struct pod_affinity read = { 0 };
	int r = 0;

	if (affine != NULL) {
		r = read_affinity(&read.required, &read.preferred, &context,
			affine);
	}
	if (r == 0 && anti != NULL) {
		r = read_affinity(&read.required_anti, &read.preferred_anti,
			&context, anti);
	}
	if (r < 0) {
		pod_affinity_fini(&read, interner);
		return r;
	}
	*out = read;
	return 0;
}

void pod_affinity_fini(struct pod_affinity *affinity, struct interner *interner)
{
	terms_fini(&affinity->required, interner);
	terms_fini(&affinity->required_anti, interner);
	terms_fini(&affinity->preferred, interner);
	terms_fini(&affinity->preferred_anti, interner);
}

bool pod_affinity_has_terms(const struct pod_affinity *affinity)
{
	return affinity->required.count > 0 ||
		affinity->required_anti.count > 0 ||
		affinity->preferred.count > 0 ||
		affinity->preferred_anti.count > 0;
}

static bool has_namespace(const struct pod_affinity_term *term,
	uint32_t namespace)
{
	return id_list_has(term->namespaces, term->namespace_count, namespace);
}

bool pod_affinity_existing_matches(const struct pod_affinity_term *term,
	const struct pod_affinity_subject *subject)
{
	return (has_namespace(term, subject->namespace) ||
		       label_selector_matches(&term->namespace_selector,
			       subject->interner, subject->namespace_labels)) &&
		label_selector_matches(&term->label_selector, subject->interner,
			subject->labels);
}

static bool has_no_object(const struct pod_affinity_term *term,
	const struct pod_affinity_subject *subject)
{
	return subject->namespace_labels == NULL &&
		!label_selector_is_empty(&term->namespace_selector) &&
		!has_namespace(term, subject->namespace);
}

bool pod_affinity_incoming_matches(const struct pod_affinity_term *term,
	const struct pod_affinity_subject *subject)
{
	return !has_no_object(term, subject) &&
		pod_affinity_existing_matches(term, subject);
}
