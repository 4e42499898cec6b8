#include "aggregator/apiserver/load_list.h"

#include "aggregator/apiserver/field_cells.h"
#include "aggregator/apiserver/load_objects.h"
#include "aggregator/live/identity.h"
#include "aggregator/live/live.h"
#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/memory.h"
#include "tests/support/golden.h"
#include "tests/unit/aggregator/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t run[REPORT_RUN_ID_BYTES] = { 7 };

struct fixture {
	const char *title; /* of the test */
	struct identities *identities;
	struct object_labels *pods, *nodes;
	struct live *live;
	struct load_view view;
	struct json_value *answer; /* of the last list() */
};

static void put_labels(struct object_labels *table, const char *key,
	const char *labels, int created_s)
{
	scoped_free char *text = xasprintf(
		"{\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:%02dZ"
		"\",\"labels\":%s}}",
		created_s, labels);
	struct json_value *object;

	assert_int_equal(json_value_parse(&object, text, strlen(text), NULL),
		0);
	object_labels_put(table, key, object);
	json_value_free(object);
}

static void add_node(struct fixture *f, const char *name,
	const char *const *uids, size_t count)
{
	struct report report = steady_report(1, 10, 2);
	struct vm_pod vms[4];

	for (size_t i = 0; i < count; i++) {
		vms[i] = sample_vm(uids[i], i + 1);
	}
	sample_add_vms(&report, vms, count);
	assert_int_equal(live_add(f->live,
				 &(struct live_sample){ name, run, &report,
					 (int64_t)clock_monotonic_us(), 1 },
				 clock_monotonic_us(), NULL),
		0);
	report_fini(&report);
}

static void add_pod(struct fixture *f, const char *uid, const char *namespace,
	const char *name, const char *node)
{
	identities_put(f->identities, uid,
		&(struct identity){ namespace, name, "", node });
}

/* web moves from a to b; vault is on b, and bare-1 has no name there. */
static int setup(void **state)
{
	static const char *const on_a[] = { "web-old", "api-1" };
	static const char *const on_b[] = { "web-new", "vault-1", "bare-1" };
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->identities = identities_new();
	f->pods = object_labels_new();
	f->nodes = object_labels_new();
	f->live = live_new(5, f->identities);
	add_node(f, "b", on_b, count_of(on_b));
	add_node(f, "a", on_a, count_of(on_a));
	add_node(f, "a-0", NULL, 0);
	add_pod(f, "web-old", "shop", "web", "a");
	add_pod(f, "web-new", "shop", "web", "b");
	add_pod(f, "api-1", "shop", "api", "a");
	add_pod(f, "vault-1", "bank", "vault", "b");
	add_pod(f, "bare-1", "bank", "bare", "elsewhere");
	put_labels(f->pods, "web-old", "{\"tier\":\"front\"}", 1);
	put_labels(f->pods, "web-new", "{\"tier\":\"new\"}", 2);
	put_labels(f->nodes, "a", "{\"rack\":\"1\"}", 1);
	f->view = (struct load_view){ .live = f->live,
		.identities = f->identities,
		.nodes = f->nodes,
		.pods = f->pods };
	f->title = *state;
	*state = f;
	return 0;
}

/* bank/vault has none. */
uint64_t __wrap_vm_reach_nodes(const struct vm_reach *reach, const char *vm,
	uint64_t now_us);
uint64_t __wrap_vm_reach_nodes(const struct vm_reach *reach, const char *vm,
	uint64_t now_us)
{
	(void)reach;
	(void)now_us;
	return strcmp(vm, "shop/web") == 0    ? 0
		: strcmp(vm, "shop/api") == 0 ? 12
					      : REPORT_UNKNOWN;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	assert_golden_told(GOLDEN_PROGRAM, f->title);
	json_value_free(f->answer);
	live_free(f->live);
	identities_free(f->identities);
	object_labels_free(f->pods);
	object_labels_free(f->nodes);
	free(f);
	return 0;
}

