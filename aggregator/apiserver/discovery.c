#include "aggregator/apiserver/discovery.h"

#include "aggregator/apiserver/api_types.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <stdio.h>
#include <string.h>

/* ---- groups ---- */

static void write_version(struct json *j, const char *key)
{
	json_object(j, key);
	json_string(j, "groupVersion", API_GROUP_VERSION);
	json_string(j, "version", API_VERSION);
	json_object_end(j);
}

static void write_group(struct json *j, bool is_alone)
{
	json_object(j, NULL);
	if (is_alone) {
		json_string(j, "kind", "APIGroup");
		json_string(j, "apiVersion", "v1");
	}
	json_string(j, "name", API_GROUP);
	json_array(j, "versions");
	write_version(j, NULL);
	json_array_end(j);
	write_version(j, "preferredVersion");
	json_object_end(j);
}

void discovery_groups(struct buffer *out)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "kind", "APIGroupList");
	json_string(&j, "apiVersion", "v1");
	json_array(&j, "groups");
	write_group(&j, false);
	json_array_end(&j);
	json_object_end(&j);
	buffer_char(out, '\n');
}

void discovery_group(struct buffer *out)
{
	struct json j = json_into(out);

	write_group(&j, true);
	buffer_char(out, '\n');
}

/* ---- resources ---- */

/* A resource, or its subresource. */
struct shown {
	enum api_kind kind;
	const char *subresource;      /* NULL: none */
	const char *subresource_kind; /* of its objects */
};

static void write_verbs(struct json *j, const struct shown *shown)
{
	json_array(j, "verbs");
	if (api_is_question(shown->kind)) {
		json_string(j, NULL, "create");
	} else {
		json_string(j, NULL, "get");
	}
	if (!api_is_question(shown->kind) && shown->subresource == NULL) {
		json_string(j, NULL, "list");
	}
	json_array_end(j);
}

static void write_short_names(struct json *j, const struct api_type *type)
{
	if (type->short_name != NULL) {
		json_array(j, "shortNames");
		json_string(j, NULL, type->short_name);
		json_array_end(j);
	}
}

static void write_resource(struct json *j, const struct shown *shown)
{
	const struct api_type *type = api_type_of(shown->kind);
	bool is_whole = shown->subresource == NULL;
	char name[API_MODEL_NAME_MAX];

	(void)snprintf(name, sizeof(name), "%s%s%s", api_plural(shown->kind),
		is_whole ? "" : "/", is_whole ? "" : shown->subresource);
	json_object(j, NULL);
	json_string(j, "name", name);
	json_string(j, "singularName", is_whole ? type->singular : "");
	json_bool(j, "namespaced", api_is_namespaced(shown->kind));
	json_string(j, "kind", is_whole ? type->kind : shown->subresource_kind);
	write_verbs(j, shown);
	if (is_whole) {
		write_short_names(j, type);
	}
	json_object_end(j);
}

/* Calls write for each subresource of a kind. */
static void each_subresource(struct json *j, enum api_kind kind,
	void (*write)(struct json *j, const struct shown *shown))
{
	if (api_has_history(kind)) {
		write(j, &(struct shown){ kind, "history", "LoadHistory" });
	}
	if (api_has_outlook(kind)) {
		write(j, &(struct shown){ kind, "outlook", "Outlook" });
	}
}

void discovery_resources(struct buffer *out)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "kind", "APIResourceList");
	json_string(&j, "apiVersion", "v1");
	json_string(&j, "groupVersion", API_GROUP_VERSION);
	json_array(&j, "resources");
	for (int i = 0; i < API_KINDS; i++) {
		write_resource(&j,
			&(struct shown){ (enum api_kind)i, NULL, NULL });
		each_subresource(&j, (enum api_kind)i, write_resource);
	}
	json_array_end(&j);
	json_object_end(&j);
	buffer_char(out, '\n');
}

/* ---- aggregated ---- */

static void write_kind(struct json *j, const char *kind)
{
	json_object(j, "responseKind");
	json_string(j, "group", API_GROUP);
	json_string(j, "version", API_VERSION);
	json_string(j, "kind", kind);
	json_object_end(j);
}

static void write_subresource(struct json *j, const struct shown *shown)
{
	json_object(j, NULL);
	json_string(j, "subresource", shown->subresource);
	write_kind(j, shown->subresource_kind);
	write_verbs(j, shown);
	json_object_end(j);
}

static void write_discovered(struct json *j, enum api_kind kind)
{
	const struct api_type *type = api_type_of(kind);

	json_object(j, NULL);
	json_string(j, "resource", api_plural(kind));
	write_kind(j, type->kind);
	json_string(j, "scope",
		api_is_namespaced(kind) ? "Namespaced" : "Cluster");
	json_string(j, "singularResource", type->singular);
	write_verbs(j, &(struct shown){ kind, NULL, NULL });
	write_short_names(j, type);
	if (api_has_history(kind) || api_has_outlook(kind)) {
		json_array(j, "subresources");
		each_subresource(j, kind, write_subresource);
		json_array_end(j);
	}
	json_object_end(j);
}

void discovery_aggregated(struct buffer *out)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "kind", "APIGroupDiscoveryList");
	json_string(&j, "apiVersion", "apidiscovery.k8s.io/v2");
	json_object(&j, "metadata");
	json_object_end(&j);
	json_array(&j, "items");
	json_object(&j, NULL);
	json_object(&j, "metadata");
	json_string(&j, "name", API_GROUP);
	json_object_end(&j);
	json_array(&j, "versions");
	json_object(&j, NULL);
	json_string(&j, "version", API_VERSION);
	json_string(&j, "freshness", "Current");
	json_array(&j, "resources");
	for (int i = 0; i < API_KINDS; i++) {
		write_discovered(&j, (enum api_kind)i);
	}
	json_array_end(&j);
	json_object_end(&j);
	json_array_end(&j);
	json_object_end(&j);
	json_array_end(&j);
	json_object_end(&j);
	buffer_char(out, '\n');
}

/* ---- the rest ---- */

void discovery_paths(struct buffer *out)
{
	static const char *const paths[] = { "/apis", "/apis/" API_GROUP,
		"/apis/" API_GROUP_VERSION, "/healthz", "/livez", "/openapi/v2",
		"/openapi/v3", "/openapi/v3/apis/" API_GROUP_VERSION, "/readyz",
		"/version" };
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_array(&j, "paths");
	for (size_t i = 0; i < count_of(paths); i++) {
		json_string(&j, NULL, paths[i]);
	}
	json_array_end(&j);
	json_object_end(&j);
	buffer_char(out, '\n');
}

/* In the form of kube-apiserver's; the version is plimsoll's own. */
void discovery_version(struct buffer *out)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "major", "");
	json_string(&j, "minor", "");
	json_string(&j, "gitVersion", plimsoll_version);
	json_string(&j, "gitCommit", plimsoll_commit);
	json_string(&j, "platform", "linux");
	json_object_end(&j);
	buffer_char(out, '\n');
}
