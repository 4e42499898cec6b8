#include "lib/tls/certificate_version.h"

#include <mbedtls/version.h>

const char *certificate_library_version(void)
{
	static char text[16]; /* mbedtls writes 9 bytes at most */

	mbedtls_version_get_string(text);
	return text;
}
