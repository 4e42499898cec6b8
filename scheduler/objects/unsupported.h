/* Pod constraints that plimsoll-scheduler does not support. */
#pragma once

#include "kube/json_value.h"

/* The reason to refuse a pod with this spec, as a phrase that fits behind "0/3
 * nodes are available: ". The caller frees the text. NULL: the spec is
 * supported. */
char *unsupported_constraint(const struct json_value *spec);
