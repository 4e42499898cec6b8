/* Reviews of pods, as the API server or anybody sends them. */
#include "scheduler/admission/review.h"

#include "scheduler/cluster/storage.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_buffer struct buffer out = BUFFER_MAX(REVIEW_ANSWER_MAX);
	enum review_outcome outcome;
	struct error err;
	static const struct storage nothing;
	int r = review_answer(&out, &outcome,
		&(struct review_by){ "plimsoll-scheduler", &nothing },
		(const char *)data, size, &err);

	assert((r < 0) == (outcome == REVIEW_INVALID));
	assert((r < 0) == (out.len == 0));
	assert(!out.overflowed);
	return 0;
}
