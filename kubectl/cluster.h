/* Questions to the cluster, each through one kubectl with the user's global
 * flags.
 *
 * If kubectl fails, its own words and exit status are kept here; main.c shows
 * them. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

struct flags;
struct json_value;

#define CLUSTER_API "/apis/load.plimsoll.io/v1alpha1"
#define CLUSTER_KUBEVIRT "/apis/kubevirt.io/v1"

enum {
	CLUSTER_PAGE = 2000,	      /* objects of one request */
	CLUSTER_LIST_MAX = 256 << 20, /* bytes of a whole list */
	CLUSTER_LIST_TRIES = 4,	      /* of a list whose token expires */
	CLUSTER_ARGUMENTS_MAX = 32,   /* of one call, besides global flags */
};

struct cluster {
	const struct flags *flags;
	char *namespace;	 /* by cluster_namespace() */
	struct buffer complaint; /* kubectl's words about the last failure */
	int status;		 /* kubectl's exit status then */
	bool is_told;		 /* and kubectl has said it itself */
};

void cluster_init(struct cluster *cluster, const struct flags *flags);
void cluster_fini(struct cluster *cluster);

/* The namespace that kubectl would use. */
const char *cluster_namespace(struct cluster *cluster);

/* Uses another namespace, if no --namespace was given. */
void cluster_use_namespace(struct cluster *cluster, const char *name);

/* Runs kubectl with arguments (NULL ends them) and an input, or NULL. out may
 * be NULL; else the caller frees its buffer, also after a failure.
 * -EREMOTEIO: kubectl failed; -ENOENT, -EACCES: because there is no such
 * object, or the user may not; other values are call_run()'s. */
must_check int cluster_run(struct buffer *out, struct cluster *cluster,
	const char *const *arguments, const char *input, struct error *err);

/* The same with kubectl's output and complaints shown as they come. */
must_check int cluster_show(struct cluster *cluster,
	const char *const *arguments, struct error *err);

/* The arguments behind kubectl's name: its own, with the global flags. out has
 * room for CLUSTER_ARGUMENTS_MAX + FLAGS_GLOBAL_MAX + 1. */
void cluster_arguments(const char **out, const struct cluster *cluster,
	const char *const *arguments);

/* Adds to kubectl's words about a path what an administrator can do, if the API
 * itself failed. */
void cluster_explain(struct cluster *cluster, const char *path);

/* Gets a path below the server's address as JSON. The caller frees *out. */
must_check int cluster_get(struct json_value **out, struct cluster *cluster,
	const char *path, struct error *err);

/* Posts an object; *out is the answer. */
must_check int cluster_post(struct json_value **out, struct cluster *cluster,
	const char *path, const char *body, struct error *err);

/* Receives each object of a list. NULL: the list begins again, because its
 * continue token expired; the objects so far are void. */
typedef void (*cluster_each)(void *owner, const struct json_value *object);

/* Gets all pages of a list. path may have a query already.
 * -EFBIG: above CLUSTER_LIST_MAX. */
must_check int cluster_list(struct cluster *cluster, const char *path,
	cluster_each each, void *owner, struct error *err);

/* Whether the last failure is an answer of the server, which refused, and not
 * the lack of one. */
bool cluster_is_refused(const struct cluster *cluster);

/* Forgets a failure that the caller deals with. */
void cluster_forgive(struct cluster *cluster);
