/* The API server's address and the credentials for it.
 *
 * Text from a file is kept with its path, so that kube_config_refresh() picks
 * up rotated tokens and certificates. Keys and tokens are overwritten before
 * they are freed and never appear in errors. */
#pragma once

#include "kube/kubeconfig.h"
#include "lib/error.h"

#include <stdbool.h>

/* The sources that are searched for a configuration; each may be NULL. */
struct kube_config_sources {
	const char *flag;	  /* --kubeconfig */
	const char *variable;	  /* $KUBECONFIG */
	const char *service_host; /* $KUBERNETES_SERVICE_HOST */
	const char *service_port; /* $KUBERNETES_SERVICE_PORT */
	const char *service_dir;  /* the pod's token and ca.crt */
	const char *home;	  /* for $HOME/.kube/config */
};

/* Uses the first of: path, $KUBECONFIG, the service account of the pod,
 * ~/.kube/config. Empty counts as unset. The caller calls kube_config_fini() on
 * success.
 * -ENOENT: none of them exists; otherwise the first that exists is unusable,
 * and the sentence names its file. */
must_check int kube_config_load(struct kube_config *out, const char *path,
	struct error *err);

/* The same with explicit sources. */
must_check int kube_config_load_from(struct kube_config *out,
	const struct kube_config_sources *sources, struct error *err);

/* Whether this process runs in a pod with an API server. */
bool kube_config_is_in_pod(void);

/* Rereads the files and returns whether anything changed. If a file cannot be
 * read, for example in the middle of a replacement, its old text is kept. */
bool kube_config_refresh(struct kube_config *config);
