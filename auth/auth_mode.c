#include "auth/auth_mode.h"

#include "lib/address.h"

#include <errno.h>
#include <stddef.h>

/* In the order of enum auth_mode. */
const char auth_mode_choices[] = "none kubernetes";

int auth_mode_check_http(const char *address, const struct tls_files *tls,
	int mode, struct error *err)
{
	if ((tls->cert == NULL) != (tls->key == NULL)) {
		return error_set(err, -EINVAL,
			"--http-tls-cert and --http-tls-key require each "
			"other");
	}
	if (mode == AUTH_KUBERNETES && tls->cert == NULL &&
		!address_is_loopback(address)) {
		return error_set(err, -EINVAL,
			"--http-auth: tokens require TLS, but --http '%s' does "
			"not use it; set --http-tls-cert and --http-tls-key, "
			"or use a loopback address",
			address);
	}
	return 0;
}
