/* Where the rows of an answer come from: the engine of remote read has those
 * before joined_us, the store the others. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sources {
	bool is_known; /* false: without --remote-read all is the store's */
	/* Wall clock. from and joined are equal if the engine was not asked. */
	uint64_t from_us, joined_us, to_us;
	struct error error; /* code 0, or why the engine's part is missing */
};
