/* The Secret plimsoll-ca as the API server returns it: JSON, base64, PEM and
 * X.509. */
#include "scheduler/certificates/authorities.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct authorities authorities = { 0 };
	struct error err = { 0 };
	bool holds_some = false;

	if (authorities_read(&authorities, &holds_some, (const char *)data,
		    size, &err) < 0) {
		assert(err.code < 0 && err.text[0] != '\0');
		return 0;
	}
	assert(authorities.version != NULL);
	if (holds_some && authorities_check(&authorities, 0, &err) < 0) {
		assert(err.code < 0 && err.text[0] != '\0');
	}
	authorities_fini(&authorities);
	return 0;
}
