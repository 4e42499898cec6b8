/* A kubeconfig file: what its current context says, and nothing else.
 *
 * Pure: files it names are not touched here, see kube/config.h. What we do not
 * support is refused with a sentence rather than left out, because leaving it
 * out would change who we are or whom we trust: exec and auth-provider
 * plugins, basic auth, impersonation, proxies, other TLS server names and
 * insecure-skip-tls-verify. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

/* Something that is given in the file itself, or by a path. Both may be set:
 * then data wins for certificates, and the file wins for tokens. */
struct kubeconfig_item {
	char *data; /* decoded from base64 where it was encoded; or NULL */
	char *path; /* as written, perhaps relative to its file; or NULL */
};

struct kubeconfig {
	char *server; /* https://HOST[:PORT][/PREFIX], no slash at the end */
	char *namespace_name; /* "default" if the context names none */
	struct kubeconfig_item ca;
	struct kubeconfig_item cert;
	struct kubeconfig_item key;
	struct kubeconfig_item token;
};

/* YAML or JSON. The caller calls kubeconfig_fini() on success.
 * -EBADMSG: not a kubeconfig; -EPROTONOSUPPORT: one with something that is
 * refused, see above. */
must_check int kubeconfig_parse(struct kubeconfig *out, const char *text,
	size_t len, struct error *err);

/* Overwrites keys and tokens before they are freed. NULL is fine. */
void kubeconfig_fini(struct kubeconfig *config);

/* 0 if it is an https:// URL with a host and without user, query or fragment.
 * -EPROTONOSUPPORT otherwise. */
must_check int kubeconfig_check_server(const char *server, struct error *err);
