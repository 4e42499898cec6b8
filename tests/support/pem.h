/* Looks for bytes in a certificate. */
#pragma once

#include "tests/support/cm.h"

#include <string.h>

/* Whether the DER of the first certificate has these bytes. */
static inline bool pem_contains(const char *pem, const unsigned char *bytes,
	size_t len)
{
	const char *digits = strchr(pem, '\n');
	unsigned char der[4096];
	size_t count = 0;
	unsigned bits = 0, held = 0;

	for (; *digits != '-'; digits++) {
		static const char all[] =
			"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			"abcdefghijklmnopqrstuvwxyz"
			"0123456789+/";
		const char *digit = strchr(all, *digits);

		if (digit == NULL) {
			continue;
		}
		held = held << 6 | (unsigned)(digit - all);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			assert_true(count < sizeof(der));
			der[count++] = (unsigned char)(held >> bits);
		}
	}
	return memmem(der, count, bytes, len) != NULL;
}
