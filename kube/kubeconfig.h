/* Parses a kubeconfig: its current context, and nothing else.
 *
 * Pure: kube/config.h reads the files that it names. Unsupported settings are
 * errors, because ignoring them would change the identity or the trust: exec
 * and auth-provider plugins, basic auth, impersonation, proxies,
 * tls-server-name and insecure-skip-tls-verify. */
#pragma once

#include "lib/error.h"

#include <stddef.h>

struct kube_config_item {
	char *path; /* reread on refresh; NULL: text was in the kubeconfig */
	char *text; /* PEM or token; NULL: none */
};

struct kube_config {
	char *server; /* https://HOST[:PORT][/PREFIX], no slash at the end */
	char *namespace_name; /* of the context or the pod, or "default" */
	struct kube_config_item ca; /* text NULL: the system's CAs */
	struct kube_config_item cert;
	struct kube_config_item key;
	struct kube_config_item token;
};

/* Parses YAML or JSON. An item may have a path, as written, a text, or both;
 * none of the files is read. The caller calls kube_config_fini() on success.
 * -EBADMSG: not a kubeconfig; -EPROTONOSUPPORT: unsupported, see above. */
must_check int kubeconfig_parse(struct kube_config *out, const char *text,
	size_t len, struct error *err);

/* 0 if server is an https:// URL with a host and without user, query and
 * fragment; otherwise -EPROTONOSUPPORT. */
must_check int kubeconfig_check_server(const char *server, struct error *err);

void kube_config_fini(struct kube_config *config); /* NULL is fine */
