#include "aggregator/apiserver/openapi.h"

#include "aggregator/apiserver/api_types.h"
#include "aggregator/apiserver/question_model.h"
#include "lib/hash.h"
#include "lib/memory.h"
#include "lib/options.h"

#include <inttypes.h>
#include <stdio.h>

/* As Kubernetes names definitions: the domain backwards. */
#define DOMAIN "io.plimsoll.load.v1alpha1."

/* A figure of the whole group: what a name stands for in each version. */
struct dialect {
	const char *refs; /* where definitions are */
	bool is_v3;
};

static const struct dialect v2 = { "#/definitions/", false };
static const struct dialect v3 = { "#/components/schemas/", true };

/* ---- definitions ---- */

static void write_plain(struct json *j, const char *key, const char *help)
{
	json_object(j, key);
	json_string(j, "description", help);
	json_string(j, "type", "string");
	json_object_end(j);
}

/* Written out, so that the document needs no other one. */
static void write_metadata(struct json *j, const char *key)
{
	json_object(j, key);
	json_string(j, "description",
		"Standard metadata: the name, the namespace and the labels of "
		"the object that the figures are of");
	json_string(j, "type", "object");
	json_object(j, "properties");
	write_plain(j, "name", "Name of the object");
	write_plain(j, "namespace", "Namespace of the object");
	write_plain(j, "resourceVersion", "Changes with every report");
	json_object_end(j);
	json_object_end(j);
}

static void write_group_version_kind(struct json *j, const char *kind)
{
	json_array(j, "x-kubernetes-group-version-kind");
	json_object(j, NULL);
	json_string(j, "group", API_GROUP);
	json_string(j, "version", API_VERSION);
	json_string(j, "kind", kind);
	json_object_end(j);
	json_array_end(j);
}

/* The members that every object has, before those of its model. */
static void write_common(struct json *j)
{
	write_plain(j, "apiVersion", API_GROUP_VERSION);
	write_plain(j, "kind", "The kind of the object");
	write_metadata(j, "metadata");
}

static void write_definition(struct json *j, const struct api_type *type)
{
	char name[API_MODEL_NAME_MAX];

	(void)snprintf(name, sizeof(name), DOMAIN "%s", type->kind);
	json_object(j, name);
	json_string(j, "description", type->help);
	json_string(j, "type", "object");
	api_model_describe(j, type->model, write_common);
	write_group_version_kind(j, type->kind);
	json_object_end(j);
}

static void write_ref(struct json *j, const char *key,
	const struct dialect *dialect, const char *kind)
{
	char ref[2 * API_MODEL_NAME_MAX];

	(void)snprintf(ref, sizeof(ref), "%s" DOMAIN "%s", dialect->refs, kind);
	json_object(j, key);
	json_string(j, "$ref", ref);
	json_object_end(j);
}

static void write_list_definition(struct json *j, const struct api_type *type,
	const struct dialect *dialect)
{
	char name[2 * API_MODEL_NAME_MAX], kind[API_MODEL_NAME_MAX];

	(void)snprintf(kind, sizeof(kind), "%sList", type->kind);
	(void)snprintf(name, sizeof(name), DOMAIN "%s", kind);
	json_object(j, name);
	json_string(j, "description", "A list of such objects.");
	json_string(j, "type", "object");
	json_object(j, "properties");
	write_common(j);
	json_object(j, "items");
	json_string(j, "type", "array");
	write_ref(j, "items", dialect, type->kind);
	json_object_end(j);
	json_object_end(j);
	write_group_version_kind(j, kind);
	json_object_end(j);
}

static void write_definitions(struct json *j, const char *key,
	const struct dialect *dialect)
{
	static const struct api_type history = { .kind = "LoadHistory",
		.help = "LoadHistory is the load of a node or VM over time.",
		.model = &history_model };
	static const struct api_type outlook = { .kind = "Outlook",
		.help = "Outlook is what the scheduler that leads believes of "
			"the nodes, or knows of a VM.",
		.model = &outlook_model };

	json_object(j, key);
	for (int i = 0; i < API_KINDS; i++) {
		const struct api_type *type = api_type_of((enum api_kind)i);

		write_definition(j, type);
		if (!api_is_question((enum api_kind)i)) {
			write_list_definition(j, type, dialect);
		}
	}
	write_definition(j, &history);
	write_definition(j, &outlook);
	json_object_end(j);
}

/* ---- paths ---- */

struct operation {
	const char *path; /* below the version, with {name} */
	const char *action, *kind, *help;
	const struct api_type *type;
	bool is_question;
};

static void write_parameter(struct json *j, const struct dialect *dialect,
	const char *name)
{
	json_object(j, NULL);
	json_string(j, "name", name);
	json_string(j, "in", "path");
	json_bool(j, "required", true);
	if (dialect->is_v3) {
		json_object(j, "schema");
	}
	json_string(j, "type", "string");
	if (dialect->is_v3) {
		json_object_end(j);
	}
	json_object_end(j);
}