/* The whole text of the list, as JSON. */
static const struct json_value *list(struct fixture *f,
	struct load_query *query)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct httpd_stream stream =
		load_list_stream(load_list_new(&f->view, query));

	while (stream.next(stream.owner, &out)) {
	}
	stream.done(stream.owner);
	golden_tell("%s", out.data);
	json_value_free(f->answer);
	f->answer = NULL;
	assert_int_equal(json_value_parse(&f->answer, out.data, out.len, NULL),
		0);
	query->labels = query->fields = (struct selector){ 0 };
	return f->answer;
}

static struct load_query all_of(enum api_kind kind)
{
	return (struct load_query){ .kind = kind,
		.namespace = "",
		.name = "",
		.form = ACCEPT_JSON };
}

static void assert_names(const struct json_value *answer, const char *names)
{
	scoped_buffer struct buffer found = BUFFER_MAX(4096);

	for (const struct json_value *v =
			json_value_first(json_value_get(answer, "items"));
		v != NULL; v = json_value_next(v)) {
		buffer_printf(&found, "%s ",
			json_value_text_at(v, "metadata/name", "?"));
	}
	assert_string_equal(found.data == NULL ? "" : found.data, names);
}

static void nodes_come_by_name(void **state)
{
	struct fixture *f = *state;
	struct load_query query = all_of(API_NODE_LOADS);
	const struct json_value *answer = list(f, &query);

	assert_names(answer, "a a-0 b ");
	assert_string_equal(json_value_text_at(answer, "kind", ""),
		"NodeLoadList");
	assert_null(json_value_at(answer, "metadata/continue"));
}

static void a_vm_is_one_object_also_while_it_moves(void **state)
{
	struct fixture *f = *state;
	struct load_query query = all_of(API_VM_LOADS);
	const struct json_value *answer = list(f, &query);
	const struct json_value *web;

	assert_names(answer, "vault api web ");
	web = json_value_next(json_value_next(
		json_value_first(json_value_get(answer, "items"))));
	assert_string_equal(json_value_text_at(web, "spec/nodeName", ""), "a");
	assert_int_equal(json_value_count(json_value_at(web, "status/pods")),
		2);
	assert_string_equal(json_value_text_at(json_value_first(json_value_at(
						       web, "status/pods")),
				    "uid", ""),
		"web-old");
	assert_string_equal(json_value_text_at(web, "metadata/labels/tier", ""),
		"front");
}

static void selectors_choose(void **state)
{
	static const struct {
		enum api_kind kind;
		const char *labels, *fields, *names;
	} cases[] = {
		{ API_NODE_LOADS, "rack=1", "", "a " },
		{ API_NODE_LOADS, "!rack", "", "a-0 b " },
		{ API_NODE_LOADS, "", "metadata.name!=a", "a-0 b " },
		{ API_NODE_LOADS, "", "status.state=Lost", "" },
		{ API_NODE_LOADS, "", "status.hottest=memory", "a a-0 b " },
		{ API_VM_LOADS, "tier", "", "web " },
		{ API_VM_LOADS, "", "spec.nodeName=b", "vault web " },
		{ API_VM_LOADS, "", "spec.nodeName!=b", "api " },
		{ API_VM_LOADS, "", "metadata.namespace=bank", "vault " },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(cases); i++) {
		struct load_query query = all_of(cases[i].kind);

		assert_int_equal(selector_parse_labels(&query.labels,
					 cases[i].labels, NULL),
			0);
		assert_int_equal(selector_parse_fields(&query.fields,
					 cases[i].fields, NULL),
			0);
		assert_names(list(f, &query), cases[i].names);
	}
}

static void a_page_of_selected_objects_tells_if_more_follow(void **state)
{
	static const struct {
		const char *after, *names;
		bool has_next;
	} pages[] = { { "", "a-0 ", true }, { "a-0", "b ", false } };
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(pages); i++) {
		struct load_query query = all_of(API_NODE_LOADS);
		const struct json_value *answer;

		query.limit = 1;
		(void)snprintf(query.after, sizeof(query.after), "%s",
			pages[i].after);
		assert_int_equal(
			selector_parse_labels(&query.labels, "!rack", NULL), 0);
		answer = list(f, &query);
		assert_names(answer, pages[i].names);
		assert_int_equal(
			json_value_at(answer, "metadata/continue") != NULL,
			pages[i].has_next);
	}
}

