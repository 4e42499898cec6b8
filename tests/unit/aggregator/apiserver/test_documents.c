#include "aggregator/apiserver/discovery.h"
#include "aggregator/apiserver/openapi.h"

#include "aggregator/apiserver/api_status.h"
#include "aggregator/apiserver/api_types.h"
#include "kube/json_value.h"
#include "lib/memory.h"
#include "lib/options.h"
#include "tests/support/cm.h"
#include "tests/support/golden.h"

#include <string.h>

static struct json_value *document(void (*write)(struct buffer *out))
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct json_value *value;

	write(&out);
	assert_false(out.overflowed);
	assert_int_equal(json_value_parse(&value, out.data, out.len, NULL), 0);
	return value;
}

static void assert_text(const struct json_value *value, const char *path,
	const char *text)
{
	assert_string_equal(json_value_text_at(value, path, ""), text);
}

static void discovery_lists_each_kind_with_its_subresources(void **state)
{
	struct json_value *list = document(discovery_resources);
	size_t histories = 0, outlooks = 0;

	(void)state;
	assert_text(list, "groupVersion", API_GROUP_VERSION);
	for (const struct json_value *v =
			json_value_first(json_value_get(list, "resources"));
		v != NULL; v = json_value_next(v)) {
		histories += strstr(json_value_text_at(v, "name", ""),
				     "/history") != NULL;
		if (strstr(json_value_text_at(v, "name", ""), "/outlook") !=
			NULL) {
			outlooks++;
			assert_text(v, "kind", "Outlook");
			assert_int_equal(
				json_value_count(json_value_get(v, "verbs")),
				1);
		}
	}
	assert_int_equal(histories, 2);
	assert_int_equal(outlooks, 2);
	assert_int_equal(json_value_count(json_value_get(list, "resources")),
		API_KINDS + 4);
	json_value_free(list);
}

static void questions_can_only_be_created(void **state)
{
	struct json_value *list = document(discovery_resources);
	struct json_value *v3 = document(openapi_v3);
	size_t created = 0;

	(void)state;
	for (const struct json_value *v =
			json_value_first(json_value_get(list, "resources"));
		v != NULL; v = json_value_next(v)) {
		const struct json_value *verb =
			json_value_first(json_value_get(v, "verbs"));

		if (strcmp(json_value_text(verb), "create") == 0) {
			assert_null(json_value_next(verb));
			assert_true(json_value_true(
				json_value_get(v, "namespaced")));
			created++;
		}
	}
	assert_int_equal(created, 2);
	for (const struct json_value *v =
			json_value_first(json_value_get(v3, "paths"));
		v != NULL; v = json_value_next(v)) {
		created -= json_value_get(v, "post") != NULL;
		assert_true(json_value_get(v, "post") == NULL ||
			json_value_get(v, "get") == NULL);
	}
	assert_int_equal(created, 0);
	json_value_free(list);
	json_value_free(v3);
}