static void write_answer(struct json *j, const struct dialect *dialect,
	const char *kind, bool is_question)
{
	json_object(j, "responses");
	json_object(j, is_question ? "201" : "200");
	json_string(j, "description", is_question ? "Created" : "OK");
	if (dialect->is_v3) {
		json_object(j, "content");
		json_object(j, "application/json");
	}
	write_ref(j, "schema", dialect, kind);
	if (dialect->is_v3) {
		json_object_end(j);
		json_object_end(j);
	}
	json_object_end(j);
	json_object_end(j);
}

static void write_operation(struct json *j, const struct dialect *dialect,
	const struct operation *o)
{
	scoped_free char *path =
		xasprintf("/apis/" API_GROUP_VERSION "/%s", o->path);
	scoped_free char *id =
		xasprintf("%sLoadPlimsollIoV1alpha1%s", o->action, o->kind);

	json_object(j, path);
	json_object(j, o->is_question ? "post" : "get");
	json_string(j, "description", o->help);
	json_string(j, "operationId", id);
	if (!dialect->is_v3) {
		json_array(j, "produces");
		json_string(j, NULL, "application/json");
		json_array_end(j);
	}
	write_answer(j, dialect, o->kind, o->is_question);
	if (o->is_question && dialect->is_v3) {
		json_object(j, "requestBody");
		json_object(j, "content");
		json_object(j, "application/json");
		write_ref(j, "schema", dialect, o->kind);
		json_object_end(j);
		json_object_end(j);
		json_object_end(j);
	}
	json_string(j, "x-kubernetes-action", o->action);
	json_object(j, "x-kubernetes-group-version-kind");
	json_string(j, "group", API_GROUP);
	json_string(j, "version", API_VERSION);
	json_string(j, "kind", o->type->kind);
	json_object_end(j);
	json_object_end(j);
}

static void end_operation(struct json *j, const struct dialect *dialect,
	const char *const *names)
{
	json_array(j, "parameters");
	for (; *names != NULL; names++) {
		write_parameter(j, dialect, *names);
	}
	json_array_end(j);
	json_object_end(j);
}

static void write_kind_paths(struct json *j, const struct dialect *dialect,
	enum api_kind kind)
{
	static const char *const scoped[] = { "namespace", "name", NULL };
	static const char *const plain[] = { "name", NULL };
	static const char *const of_list[] = { NULL };
	const struct api_type *type = api_type_of(kind);
	bool is_namespaced = api_is_namespaced(kind);
	scoped_free char *list = xasprintf("%s", api_plural(kind));
	scoped_free char *one = xasprintf("%s%s/{name}",
		is_namespaced ? "namespaces/{namespace}/" : "",
		api_plural(kind));
	scoped_free char *list_kind = xasprintf("%sList", type->kind);

	write_operation(j, dialect,
		&(struct operation){ list, "list", list_kind, type->help, type,
			false });
	end_operation(j, dialect, of_list);
	write_operation(j, dialect,
		&(struct operation){ one, "get", type->kind, type->help, type,
			false });
	end_operation(j, dialect, is_namespaced ? scoped : plain);
}

static void write_question_path(struct json *j, const struct dialect *dialect,
	enum api_kind kind)
{
	static const char *const scoped[] = { "namespace", NULL };
	const struct api_type *type = api_type_of(kind);
	scoped_free char *path =
		xasprintf("namespaces/{namespace}/%s", api_plural(kind));

	write_operation(j, dialect,
		&(struct operation){ path, "post", type->kind, type->help, type,
			true });
	end_operation(j, dialect, scoped);
}

static void write_paths(struct json *j, const struct dialect *dialect)
{
	json_object(j, "paths");
	for (int i = 0; i < API_KINDS; i++) {
		(api_is_question((enum api_kind)i) ? write_question_path
						   : write_kind_paths)(j,
			dialect, (enum api_kind)i);
	}
	json_object_end(j);
}

static void write_info(struct json *j)
{
	json_object(j, "info");
	json_string(j, "title", "plimsoll");
	json_string(j, "version", plimsoll_version);
	json_object_end(j);
}

/* ---- documents ---- */

void openapi_v2(struct buffer *out)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "swagger", "2.0");
	write_info(&j);
	write_paths(&j, &v2);
	write_definitions(&j, "definitions", &v2);
	json_object_end(&j);
	buffer_char(out, '\n');
}

void openapi_v3(struct buffer *out)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_string(&j, "openapi", "3.0.0");
	write_info(&j);
	write_paths(&j, &v3);
	json_object(&j, "components");
	write_definitions(&j, "schemas", &v3);
	json_object_end(&j);
	json_object_end(&j);
	buffer_char(out, '\n');
}

/* The hash tells a client whether it has the document already. */
void openapi_index(struct buffer *out)
{
	static const char path[] = "apis/" API_GROUP_VERSION;
	scoped_buffer struct buffer document = BUFFER_MAX(1 << 20);
	struct json j = json_into(out);
	const struct hash_key key = { 0, 0 };
	char url[128];

	openapi_v3(&document);
	(void)snprintf(url, sizeof(url), "/openapi/v3/%s?hash=%016" PRIX64,
		path, hash_with(key, document.data, document.len));
	json_object(&j, NULL);
	json_object(&j, "paths");
	json_object(&j, path);
	json_string(&j, "serverRelativeURL", url);
	json_object_end(&j);
	json_object_end(&j);
	json_object_end(&j);
	buffer_char(out, '\n');
}