/* A label selector with as many terms as it may have, which matches no node. */
static void select_none(struct load_query *query)
{
	scoped_buffer struct buffer text = BUFFER_MAX(4096);

	for (int i = 0; i < SELECTOR_TERMS_MAX; i++) {
		buffer_text(&text, i == 0 ? "!zz" : ",!zz");
	}
	memcpy(text.data, "zz ", 3);
	assert_int_equal(selector_parse_labels(&query->labels, text.data, NULL),
		0);
}

static void long_selectors_are_matched_in_turns_of_the_loop(void **state)
{
	enum { NODES = 1200 };
	scoped_buffer struct buffer out = BUFFER_MAX(1 << 20);
	struct fixture *f = *state;
	struct load_query query = all_of(API_NODE_LOADS);
	struct httpd_stream stream;
	size_t turns = 1;

	for (int i = 0; i < NODES; i++) {
		scoped_free char *name = xasprintf("many-%04d", i);

		add_node(f, name, NULL, 0);
	}
	select_none(&query);
	stream = load_list_stream(load_list_new(&f->view, &query));
	while (stream.next(stream.owner, &out)) {
		turns++;
	}
	stream.done(stream.owner);
	assert_true(turns >= 3);
	assert_non_null(strstr(out.data, "\"items\":[]"));
}

static void a_namespace_has_only_its_vms(void **state)
{
	struct fixture *f = *state;
	struct load_query query = all_of(API_VM_LOADS);

	query.namespace = "shop";
	assert_names(list(f, &query), "api web ");
	query.namespace = "sho";
	assert_names(list(f, &query), "");
}

/* Reads all pages of one object each. */
static void assert_pages(struct fixture *f, enum api_kind kind,
	const char *const *names, size_t count)
{
	struct load_query query = all_of(kind);

	query.limit = 1;
	for (size_t i = 0; i < count; i++) {
		const struct json_value *answer = list(f, &query);
		const char *next =
			json_value_text_at(answer, "metadata/continue", NULL);
		double left = 0;

		assert_names(answer, names[i]);
		(void)json_value_number(&left,
			json_value_at(answer, "metadata/remainingItemCount"));
		assert_int_equal((int)left, (int)(count - 1 - i));
		assert_int_equal(page_token_read(query.after, next, 5,
					 api_plural(kind), NULL),
			0);
		assert_true((i + 1 == count) == (next == NULL));
	}
}

static void pages_follow_each_other_by_name(void **state)
{
	static const char *const nodes[] = { "a ", "a-0 ", "b " };
	static const char *const vms[] = { "vault ", "api ", "web " };

	assert_pages(*state, API_NODE_LOADS, nodes, count_of(nodes));
	assert_pages(*state, API_VM_LOADS, vms, count_of(vms));
}

/* The token is a name, so what came and went does not shift the pages. */
static void a_page_goes_on_after_a_node_that_left(void **state)
{
	struct fixture *f = *state;
	struct load_query query = all_of(API_NODE_LOADS);

	(void)snprintf(query.after, sizeof(query.after), "a");
	assert_true(live_remove(f->live, "a"));
	assert_names(list(f, &query), "a-0 b ");
}

static void a_table_has_a_cell_for_each_column(void **state)
{
	static const enum api_kind kinds[] = { API_NODE_LOADS, API_VM_LOADS };
	struct fixture *f = *state;

	for (size_t i = 0; i < count_of(kinds); i++) {
		struct load_query query = all_of(kinds[i]);
		const struct json_value *answer, *row;

		query.form = ACCEPT_TABLE;
		query.include = API_INCLUDE_OBJECT;
		answer = list(f, &query);
		assert_string_equal(json_value_text_at(answer, "kind", ""),
			"Table");
		row = json_value_first(json_value_get(answer, "rows"));
		assert_int_equal(json_value_count(json_value_get(row, "cells")),
			json_value_count(
				json_value_get(answer, "columnDefinitions")));
		assert_string_equal(json_value_text_at(row, "object/kind", ""),
			api_type_of(kinds[i])->kind);
	}
}

