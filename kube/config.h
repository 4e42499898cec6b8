/* How to reach the API server and as whom.
 *
 * What comes from files is remembered with its path, so that rotated tokens
 * and certificates are picked up: see kube_config_refresh(). Keys and tokens
 * are overwritten before they are freed, and are never part of a sentence. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>

struct kube_item {
	char *path; /* read again on refresh; NULL: given in the kubeconfig */
	char *text; /* PEM or token; NULL: none */
};

struct kube_config {
	char *server; /* https://HOST[:PORT][/PREFIX], no slash at the end */
	char *namespace_name; /* of the context or of our pod, or "default" */
	struct kube_item ca;  /* text NULL: whom the system trusts */
	struct kube_item cert;
	struct kube_item key;
	struct kube_item token;
};

/* Where a configuration may come from; each may be NULL. */
struct kube_places {
	const char *flag;	  /* --kubeconfig */
	const char *variable;	  /* $KUBECONFIG */
	const char *service_host; /* $KUBERNETES_SERVICE_HOST */
	const char *service_port; /* $KUBERNETES_SERVICE_PORT */
	const char *service_dir;  /* where a pod finds token and ca.crt */
	const char *home;	  /* for HOME/.kube/config */
};

/* The first of: path, $KUBECONFIG, the pod we run in, ~/.kube/config. Empty
 * counts as not set. The caller calls kube_config_fini() on success.
 * -ENOENT: none of them is there; else the one that is there is no good, and
 * the sentence names its file. */
must_check int kube_config_load(struct kube_config *out, const char *path,
	struct error *err);

/* The same with every place given. */
must_check int kube_config_find(struct kube_config *out,
	const struct kube_places *places, struct error *err);

/* Whether this process runs in a pod, where the API server is given. */
bool kube_config_is_in_pod(void);

/* Reads the files again. What cannot be read keeps its old text, so that a
 * file caught between two versions does no harm.
 * Returns whether anything is different now. */
bool kube_config_refresh(struct kube_config *config);

void kube_config_fini(struct kube_config *config); /* NULL is fine */
