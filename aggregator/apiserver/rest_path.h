/* The paths of the API's objects. Pure. */
#pragma once

#include "lib/error.h"

#include <stdbool.h>

#define API_GROUP "load.plimsoll.io"
#define API_VERSION "v1alpha1"
#define API_GROUP_VERSION API_GROUP "/" API_VERSION
#define API_ROOT "/apis/" API_GROUP_VERSION "/"

enum api_kind {
	API_NODE_LOADS,
	API_VM_LOADS,
	API_DECISIONS,
	API_MOVES,
	API_STATUS,
	API_PLACEMENTS, /* from here on questions: they are only created */
	API_PLANS,
	API_KINDS,
};

enum { REST_NAMESPACE_MAX = 254, REST_NAME_MAX = 300 };

struct rest_path {
	enum api_kind kind;
	char namespace[REST_NAMESPACE_MAX]; /* "": all, or none */
	char name[REST_NAME_MAX];	    /* "": the list */
	bool is_history, is_outlook;	    /* one at most */
};

/* The only object of API_STATUS. */
#define API_STATUS_NAME "plimsoll"

/* Reads /apis/load.plimsoll.io/v1alpha1/nodeloads/NAME/history and the like. A
 * single object of a kind with namespaces has one. -ENOENT: no such path. */
must_check int rest_path_parse(struct rest_path *out, const char *path,
	struct error *err);

const char *api_plural(enum api_kind kind); /* "nodeloads" */
bool api_is_namespaced(enum api_kind kind);
bool api_has_history(enum api_kind kind);
bool api_has_outlook(enum api_kind kind);
/* "history" or "outlook"; NULL: the object itself, or the list. */
const char *rest_path_subresource(const struct rest_path *path);
bool api_is_question(enum api_kind kind);
