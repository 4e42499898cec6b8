/* --node-selector as the JSON of a nodeSelector. Pure. */
#pragma once

#include "lib/error.h"

/* "a=b,c=d" becomes {"a":"b","c":"d"}; the caller frees *out.
 * -EINVAL: no labels, or one twice. */
must_check int selector_json(char **out, const char *text, struct error *err);
