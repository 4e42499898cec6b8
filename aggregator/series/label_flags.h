/* Labels that the operator adds to the series of this cluster, as NAME=VALUE:
 * flags of remote write and of remote read. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/options.h"

/* True: valid UTF-8, or empty. */
bool label_flags_is_value(const char *text);

/* flag is "remote-write-label", for example. -EINVAL: the sentence names it. */
must_check int label_flags_check(const struct option_list *labels,
	const char *flag, struct error *err);
