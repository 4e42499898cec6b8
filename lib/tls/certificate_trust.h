/* Whether those who trust some authorities accept a certificate now.
 *
 * Only lib/tls/certificate*.c include mbedtls. It reads fewer certificates than
 * others do, so a refusal is a fact, and no answer is no refusal. */
#pragma once

#include "lib/error.h"

/* Both texts are PEM: a certificate, perhaps with those that have signed it,
 * and the authorities. Names are not compared.
 * -EKEYREJECTED: none of the authorities has signed it. -EKEYEXPIRED: it, or
 * one that has signed it, is not valid today. -EINVAL: this cannot be told,
 * because not all of both texts can be read. */
must_check int certificate_check_trust(const char *cert,
	const char *authorities, struct error *err);
