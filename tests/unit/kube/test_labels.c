#include "kube/labels.h"

#include "lib/buffer.h"
#include "tests/support/given_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct labels labels_of(struct interner *interner, const char *json)
{
	struct json_value *object = given_json(json);
	struct labels labels = { 0 };

	assert_int_equal(labels_read(&labels, interner, object, NULL), 0);
	json_value_free(object);
	return labels;
}

/* The value of the key; "" without such a key. */
static const char *text_of(const struct labels *labels,
	struct interner *interner, const char *key)
{
	uint32_t number = interner_hold(interner, key);
	uint32_t value = labels_get(labels, number);

	interner_drop(interner, number);
	return value != 0 ? interner_text(interner, value) : "";
}

static bool includes(struct interner *interner, const struct labels *labels,
	const char *json)
{
	struct labels wanted = labels_of(interner, json);
	bool answer = labels_include(labels, &wanted);

	labels_fini(&wanted, interner);
	return answer;
}

static void hold(struct interner *interner, const char *name)
{
	(void)interner_hold(interner, name);
}

static void drop(struct interner *interner, const char *name)
{
	interner_drop(interner, interner_find(interner, name));
}

/* Other strings are interned before k0, k1 ...: ids at unequal distances
 * collide in a slot. */
static void visit_names(struct interner *interner, int count,
	void (*visit)(struct interner *interner, const char *name))
{
	char name[32];

	for (int i = 0; i < count * 11; i++) {
		if (i % 11 == 10) {
			(void)snprintf(name, sizeof(name), "k%d", i / 11);
			visit(interner, name);
		} else if (i % 11 < i / 11 * (i / 11) % 11) {
			(void)snprintf(name, sizeof(name), "other%d", i);
			visit(interner, name);
		}
	}
}

static struct labels make_labels(struct interner *interner, int count)
{
	scoped_buffer struct buffer json = BUFFER_MAX(1 << 16);

	buffer_text(&json, "{");
	for (int i = 0; i < count; i++) {
		buffer_printf(&json, "%s'k%d':'v%d'", i > 0 ? "," : "", i,
			i % 7);
	}
	buffer_text(&json, "}");
	return labels_of(interner, json.data);
}

static void check_labels(int count)
{
	struct interner *interner = interner_new();
	struct labels labels;

	visit_names(interner, count, hold);
	labels = make_labels(interner, count);
	assert_int_equal(labels.count, count);
	for (int i = 0; i < 2 * count + 9; i++) {
		char key[32];
		char value[32] = "";

		(void)snprintf(key, sizeof(key), "k%d", i);
		if (i < count) {
			(void)snprintf(value, sizeof(value), "v%d", i % 7);
		}
		assert_string_equal(text_of(&labels, interner, key), value);
	}
	labels_fini(&labels, interner);
	visit_names(interner, count, drop);
	interner_free(interner);
}

static void finds_each_of_any_number_of_labels_and_no_other(void **state)
{
	(void)state;
	for (int count = 0; count < 300; count = count * 5 / 4 + 1) {
		check_labels(count);
	}
}

static void includes_a_set_with_the_same_labels(void **state)
{
	struct interner *interner = interner_new();
	struct labels labels = labels_of(interner, "{'a':'1','b':'2','c':''}");
	struct labels none = { 0 };

	(void)state;
	assert_true(includes(interner, &labels, "{}"));
	assert_true(includes(interner, &labels, "{'a':'1'}"));
	assert_true(includes(interner, &labels, "{'c':'','a':'1','b':'2'}"));
	assert_false(includes(interner, &labels, "{'a':'2'}"));
	assert_false(includes(interner, &labels, "{'a':'1','d':'1'}"));
	assert_false(includes(interner, &labels, "{'d':''}"));
	assert_true(includes(interner, &none, "{}"));
	assert_false(includes(interner, &none, "{'a':'1'}"));
	labels_fini(&labels, interner);
	interner_free(interner);
}

