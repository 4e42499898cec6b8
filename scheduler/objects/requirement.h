/* One requirement of a selector: a key, an operator, values.
 *
 * What a label selector and a node selector term are made of; upstream's exact
 * matching. */
#pragma once

#include "kube/json_value.h"
#include "scheduler/objects/labels.h"
#include "scheduler/objects/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum selector_operator {
	SELECTOR_IN,
	SELECTOR_NOT_IN,
	SELECTOR_EXISTS,
	SELECTOR_DOES_NOT_EXIST,
	SELECTOR_GT,
	SELECTOR_LT,
};

struct requirement {
	enum selector_operator operator;
	bool is_field;	  /* about the node's name, not about a label */
	uint32_t key;	  /* held; 0 for fields */
	uint32_t *values; /* owned, each held */
	size_t value_count;
	int64_t number; /* of Gt and Lt */
};

/* What a requirement is held against. */
struct selected {
	const struct names *names;
	const struct labels *labels;
	uint32_t name; /* of the node; 0: it has none, and every requirement
	                * about it is met */
};

/* Reads {key, operator, values}; is_field: of matchFields. False if upstream
 * could not understand it; out needs requirement_fini() in any case. The caller
 * has limited the number of values. */
bool requirement_read(struct requirement *out, struct names *names,
	const struct value *object, bool is_field);
/* The same for {key, values}, which is In. */
bool requirement_read_in(struct requirement *out, struct names *names,
	const struct value *object);
void requirement_fini(struct requirement *requirement, struct names *names);

bool requirement_matches(const struct requirement *requirement,
	const struct selected *selected);

/* value is one of those it lists. */
bool requirement_has_value(const struct requirement *requirement,
	uint32_t value);
