/* A requirement of a selector: a key, an operator and values, which match as
 * those of k8s.io/apimachinery do. */
#pragma once

#include "kube/json_value.h"
#include "kube/labels.h"
#include "lib/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum requirement_operator {
	REQUIREMENT_IN,
	REQUIREMENT_NOT_IN, /* also without the key */
	REQUIREMENT_EXISTS,
	REQUIREMENT_DOES_NOT_EXIST,
	REQUIREMENT_GT,
	REQUIREMENT_LT,
};

/* Zeroed: In, without a key or a value. */
struct requirement {
	enum requirement_operator op;
	bool is_field;	  /* about the node's name, not a label */
	uint32_t key;	  /* held; 0 for fields of JSON */
	uint32_t *values; /* owned, each held; see lib/id_list.h */
	size_t value_count;
	int64_t number; /* for Gt and Lt */
};

/* The object that a requirement is matched against. */
struct requirement_subject {
	const struct interner *interner;
	const struct labels *labels;
	uint32_t name; /* of the node; 0: every field requirement matches */
};

enum requirement_kind {
	REQUIREMENT_OF_LABEL,
	REQUIREMENT_OF_FIELD,	 /* an element of matchFields */
	REQUIREMENT_OF_TOPOLOGY, /* has no operator, and means In */
};

/* Reads {key, operator, values} into a zeroed struct. False: invalid for
 * upstream. Call requirement_fini() in both cases. */
bool requirement_read(struct requirement *out, struct interner *interner,
	const struct json_value *object, enum requirement_kind kind);
/* After the last value, the list is to be sorted (lib/id_list.h). */
void requirement_add_value(struct requirement *requirement,
	struct interner *interner, const char *value);
void requirement_fini(struct requirement *requirement,
	struct interner *interner);

bool requirement_matches(const struct requirement *requirement,
	const struct requirement_subject *subject);

/* The two halves of a match. An object that has the key with this value has
 * what the operator speaks of; 0 is a value that the interner does not know. */
bool requirement_wants(const struct requirement *requirement,
	const struct interner *interner, uint32_t value);
/* The requirement matches an object that has that, or has it not. */
bool requirement_holds(const struct requirement *requirement, bool has);

/* A label must have one value. */
bool requirement_is_equality(const struct requirement *requirement);
bool requirement_has_value(const struct requirement *requirement,
	uint32_t value);
