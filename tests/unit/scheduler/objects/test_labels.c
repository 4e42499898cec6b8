#include "scheduler/objects/labels.h"

#include <errno.h>
#include <stdio.h>

#include "tests/unit/scheduler/given.h"

static struct labels labels_of(struct names *names, const char *json)
{
	struct value *object = given_json(json);
	struct labels labels = { 0 };

	assert_int_equal(labels_read(&labels, names, object, NULL), 0);
	value_free(object);
	return labels;
}

/* The text of the key's value; "" if there is no such key. */
static const char *text_of(const struct labels *labels, struct names *names,
	const char *key)
{
	uint32_t number = names_hold(names, key);
	uint32_t value = labels_get(labels, number);

	names_drop(names, number);
	return value != 0 ? names_text(names, value) : "";
}

static bool includes(struct names *names, const struct labels *labels,
	const char *json)
{
	struct labels wanted = labels_of(names, json);
	bool answer = labels_include(labels, &wanted);

	labels_fini(&wanted, names);
	return answer;
}

/* The names of a few others before k0, k1 ...: numbers at unequal distances
 * meet in a slot. */
static void hold_names(struct names *names, int count)
{
	char name[32];

	for (int i = 0; i < count * 11; i++) {
		if (i % 11 == 10) {
			(void)snprintf(name, sizeof(name), "k%d", i / 11);
			(void)names_hold(names, name);
		} else if (i % 11 < i / 11 * (i / 11) % 11) {
			(void)snprintf(name, sizeof(name), "other%d", i);
			(void)names_hold(names, name);
		}
	}
}

static struct labels make_labels(struct names *names, int count)
{
	scoped_buffer struct buffer json = BUFFER_MAX(1 << 16);

	buffer_text(&json, "{");
	for (int i = 0; i < count; i++) {
		buffer_printf(&json, "%s'k%d':'v%d'", i > 0 ? "," : "", i,
			i % 7);
	}
	buffer_text(&json, "}");
	return labels_of(names, json.data);
}

static void check_labels(int count)
{
	struct names *names = names_new();
	struct labels labels;

	hold_names(names, count);
	labels = make_labels(names, count);
	assert_int_equal(labels.count, count);
	for (int i = 0; i < 2 * count + 9; i++) {
		char key[32];
		char value[32] = "";

		(void)snprintf(key, sizeof(key), "k%d", i);
		if (i < count) {
			(void)snprintf(value, sizeof(value), "v%d", i % 7);
		}
		assert_string_equal(text_of(&labels, names, key), value);
	}
	labels_fini(&labels, names);
	names_free(names);
}

static void finds_each_of_any_number_of_labels_and_no_other(void **state)
{
	(void)state;
	for (int count = 0; count < 300; count = count * 5 / 4 + 1) {
		check_labels(count);
	}
}

static void includes_what_has_every_pair(void **state)
{
	struct names *names = names_new();
	struct labels labels = labels_of(names, "{'a':'1','b':'2','c':''}");
	struct labels none = { 0 };

	(void)state;
	assert_true(includes(names, &labels, "{}"));
	assert_true(includes(names, &labels, "{'a':'1'}"));
	assert_true(includes(names, &labels, "{'c':'','a':'1','b':'2'}"));
	assert_false(includes(names, &labels, "{'a':'2'}"));
	assert_false(includes(names, &labels, "{'a':'1','d':'1'}"));
	assert_false(includes(names, &labels, "{'d':''}"));
	assert_true(includes(names, &none, "{}"));
	assert_false(includes(names, &none, "{'a':'1'}"));
	labels_fini(&labels, names);
	names_free(names);
}

static void takes_the_last_of_a_key_that_comes_twice(void **state)
{
	struct names *names = names_new();
	struct labels labels = labels_of(names, "{'a':'1','a':'2','a':'3'}");

	(void)state;
	assert_int_equal(labels.count, 1);
	assert_string_equal(text_of(&labels, names, "a"), "3");
	labels_fini(&labels, names);
	/* No more than two names were ever held at once, and none is now. */
	assert_true(names_hold(names, "new") <= 2);
	assert_true(names_hold(names, "newer") <= 2);
	names_free(names);
}

static void refuses_what_are_no_labels(void **state)
{
	static const char *const wrong[] = { "[]", "'a'", "{'a':1}",
		"{'a':null}" };
	struct names *names = names_new();
	struct labels labels = { 0 };

	(void)state;
	for (size_t i = 0; i < count_of(wrong); i++) {
		struct value *object = given_json(wrong[i]);

		assert_int_equal(labels_read(&labels, names, object, NULL),
			-EBADMSG);
		assert_null(labels.slots);
		value_free(object);
	}
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			finds_each_of_any_number_of_labels_and_no_other),
		cmocka_unit_test(includes_what_has_every_pair),
		cmocka_unit_test(takes_the_last_of_a_key_that_comes_twice),
		cmocka_unit_test(refuses_what_are_no_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
