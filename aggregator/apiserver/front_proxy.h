/* The front proxy: kube-apiserver, which sends requests of users to this API.
 * Its settings, and whom a request is from. Pure.
 *
 * ConfigMap kube-system/extension-apiserver-authentication has the settings:
 * the authority of the proxy's certificate, the names that the certificate may
 * have, and the headers in which the proxy names the user. Nobody else's
 * headers are read: whoever could send them would be any user. A list without
 * names would admit each certificate of the authority, and is refused. */
#pragma once

#include "auth/account.h"
#include "lib/error.h"

struct front_proxy;
struct json_value;

/* One header of a request; a name may come several times. */
struct front_proxy_header {
	const char *name, *value;
};

/* Reads the ConfigMap. -EINVAL: there is no front proxy in it, or it cannot be
 * read. */
must_check int front_proxy_read(struct front_proxy **out,
	const struct json_value *config_map, struct error *err);

void front_proxy_free(struct front_proxy *proxy); /* NULL is fine */

/* The authorities of the proxy's certificate, PEM. Borrowed. */
const char *front_proxy_ca(const struct front_proxy *proxy);

/* The user whom the headers name, if the verified certificate with this name is
 * the proxy's; the caller calls account_fini().
 * -EACCES: it is not, or the headers name no user; -E2BIG: with too many groups
 * or attributes. */
must_check int front_proxy_account(struct account *out,
	const struct front_proxy *proxy, const char *certificate,
	const struct front_proxy_header *headers, size_t count,
	struct error *err);
