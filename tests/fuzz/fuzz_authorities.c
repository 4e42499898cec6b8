/* The Secrets plimsoll-ca and of a certificate as the API server returns them:
 * JSON, base64, PEM and X.509. */
#include "scheduler/certificates/authorities.h"

#include "scheduler/certificates/leaves.h"

#include <assert.h>
#include <stdint.h>

#define TODAY_S INT64_C(1800000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct authorities authorities = { 0 };
	struct error err = { 0 };
	bool holds_some = false, has_renewed = false;
	const struct leaf_ends ends = { TODAY_S, INT64_MAX };

	if (authorities_read(&authorities, &holds_some, (const char *)data,
		    size, &err) < 0) {
		assert(err.code < 0 && err.text[0] != '\0');
		return 0;
	}
	assert(authorities.version != NULL);
	if (holds_some) {
		if (authorities_keep(&authorities, &has_renewed, TODAY_S,
			    TODAY_S, &err) < 0) {
			assert(err.code < 0 && err.text[0] != '\0');
		}
		(void)leaf_is_current(&leaves[0], &authorities,
			(const char *)data, size, &ends);
	}
	authorities_fini(&authorities);
	return 0;
}
