/* Label selectors and their parts in a manifest, as the API server's validation
 * admits them (k8s.io/apimachinery's ValidateLabelSelector). Pure.
 *
 * Each function is -EINVAL with a sentence that names the field. */
#pragma once

#include "lib/error.h"
#include "scheduler/answers/manifest_fields.h"

/* A field that is a key of labels; "" is none. */
must_check int manifest_label_key(const struct manifest_field *field,
	struct error *err);

/* An object of keys and values. */
must_check int manifest_labels(const struct manifest_field *labels,
	struct error *err);

must_check int manifest_label_selector(const struct manifest_field *selector,
	struct error *err);

/* The members matchLabelKeys and mismatchLabelKeys of an object that has a
 * labelSelector. */
must_check int manifest_match_label_keys(const struct manifest_field *object,
	struct error *err);

/* Elements of matchExpressions and of matchFields of a term of node affinity:
 * manifest_check_one. */
must_check int manifest_node_requirement(
	const struct manifest_field *requirement, void *has_free_values,
	struct error *err);
must_check int manifest_node_field(const struct manifest_field *requirement,
	void *owner, struct error *err);