static void every_document_says_its_kind(void **state)
{
	static const struct {
		void (*write)(struct buffer *out);
		const char *path, *text;
	} cases[] = {
		{ discovery_groups, "kind", "APIGroupList" },
		{ discovery_group, "kind", "APIGroup" },
		{ discovery_resources, "kind", "APIResourceList" },
		{ discovery_aggregated, "kind", "APIGroupDiscoveryList" },
		{ openapi_v2, "swagger", "2.0" },
		{ openapi_v3, "openapi", "3.0.0" },
		{ discovery_version, "platform", "linux" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct json_value *value = document(cases[i].write);

		assert_text(value, cases[i].path, cases[i].text);
		json_value_free(value);
	}
}

static void the_paths_are_listed(void **state)
{
	struct json_value *value = document(discovery_paths);
	const struct json_value *paths = json_value_get(value, "paths");

	(void)state;
	assert_int_equal(json_value_count(paths), 10);
	assert_string_equal(json_value_text(json_value_first(paths)), "/apis");
	json_value_free(value);
}

/* Clients of all versions read these documents. */
static void the_documents_stay_as_they_are(void **state)
{
	static const struct {
		void (*write)(struct buffer *out);
		const char *name;
	} cases[] = {
		{ discovery_groups, "aggregator/groups.json" },
		{ discovery_group, "aggregator/group.json" },
		{ discovery_resources, "aggregator/resources.json" },
		{ discovery_aggregated, "aggregator/discovery.json" },
		{ discovery_paths, "aggregator/paths.json" },
		{ openapi_v2, "aggregator/openapi_v2.json" },
		{ openapi_v3, "aggregator/openapi_v3.json" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
		scoped_free char *text = NULL;

		cases[i].write(&out);
		text = golden_replace(out.data, plimsoll_version, "VERSION");
		assert_golden_json(cases[i].name, text);
	}
}

static void the_version_is_that_of_the_program(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	scoped_free char *expected = xasprintf(
		"{\"major\":\"\",\"minor\":\"\",\"gitVersion\":\"%s\","
		"\"gitCommit\":\"%s\",\"platform\":\"linux\"}\n",
		plimsoll_version, plimsoll_commit);

	(void)state;
	discovery_version(&out);
	assert_string_equal(out.data, expected);
}

static void the_index_names_the_document(void **state)
{
	struct json_value *index = document(openapi_index);
	const struct json_value *entry =
		json_value_first(json_value_get(index, "paths"));

	(void)state;
	assert_string_equal(json_value_key(entry), "apis/" API_GROUP_VERSION);
	assert_non_null(
		strstr(json_value_text_at(entry, "serverRelativeURL", ""),
			"/openapi/v3/apis/" API_GROUP_VERSION "?hash="));
	json_value_free(index);
}

/* kubectl explain finds each field with a type and a description. */
static void assert_described(const struct json_value *properties)
{
	assert_true(json_value_count(properties) > 0);
	for (const struct json_value *v = json_value_first(properties);
		v != NULL; v = json_value_next(v)) {
		const struct json_value *inner =
			json_value_get(v, "properties");

		assert_string_not_equal(
			json_value_text_at(v, "description", ""), "");
		assert_string_not_equal(json_value_text_at(v, "type", ""), "");
		if (inner != NULL) {
			assert_described(inner);
		}
	}
}

static void every_field_is_described(void **state)
{
	struct json_value *v3 = document(openapi_v3);

	(void)state;
	for (int i = 0; i < API_KINDS; i++) {
		scoped_free char *name = xasprintf(
			"io.plimsoll.load.v1alpha1."
			"%s",
			api_type_of((enum api_kind)i)->kind);
		const struct json_value *definition = json_value_get(
			json_value_at(v3, "components/schemas"), name);

		assert_described(json_value_get(definition, "properties"));
		assert_int_equal(json_value_count(json_value_get(definition,
					 "x-kubernetes-group-version-kind")),
			1);
	}
	json_value_free(v3);
}

static void an_outlook_is_described(void **state)
{
	struct json_value *v3 = document(openapi_v3);
	const struct json_value *outlook =
		json_value_get(json_value_at(v3, "components/schemas"),
			"io.plimsoll.load.v1alpha1.Outlook");

	(void)state;
	assert_described(json_value_get(outlook, "properties"));
	assert_text(outlook,
		"properties/status/properties/nodes/items/properties/cpu/"
		"properties/expectedCores/type",
		"number");
	assert_text(outlook, "properties/status/properties/isMovable/type",
		"boolean");
	json_value_free(v3);
}

static void a_figure_keeps_its_name_in_camel_case(void **state)
{
	struct json_value *v3 = document(openapi_v3);
	const struct json_value *node =
		json_value_get(json_value_at(v3, "components/schemas"),
			"io.plimsoll.load.v1alpha1.NodeLoad");

	(void)state;
	assert_text(node,
		"properties/status/properties/cpu/properties/usedCores5m/type",
		"number");
	assert_text(node,
		"properties/status/properties/memory/properties/totalBytes/"
		"type",
		"number");
	json_value_free(v3);
}

static void the_status_tells_of_moves_and_of_the_database(void **state)
{
	struct json_value *v3 = document(openapi_v3);
	const struct json_value *status =
		json_value_get(json_value_at(v3, "components/schemas"),
			"io.plimsoll.load.v1alpha1.PlimsollStatus");
	const struct json_value *fields =
		json_value_at(status, "properties/status/properties");

	(void)state;
	assert_text(fields, "rebalance/properties/mode/type", "string");
	assert_text(fields, "rebalance/properties/why/type", "string");
	assert_text(fields, "store/properties/databaseBytes/type", "integer");
	assert_text(fields, "store/properties/databaseMaxBytes/type",
		"integer");
	json_value_free(v3);
}

static void an_error_is_a_status(void **state)
{
	static const struct {
		int code;
		const char *reason;
	} cases[] = {
		{ 401, "Unauthorized" },
		{ 404, "NotFound" },
		{ 405, "MethodNotAllowed" },
		{ 410, "Expired" },
		{ 411, "BadRequest" },
		{ 500, "InternalError" },
		{ 503, "ServiceUnavailable" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_buffer struct buffer out = BUFFER_MAX(4096);
		struct json_value *value;
		double code = 0;

		api_status_write(&out, "", cases[i].code, "say \"why\"");
		assert_int_equal(
			json_value_parse(&value, out.data, out.len, NULL), 0);
		assert_text(value, "kind", "Status");
		assert_text(value, "status", "Failure");
		assert_text(value, "reason", cases[i].reason);
		assert_text(value, "message", "say \"why\"");
		(void)json_value_number(&code, json_value_get(value, "code"));
		assert_int_equal((int)code, cases[i].code);
		json_value_free(value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			discovery_lists_each_kind_with_its_subresources),
		cmocka_unit_test(questions_can_only_be_created),
		cmocka_unit_test(every_document_says_its_kind),
		cmocka_unit_test(the_paths_are_listed),
		cmocka_unit_test(the_documents_stay_as_they_are),
		cmocka_unit_test(the_version_is_that_of_the_program),
		cmocka_unit_test(the_index_names_the_document),
		cmocka_unit_test(every_field_is_described),
		cmocka_unit_test(an_outlook_is_described),
		cmocka_unit_test(a_figure_keeps_its_name_in_camel_case),
		cmocka_unit_test(the_status_tells_of_moves_and_of_the_database),
		cmocka_unit_test(an_error_is_a_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
