/* The unfinished migrations of somebody else, as JSON. Pure. */
#pragma once

#include "lib/json.h"

struct kubevirt;

/* More are not listed. */
enum { OTHERS_MAX = 16 };

/* The array "migrations_of_others". kubevirt: NULL: an empty one. */
void others_write(struct json *j, const struct kubevirt *kubevirt);
