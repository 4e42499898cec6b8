/* Questions to the cluster, each through one kubectl with the user's global
 * flags.
 *
 * If kubectl fails, its own words and exit status are kept here; main.c shows
 * them. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>

struct flags;
struct json_value;

#define LOAD_API "/apis/load.plimsoll.io/v1alpha1"
#define KUBEVIRT_API "/apis/kubevirt.io/v1"

enum {
	API_CLIENT_PAGE = 2000,		 /* objects of one request */
	API_CLIENT_LIST_MAX = 256 << 20, /* bytes of a whole list */
	API_CLIENT_LIST_TRIES = 4,	 /* of a list whose token expires */
	API_CLIENT_ARGUMENTS_MAX = 32,	 /* of one call, besides global flags */
};

struct api_client {
	const struct flags *flags;
	char *namespace;	 /* by api_client_namespace() */
	struct buffer complaint; /* kubectl's words about the last failure */
	int status;		 /* kubectl's exit status then */
	bool is_reported;	 /* and kubectl has said it itself */
};

void api_client_init(struct api_client *client, const struct flags *flags);
void api_client_fini(struct api_client *client);

/* The namespace that kubectl would use. */
const char *api_client_namespace(struct api_client *client);

/* Uses another namespace, if no --namespace was given. */
void api_client_use_namespace(struct api_client *client, const char *name);

/* Runs kubectl with arguments (NULL ends them) and an input, or NULL. out may
 * be NULL; else the caller frees its buffer, also after a failure.
 * -EREMOTEIO: kubectl failed; -ENOENT, -EACCES: because there is no such
 * object, or the user may not; other values are call_run()'s. */
must_check int api_client_run(struct buffer *out, struct api_client *client,
	const char *const *arguments, const char *input, struct error *err);

/* The same with kubectl's output and complaints shown as they come. */
must_check int api_client_show(struct api_client *client,
	const char *const *arguments, struct error *err);

/* The arguments behind kubectl's name: its own, with the global flags. out has
 * room for API_CLIENT_ARGUMENTS_MAX + FLAGS_GLOBAL_MAX + 1. */
void api_client_arguments(const char **out, const struct api_client *client,
	const char *const *arguments);

/* Adds to kubectl's words about a path what an administrator can do, if the API
 * itself failed. */
void api_client_explain(struct api_client *client, const char *path);

/* Gets a path below the server's address as JSON. The caller frees *out. */
must_check int api_client_get(struct json_value **out,
	struct api_client *client, const char *path, struct error *err);

/* Posts an object; *out is the answer. */
must_check int api_client_post(struct json_value **out,
	struct api_client *client, const char *path, const char *body,
	struct error *err);

/* Receives each object of a list. NULL: the list begins again, because its
 * continue token expired; the objects so far are void. */
typedef void (*api_client_each)(void *owner, const struct json_value *object);

/* Gets all pages of a list. path may have a query already.
 * -EFBIG: above API_CLIENT_LIST_MAX. */
must_check int api_client_list(struct api_client *client, const char *path,
	api_client_each each, void *owner, struct error *err);

/* Whether the last failure is an answer of the server, which refused, and not
 * the lack of one. */
bool api_client_is_refused(const struct api_client *client);

/* Forgets a failure that the caller deals with. */
void api_client_forgive(struct api_client *client);
