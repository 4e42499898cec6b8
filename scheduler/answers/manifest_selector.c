#include "scheduler/answers/manifest_selector.h"

#include "kube/label_syntax.h"
#include "lib/map.h"
#include "lib/memory.h"

#include <stdint.h>
#include <string.h>

static const char no_key[] = "is not a valid key of labels";
static const char no_value[] = "is not a valid value of labels";

int manifest_label_key(const struct manifest_field *field, struct error *err)
{
	const char *key = "";
	int r = manifest_text(&key, field, err);

	if (r == 0 && !label_syntax_is_key(key)) {
		r = manifest_refuse(field, no_key, err);
	}
	return r;
}

static int check_key(const struct manifest_field *field, void *owner,
	struct error *err)
{
	(void)owner;
	return manifest_label_key(field, err);
}

static int check_value(const struct manifest_field *field, void *owner,
	struct error *err)
{
	const char *value = "";
	int r = manifest_text(&value, field, err);

	(void)owner;
	if (r == 0 && !label_syntax_is_value(value)) {
		r = manifest_refuse(field, no_value, err);
	}
	return r;
}

static int check_text(const struct manifest_field *field, void *owner,
	struct error *err)
{
	const char *text = "";

	(void)owner;
	return manifest_text(&text, field, err);
}

int manifest_labels(const struct manifest_field *labels, struct error *err)
{
	int r = manifest_object(labels, err);

	for (const struct json_value *v = json_value_first(labels->value);
		v != NULL && r == 0; v = json_value_next(v)) {
		const struct manifest_field one = { .parent = labels->parent,
			.name = labels->name,
			.value = json_value_is_null(v) ? NULL : v };

		r = label_syntax_is_key(json_value_key(v))
			? check_value(&one, NULL, err)
			: manifest_refuse(labels, "has a key that is not valid",
				  err);
	}
	return r;
}

/* ---- requirements ---- */

/* How many values an operator takes. */
struct operator_rule {
	const char *name;
	size_t least, most;
	const char *words; /* of another number of values */
};

#define SOME_VALUES "must have values with In and NotIn"
#define NO_VALUES "must have no values with Exists and DoesNotExist"
#define ONE_VALUE "must have one value with Gt and Lt"
#define ONE_NAME "must have one value"

static const struct operator_rule label_rules[] = {
	{ "In", 1, SIZE_MAX, SOME_VALUES },
	{ "NotIn", 1, SIZE_MAX, SOME_VALUES },
	{ "Exists", 0, 0, NO_VALUES },
	{ "DoesNotExist", 0, 0, NO_VALUES },
	/* For nodes only. */
	{ "Gt", 1, 1, ONE_VALUE },
	{ "Lt", 1, 1, ONE_VALUE },
};

static const struct operator_rule field_rules[] = {
	{ "In", 1, 1, ONE_NAME },
	{ "NotIn", 1, 1, ONE_NAME },
};

enum { POD_OPERATORS = 4, NODE_OPERATORS = 6, FIELD_OPERATORS = 2 };

_Static_assert(count_of(label_rules) == NODE_OPERATORS, "all of nodes");
_Static_assert(count_of(field_rules) == FIELD_OPERATORS, "all of fields");

static int check_operator(const struct manifest_field *requirement,
	const struct operator_rule *rules, size_t count, struct error *err)
{
	const struct manifest_field op =
		manifest_member(requirement, "operator");
	const struct manifest_field values =
		manifest_member(requirement, "values");
	size_t value_count = json_value_count(values.value);
	const char *name = "";
	int r = manifest_text(&name, &op, err);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, rules[i].name) != 0) {
			continue;
		}
		return value_count < rules[i].least ||
				value_count > rules[i].most
			? manifest_refuse(requirement, rules[i].words, err)
			: 0;
	}
	return manifest_refuse(&op, "is not a valid operator", err);
}

static int check_requirement(const struct manifest_field *requirement,
	size_t operators, manifest_check_one check, struct error *err)
{
	const struct manifest_field key = manifest_member(requirement, "key");
	const struct manifest_field values =
		manifest_member(requirement, "values");
	int r = manifest_object(requirement, err);

	r = r < 0 ? r
		  : check_operator(requirement, label_rules, operators, err);
	r = r < 0 ? r : manifest_label_key(&key, err);
	return r < 0 ? r : manifest_each(&values, check, NULL, err);
}

static int check_pod_requirement(const struct manifest_field *requirement,
	void *owner, struct error *err)
{
	(void)owner;
	return check_requirement(requirement, POD_OPERATORS, check_value, err);
}