static void uses_the_last_of_two_equal_keys(void **state)
{
	struct interner *interner = interner_new();
	struct labels labels = labels_of(interner, "{'a':'1','a':'2','a':'3'}");

	(void)state;
	assert_int_equal(labels.count, 1);
	assert_string_equal(text_of(&labels, interner, "a"), "3");
	labels_fini(&labels, interner);
	/* At most two strings were held at once, and none is held now. */
	assert_true(interner_hold(interner, "new") <= 2);
	assert_true(interner_hold(interner, "newer") <= 2);
	drop(interner, "new");
	drop(interner, "newer");
	interner_free(interner);
}

static void a_set_without_a_key_has_all_others(void **state)
{
	struct interner *interner = interner_new();
	struct labels labels = { 0 };
	struct labels less;
	struct json_value *object =
		given_json("{'a':'1','b':'2','c':'3','d':'4','e':'5'}");
	uint32_t b = interner_hold(interner, "b");
	uint32_t other = interner_hold(interner, "other");

	(void)state;
	assert_int_equal(labels_read(&labels, interner, object, NULL), 0);
	less = labels_without(&labels, b);
	assert_int_equal(less.count, 4);
	assert_int_equal(labels_get(&less, b), 0);
	assert_string_equal(text_of(&less, interner, "a"), "1");
	assert_string_equal(text_of(&less, interner, "e"), "5");
	assert_true(labels_include(&labels, &less));
	assert_false(labels_include(&less, &labels));
	free(less.slots);
	less = labels_without(&labels, other);
	assert_int_equal(less.count, 5);
	free(less.slots);
	interner_drop(interner, b);
	interner_drop(interner, other);
	labels_fini(&labels, interner);
	json_value_free(object);
	interner_free(interner);
}

static void rejects_invalid_labels(void **state)
{
	static const char *const wrong[] = { "[]", "'a'", "{'a':1}",
		"{'a':null}" };
	struct interner *interner = interner_new();
	struct labels labels = { 0 };

	(void)state;
	for (size_t i = 0; i < count_of(wrong); i++) {
		struct json_value *object = given_json(wrong[i]);

		assert_int_equal(labels_read(&labels, interner, object, NULL),
			-EBADMSG);
		assert_null(labels.slots);
		json_value_free(object);
	}
	interner_free(interner);
}

static void a_copy_is_a_set_of_its_own(void **state)
{
	struct interner *interner = interner_new();
	struct labels from = labels_of(interner, "{'a':'1','b':'2','c':'3'}");
	struct labels copy = labels_copy(&from, interner, 2);

	(void)state;
	assert_int_equal(copy.count, 3);
	labels_fini(&from, interner);
	labels_put(&copy, interner, "d", "4");
	labels_put(&copy, interner, "e", "5");
	assert_int_equal(copy.count, 5);
	assert_true(includes(interner, &copy,
		"{'a':'1','b':'2','c':'3','d':'4','e':'5'}"));
	labels_fini(&copy, interner);
	assert_int_equal(interner_find(interner, "a"), 0);
	assert_int_equal(interner_find(interner, "3"), 0);
	assert_int_equal(interner_find(interner, "e"), 0);
	interner_free(interner);
}

static void no_labels_are_an_empty_set(void **state)
{
	struct interner *interner = interner_new();
	struct json_value *null = given_json("null");
	const struct json_value *const objects[] = { NULL, null };

	(void)state;
	for (size_t i = 0; i < count_of(objects); i++) {
		struct labels labels;

		memset(&labels, 0x5a, sizeof(labels));
		assert_int_equal(
			labels_read(&labels, interner, objects[i], NULL), 0);
		assert_int_equal(labels.count, 0);
		assert_int_equal(labels_get(&labels, 1), 0);
		labels_fini(&labels, interner);
	}
	json_value_free(null);
	interner_free(interner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			finds_each_of_any_number_of_labels_and_no_other),
		cmocka_unit_test(includes_a_set_with_the_same_labels),
		cmocka_unit_test(uses_the_last_of_two_equal_keys),
		cmocka_unit_test(a_set_without_a_key_has_all_others),
		cmocka_unit_test(rejects_invalid_labels),
		cmocka_unit_test(a_copy_is_a_set_of_its_own),
		cmocka_unit_test(no_labels_are_an_empty_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