static void a_table_of_fields_has_their_values_alone(void **state)
{
	static const char fields[] =
		"metadata.namespace,metadata.name,spec.nodeName,status.state,"
		"status.usedCores,status.swapBytes,status.pods";
	struct fixture *f = *state;
	struct load_query query = all_of(API_VM_LOADS);
	const struct json_value *answer, *rows, *row;

	query.form = ACCEPT_TABLE;
	query.limit = 2;
	assert_int_equal(
		field_cells_parse(&query.cells, fields, query.kind, NULL), 0);
	answer = list(f, &query);
	assert_string_equal(json_value_text_at(answer, "kind", ""), "Table");
	assert_non_null(json_value_at(answer, "metadata/continue"));
	rows = json_value_get(answer, "rows");
	assert_int_equal(json_value_count(rows), 2);
	row = json_value_first(rows);
	assert_int_equal(json_value_count(row), 1);
	assert_int_equal(json_value_count(json_value_get(row, "cells")), 7);
	row = json_value_first(json_value_get(row, "cells"));
	assert_string_equal(json_value_text(row), "bank");
	row = json_value_next(row);
	assert_string_equal(json_value_text(row), "vault");
	row = json_value_next(row);
	assert_string_equal(json_value_text(row), "b");
	row = json_value_next(row);
	assert_string_equal(json_value_text(row), "Fresh");
}

static void what_is_not_known_is_null(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(4096);
	struct node_object node = { .load = { .cpu_used_cores = NAN,
					    .cpu_cores = 4 } };
	const struct api_item item = { .kind = API_NODE_LOADS,
		.namespace = "",
		.name = "a",
		.object = &node };
	struct json j = json_into(&out);
	struct field_cells *cells;

	(void)state;
	assert_int_equal(field_cells_parse(&cells,
				 "status.cpu.usedCores,status.cpu.cores,"
				 "status.hottest,timestamp,metadata.name,"
				 "status.hugepages",
				 API_NODE_LOADS, NULL),
		0);
	field_cells_write(&j, cells, &item);
	assert_string_equal(out.data,
		"{\"cells\":[null,4,null,null,\"a\",[]]}");
	field_cells_free(cells);
}

static void a_field_that_does_not_exist_is_named(void **state)
{
	static const char *const fields[] = { "", "status", "status.cpu",
		"status.cpu.usedcores", "status.cpu.usedCores.x",
		"metadata.namespace", "metadata.name,", "status..cpu", "." };
	scoped_buffer struct buffer many = BUFFER_MAX(4096);
	struct field_cells *cells;
	struct error error;

	(void)state;
	for (size_t i = 0; i < count_of(fields); i++) {
		assert_int_equal(field_cells_parse(&cells, fields[i],
					 API_NODE_LOADS, &error),
			-EINVAL);
		assert_non_null(
			strstr(error.text, "' is not a field of nodeloads"));
	}
	for (int i = 0; i < FIELD_CELLS_MAX; i++) {
		buffer_text(&many, i == 0 ? "timestamp" : ",timestamp");
	}
	assert_int_equal(
		field_cells_parse(&cells, many.data, API_VM_LOADS, NULL), 0);
	field_cells_free(cells);
	buffer_text(&many, ",timestamp");
	assert_int_equal(
		field_cells_parse(&cells, many.data, API_VM_LOADS, &error),
		-EINVAL);
	assert_string_equal(error.text, "fields: more than 32");
}

/* Reads the one object that the query names, from its text. */
static void read_one(struct fixture *f, const struct load_query *query)
{
	scoped_buffer struct buffer out = BUFFER_MAX(65536);
	struct json j = json_into(&out);
	struct load_list *one = load_list_new(&f->view, query);

	assert_true(load_list_write_one(&j, one));
	load_list_free(one);
	assert_int_equal(json_value_parse(&f->answer, out.data, out.len, NULL),
		0);
}

