/* PEM texts: certificates, and keys or authorities beside them. */
#include "lib/tls/certificate.h"

#include "lib/memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first NUL ends the certificates; a key, or authorities, follow. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xcalloc(size + 2, 1);
	struct error err = { 0 };
	int64_t expiry_s = 0;
	size_t len = 0;
	int r;

	for (size_t i = 0; i < size; i++) {
		text[i] = (char)data[i];
	}
	while (text[len] != '\0') {
		len++;
	}
	r = certificate_check_bundle(text, &err);
	assert(r == 0 || err.text[0] != '\0');
	assert((certificate_expiry(&expiry_s, text, &err) == 0) == (r == 0));
	if (r == 0 && len < size) {
		r = certificate_check_pair(text, text + len + 1, &err);
		assert(r == 0 || err.text[0] != '\0');
	}
	if (len < size) {
		r = certificate_check_trust(text, text + len + 1, &err);
		assert(r == 0 || err.text[0] != '\0');
	}
	free(text);
	return 0;
}
