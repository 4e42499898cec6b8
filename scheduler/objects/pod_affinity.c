#include "scheduler/objects/pod_affinity.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/memory.h"

static const char required_key[] =
	"requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred_key[] =
	"preferredDuringSchedulingIgnoredDuringExecution";

static void term_fini(struct pod_term *term, struct names *names)
{
	for (size_t i = 0; i < term->namespace_count; i++) {
		names_drop(names, term->namespaces[i]);
	}
	free(term->namespaces);
	names_drop(names, term->topology_key);
	label_selector_fini(&term->of_namespaces, names);
	label_selector_fini(&term->of_pods, names);
}

static void terms_fini_all(struct pod_terms *terms, struct names *names)
{
	for (size_t i = 0; i < terms->count; i++) {
		term_fini(&terms->list[i], names);
	}
	free(terms->list);
	*terms = (struct pod_terms){ 0 };
}

/* Without names and without a selector a term means its owner's namespace. */
static int read_namespaces(struct pod_term *term, struct names *names,
	const struct value *object, const char *owner, struct error *err)
{
	const struct value *list = value_get(object, "namespaces");
	const struct value *selector = value_get(object, "namespaceSelector");
	size_t count = value_count(list);

	if (count > POD_TERM_NAMESPACES_MAX) {
		return error_set(err, -E2BIG,
			"a pod affinity term names more than %d namespaces",
			POD_TERM_NAMESPACES_MAX);
	}
	term->namespaces = xcalloc(count + 1, sizeof(*term->namespaces));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		if (value_text(v) != NULL) {
			term->namespaces[term->namespace_count++] =
				names_hold(names, value_text(v));
		}
	}
	if (count == 0 && !value_is_object(selector)) {
		term->namespaces[term->namespace_count++] =
			names_hold(names, owner);
	}
	return label_selector_read(&term->of_namespaces, names, selector, err);
}

/* The weight of a preferred term; the API server keeps it from 1 to 100. */
static int32_t weight_of(const struct value *object)
{
	double weight = 0;

	if (!value_number(&weight, value_get(object, "weight")) || weight < 1 ||
		weight > 100) {
		return 0;
	}
	return (int32_t)weight;
}

static int read_term(struct pod_term *out, struct names *names,
	const struct value *object, const char *owner, struct error *err)
{
	struct pod_term term = { 0 };
	int r = read_namespaces(&term, names, object, owner, err);

	if (r == 0) {
		r = label_selector_read(&term.of_pods, names,
			value_get(object, "labelSelector"), err);
	}
	if (r < 0) {
		term_fini(&term, names);
		return r;
	}
	term.topology_key =
		names_hold(names, value_text_at(object, "topologyKey", ""));
	*out = term;
	return 0;
}

static int check_list(const struct value *list, struct error *err)
{
	if (list != NULL && !value_is_null(list) && !value_is_array(list)) {
		return error_set(err, -EBADMSG,
			"pod affinity terms are not a list");
	}
	if (value_count(list) > POD_TERMS_MAX) {
		return error_set(err, -E2BIG, "more than %d pod affinity terms",
			POD_TERMS_MAX);
	}
	return 0;
}

/* What a list of terms is read with. */
struct reading {
	struct names *names;
	const char *owner;
	struct error *err;
};

static int read_terms(struct pod_terms *out, const struct reading *with,
	const struct value *list, bool are_preferred)
{
	int r = check_list(list, with->err);

	if (r < 0) {
		return r;
	}
	out->list = xcalloc(value_count(list) + 1, sizeof(*out->list));
	for (const struct value *v = value_first(list); v != NULL;
		v = value_next(v)) {
		struct pod_term *term = &out->list[out->count];

		r = read_term(term, with->names,
			are_preferred ? value_get(v, "podAffinityTerm") : v,
			with->owner, with->err);
		if (r < 0) {
			return r;
		}
		term->weight = are_preferred ? weight_of(v) : 1;
		out->count++;
	}
	return 0;
}

static int read_kind(struct pod_terms *required, struct pod_terms *preferred,
	const struct reading *with, const struct value *kind)
{
	int r = read_terms(required, with, value_get(kind, required_key),
		false);

	return r < 0 ? r
		     : read_terms(preferred, with,
			       value_get(kind, preferred_key), true);
}

int pod_affinity_read(struct pod_affinity *out, struct names *names,
	const struct value *affinity, const char *namespace, struct error *err)
{
	const struct value *to = value_get(affinity, "podAffinity");
	const struct value *from = value_get(affinity, "podAntiAffinity");
	const struct reading with = { names, namespace, err };
	struct pod_affinity read = { 0 };
	int r = 0;

	if (to != NULL) {
		r = read_kind(&read.required, &read.preferred, &with, to);
	}
	if (r == 0 && from != NULL) {
		r = read_kind(&read.required_anti, &read.preferred_anti, &with,
			from);
	}
	if (r < 0) {
		pod_affinity_fini(&read, names);
		return r;
	}
	*out = read;
	return 0;
}

void pod_affinity_fini(struct pod_affinity *affinity, struct names *names)
{
	terms_fini_all(&affinity->required, names);
	terms_fini_all(&affinity->required_anti, names);
	terms_fini_all(&affinity->preferred, names);
	terms_fini_all(&affinity->preferred_anti, names);
}

bool pod_affinity_is_any(const struct pod_affinity *affinity)
{
	return affinity->required.count > 0 ||
		affinity->required_anti.count > 0 ||
		affinity->preferred.count > 0 ||
		affinity->preferred_anti.count > 0;
}

static bool is_named(const struct pod_term *term, uint32_t namespace)
{
	for (size_t i = 0; i < term->namespace_count; i++) {
		if (term->namespaces[i] == namespace) {
			return true;
		}
	}
	return false;
}

bool pod_term_means(const struct pod_term *term,
	const struct term_subject *subject)
{
	return (is_named(term, subject->namespace) ||
		       label_selector_matches(&term->of_namespaces,
			       subject->names, subject->namespace_labels)) &&
		label_selector_matches(&term->of_pods, subject->names,
			subject->labels);
}

bool pod_term_means_placed(const struct pod_term *term,
	const struct term_subject *subject)
{
	const struct label_selector *of = &term->of_namespaces;

	return (is_named(term, subject->namespace) ||
		       (subject->namespace_labels != NULL &&
			       label_selector_matches(of, subject->names,
				       subject->namespace_labels)) ||
		       label_selector_matches(of, subject->names, NULL)) &&
		label_selector_matches(&term->of_pods, subject->names,
			subject->labels);
}