static void one_object_is_found_by_its_name(void **state)
{
	scoped_buffer struct buffer out = BUFFER_MAX(65536);
	struct fixture *f = *state;
	struct load_query query = all_of(API_VM_LOADS);
	struct json j = json_into(&out);
	struct load_list *none;

	query.namespace = "shop";
	query.name = "web";
	read_one(f, &query);
	assert_string_equal(json_value_text_at(f->answer, "kind", ""),
		"VmLoad");
	assert_null(json_value_get(f->answer, "rows"));
	query.namespace = "bank";
	none = load_list_new(&f->view, &query);
	assert_false(load_list_write_one(&j, none));
	load_list_free(none);
}

static void one_object_in_a_table_is_its_only_row(void **state)
{
	struct fixture *f = *state;
	struct load_query query = all_of(API_VM_LOADS);

	query.namespace = "shop";
	query.name = "api";
	query.form = ACCEPT_TABLE;
	read_one(f, &query);
	assert_string_equal(json_value_text_at(f->answer, "kind", ""), "Table");
	assert_int_equal(json_value_count(json_value_get(f->answer, "rows")),
		1);
	assert_non_null(json_value_get(f->answer, "metadata"));
}

/* vault is the second of three VMs of its node. */
static void a_vm_has_the_load_of_its_own_pod(void **state)
{
	struct fixture *f = *state;
	struct load_query query = all_of(API_VM_LOADS);
	const struct json_value *vault =
		json_value_first(json_value_get(list(f, &query), "items"));
	const struct json_value *pods = json_value_at(vault, "status/pods");

	assert_int_equal(json_value_count(pods), 1);
	assert_string_equal(
		json_value_text_at(json_value_first(pods), "uid", ""),
		"vault-1");
}

static void a_node_counts_its_vms_with_and_without_names(void **state)
{
	static const double counts[] = { 2, 0, 3 };
	struct fixture *f = *state;
	struct load_query query = all_of(API_NODE_LOADS);
	const struct json_value *node =
		json_value_first(json_value_get(list(f, &query), "items"));

	for (size_t i = 0; i < count_of(counts); i++) {
		double count = -1;

		assert_true(json_value_number(&count,
			json_value_at(node, "status/vmCount")));
		assert_true(count == counts[i]);
		node = json_value_next(node);
	}
}

static void a_vm_has_its_reach_and_what_is_not_known_is_missing(void **state)
{
	static const char *const cases[][2] = {
		{ "status.reachableNodes=0", "web " },
		{ "status.reachableNodes=12", "api " },
		{ "status.reachableNodes!=0", "vault api " },
		{ "status.reachableNodes=18446744073709551615", "" },
	};
	struct fixture *f = *state;
	struct load_query query = all_of(API_VM_LOADS);

	f->view.reach = (const struct vm_reach *)f;
	(void)list(f, &query);
	query.form = ACCEPT_TABLE;
	(void)list(f, &query);
	for (size_t i = 0; i < count_of(cases); i++) {
		query = all_of(API_VM_LOADS);
		assert_int_equal(
			selector_parse_fields(&query.fields, cases[i][0], NULL),
			0);
		assert_names(list(f, &query), cases[i][1]);
	}
}

#define LIST_TEST(name) golden_test(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIST_TEST(nodes_come_by_name),
		LIST_TEST(a_vm_is_one_object_also_while_it_moves),
		LIST_TEST(selectors_choose),
		LIST_TEST(a_page_of_selected_objects_tells_if_more_follow),
		LIST_TEST(long_selectors_are_matched_in_turns_of_the_loop),
		LIST_TEST(a_namespace_has_only_its_vms),
		LIST_TEST(pages_follow_each_other_by_name),
		LIST_TEST(a_page_goes_on_after_a_node_that_left),
		LIST_TEST(a_table_has_a_cell_for_each_column),
		LIST_TEST(a_table_of_fields_has_their_values_alone),
		LIST_TEST(what_is_not_known_is_null),
		LIST_TEST(a_field_that_does_not_exist_is_named),
		LIST_TEST(one_object_is_found_by_its_name),
		LIST_TEST(one_object_in_a_table_is_its_only_row),
		LIST_TEST(a_vm_has_the_load_of_its_own_pod),
		LIST_TEST(a_node_counts_its_vms_with_and_without_names),
		LIST_TEST(a_vm_has_its_reach_and_what_is_not_known_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