int manifest_node_requirement(const struct manifest_field *requirement,
	void *has_free_values, struct error *err)
{
	const bool *is_free = has_free_values;

	return check_requirement(requirement, NODE_OPERATORS,
		*is_free ? check_text : check_value, err);
}

static int check_node_name(const struct manifest_field *field, void *owner,
	struct error *err)
{
	const char *name = "";
	int r = manifest_text(&name, field, err);

	(void)owner;
	if (r == 0 && !label_syntax_is_dns_subdomain(name)) {
		r = manifest_refuse(field, "is not a valid name of a node",
			err);
	}
	return r;
}

int manifest_node_field(const struct manifest_field *requirement, void *owner,
	struct error *err)
{
	const struct manifest_field key = manifest_member(requirement, "key");
	const struct manifest_field values =
		manifest_member(requirement, "values");
	const char *name = "";
	int r = manifest_object(requirement, err);

	(void)owner;
	r = r < 0 ? r
		  : check_operator(requirement, field_rules, FIELD_OPERATORS,
			    err);
	r = r < 0 ? r : manifest_text(&name, &key, err);
	if (r == 0 && strcmp(name, "metadata.name") != 0) {
		r = manifest_refuse(&key, "is not metadata.name", err);
	}
	return r < 0 ? r : manifest_each(&values, check_node_name, NULL, err);
}

/* ---- selectors ---- */

int manifest_label_selector(const struct manifest_field *selector,
	struct error *err)
{
	const struct manifest_field labels =
		manifest_member(selector, "matchLabels");
	const struct manifest_field expressions =
		manifest_member(selector, "matchExpressions");
	int r = manifest_object(selector, err);

	r = r < 0 ? r : manifest_labels(&labels, err);
	return r < 0
		? r
		: manifest_each(&expressions, check_pod_requirement, NULL, err);
}

/* ---- matchLabelKeys ---- */

static int check_keys(const struct manifest_field *keys,
	const struct manifest_field *selector, struct error *err)
{
	if (json_value_first(keys->value) != NULL && selector->value == NULL) {
		return manifest_refuse(keys, "needs a labelSelector", err);
	}
	return manifest_each(keys, check_key, NULL, err);
}

static void add_texts(struct map *out, const struct json_value *list)
{
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		if (json_value_text(v) != NULL) {
			(void)map_put(out, json_value_text(v), out);
		}
	}
}

/* The API server adds an expression to the selector for each of the keys, so a
 * pod that it admitted has them once. A second one is the author's. */
static bool is_repeated(const struct map *keys,
	const struct json_value *selector)
{
	struct map seen = { 0 };
	bool is_twice = false;

	for (const struct json_value *v = json_value_first(
		     json_value_get(selector, "matchLabels"));
		v != NULL; v = json_value_next(v)) {
		(void)map_put(&seen, json_value_key(v), &seen);
	}
	for (const struct json_value *v = json_value_first(
		     json_value_get(selector, "matchExpressions"));
		v != NULL && !is_twice; v = json_value_next(v)) {
		const char *key = json_value_text_at(v, "key", "");

		is_twice = map_put(&seen, key, &seen) != NULL &&
			map_get(keys, key) != NULL;
	}
	map_fini(&seen);
	return is_twice;
}

static bool has_any(const struct map *keys, const struct json_value *list)
{
	bool has = false;

	for (const struct json_value *v = json_value_first(list);
		v != NULL && !has; v = json_value_next(v)) {
		has = json_value_text(v) != NULL &&
			map_get(keys, json_value_text(v)) != NULL;
	}
	return has;
}

int manifest_match_label_keys(const struct manifest_field *object,
	struct error *err)
{
	const struct manifest_field selector =
		manifest_member(object, "labelSelector");
	const struct manifest_field match =
		manifest_member(object, "matchLabelKeys");
	const struct manifest_field mismatch =
		manifest_member(object, "mismatchLabelKeys");
	struct map keys = { 0 };
	int r = check_keys(&match, &selector, err);

	r = r < 0 ? r : check_keys(&mismatch, &selector, err);
	if (r == 0) {
		add_texts(&keys, match.value);
	}
	if (r == 0 && is_repeated(&keys, selector.value)) {
		r = manifest_refuse(&match, "has a key of the labelSelector",
			err);
	}
	if (r == 0 && has_any(&keys, mismatch.value)) {
		r = manifest_refuse(&match, "has a key of mismatchLabelKeys",
			err);
	}
	map_fini(&keys);
	return r;
}
