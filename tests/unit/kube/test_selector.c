#include "kube/selector.h"

#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

/* An object with labels a=1 and b="". */
static bool has(const void *owner, const char *key,
	const struct selector_values *values)
{
	const char *own = strcmp(key, "a") == 0 ? "1"
		: strcmp(key, "b") == 0		? ""
						: NULL;

	(void)owner;
	return selector_values_have(values, own);
}

static const struct selector_object object = { has, NULL };

static bool matches(
	int (*parse)(struct selector *, const char *, struct error *),
	const char *text)
{
	struct selector selector = { 0 };
	bool result;

	assert_int_equal(parse(&selector, text, NULL), 0);
	result = selector_matches(&selector, &object);
	selector_fini(&selector);
	return result;
}

static void labels_match_by_every_operator(void **state)
{
	static const char *const right[] = { "", " ", "a=1", "a==1", "a = 1",
		"a!=2", "c!=1", "a in (1)", "a in (0, 1)", "c notin (1,2)",
		"a notin (2)", "a", "b", "b=", "!c", "! c", "a=1,!c,b",
		"a in (1),b notin (2)", "b in ()" };
	static const char *const wrong[] = { "a=2", "a!=1", "a in (2)",
		"a notin (1)", "c", "!a", "a=1,c", "c in (1)", "b!=" };

	(void)state;
	for (size_t i = 0; i < count_of(right); i++) {
		assert_true(matches(selector_parse_labels, right[i]));
	}
	for (size_t i = 0; i < count_of(wrong); i++) {
		assert_false(matches(selector_parse_labels, wrong[i]));
	}
}

static void fields_match_and_have_escapes(void **state)
{
	(void)state;
	assert_true(matches(selector_parse_fields, "a=1"));
	assert_true(matches(selector_parse_fields, "a==1,c!=x"));
	assert_false(matches(selector_parse_fields, "a=\\=1\\,"));
	assert_false(matches(selector_parse_fields, "a!=1"));
}

static void an_escaped_value_is_read_as_it_was_meant(void **state)
{
	struct selector selector = { 0 };

	(void)state;
	assert_int_equal(
		selector_parse_fields(&selector, "x=a\\,b\\=c\\\\", NULL), 0);
	assert_string_equal(selector_required(&selector, "x"), "a,b=c\\");
	assert_null(selector_required(&selector, "y"));
	selector_fini(&selector);
}

static void text_that_is_no_selector_is_refused(void **state)
{
	static const char *const labels[] = { ",", "a,", "=1", "a in 1",
		"a in (1", "a~1", "a=1 b=2", "!", "a in (1))", "a>1", "(a)" };
	static const char *const fields[] = { "a", "=1", "a=1,", "a!1", "a=\\x",
		"a=b=c", ",a=1" };
	struct selector selector = { 0 };

	(void)state;
	for (size_t i = 0; i < count_of(labels); i++) {
		assert_int_equal(
			selector_parse_labels(&selector, labels[i], NULL),
			-EINVAL);
	}
	for (size_t i = 0; i < count_of(fields); i++) {
		assert_int_equal(
			selector_parse_fields(&selector, fields[i], NULL),
			-EINVAL);
	}
	assert_int_equal(selector.terms.count, 0);
}

static void a_selector_has_limits(void **state)
{
	struct selector selector = { 0 };
	scoped_buffer struct buffer text = BUFFER_MAX(65536);

	(void)state;
	buffer_text(&text, "a in (b");
	for (size_t i = 0; i < SELECTOR_VALUES_MAX; i++) {
		buffer_text(&text, ",b");
	}
	buffer_text(&text, ")");
	assert_int_equal(selector_parse_labels(&selector, text.data, NULL),
		-EINVAL);
	buffer_clear(&text);
	buffer_text(&text, "a");
	for (size_t i = 0; i < SELECTOR_TERMS_MAX; i++) {
		buffer_text(&text, ",a");
	}
	assert_int_equal(selector_parse_labels(&selector, text.data, NULL),
		-EINVAL);
}

/* Since the last look: texts that were compared, lists that were searched. */
static size_t comparisons, searches;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
bool __real_id_list_search(const uint32_t *ids, size_t count, uint32_t id);
bool __wrap_id_list_search(const uint32_t *ids, size_t count, uint32_t id);

int __wrap_strcmp(const char *a, const char *b)
{
	comparisons++;
	return __real_strcmp(a, b);
}

bool __wrap_id_list_search(const uint32_t *ids, size_t count, uint32_t id)
{
	searches++;
	return __real_id_list_search(ids, count, id);
}

/* Each key has the value v; owner counts the keys. */
static bool has_v(const void *owner, const char *key,
	const struct selector_values *values)
{
	size_t *looks = *(size_t *const *)owner;

	(void)key;
	(*looks)++;
	return selector_values_have(values, "v");
}

/* As much as a URL holds. */
static void a_term_costs_one_look_and_one_search(void **state)
{
	enum { TERMS = 58, VALUES = 250 };
	struct selector selector = { 0 };
	scoped_buffer struct buffer text = BUFFER_MAX(1 << 20);
	size_t looks = 0;
	size_t *const counter = &looks;

	(void)state;
	for (int term = 0; term < TERMS; term++) {
		buffer_printf(&text, "%szz notin (a", term == 0 ? "" : ",");
		for (int i = 1; i < VALUES; i++) {
			buffer_printf(&text, ",a%d", i % (1 + term));
		}
		buffer_text(&text, ")");
	}
	assert_int_equal(selector_parse_labels(&selector, text.data, NULL), 0);
	comparisons = 0;
	searches = 0;
	assert_true(selector_matches(&selector,
		&(struct selector_object){ has_v, &counter }));
	assert_int_equal(looks, TERMS);
	assert_int_equal(searches, TERMS);
	assert_in_range(comparisons, 0, TERMS * 4);
	selector_fini(&selector);
}

/* The first term has the last value: the list is not in the order of its ids
 * before it is sorted. */
static void a_value_is_found_among_any_number(void **state)
{
	scoped_buffer struct buffer others = BUFFER_MAX(1 << 16);

	(void)state;
	buffer_text(&others, "x,");
	for (int i = 2; i < SELECTOR_VALUES_MAX; i++) {
		scoped_free char *with =
			xasprintf("c!=1,a in (%s1)", others.data);
		scoped_free char *without =
			xasprintf("a notin (%sx)", others.data);

		assert_true(matches(selector_parse_labels, with));
		assert_true(matches(selector_parse_labels, without));
		buffer_printf(&others, "x%d,", i);
	}
}

static void only_known_fields_are_selected_by(void **state)
{
	struct selector selector = { 0 };
	struct error err;
	size_t place;

	(void)state;
	assert_true(selector_key_place(&place, "a b c", "c"));
	assert_int_equal(place, 2);
	assert_false(selector_key_place(&place, "a b c", "b c"));
	assert_int_equal(
		selector_parse_fields(&selector, "spec.nodeName=n", NULL), 0);
	assert_int_equal(selector_check_keys(&selector,
				 "metadata.name spec.nodeName", NULL),
		0);
	assert_int_equal(selector_check_keys(&selector, "spec.node", &err),
		-EINVAL);
	assert_int_equal(selector_check_keys(&selector, "spec.nodeNames", &err),
		-EINVAL);
	selector_fini(&selector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_match_by_every_operator),
		cmocka_unit_test(fields_match_and_have_escapes),
		cmocka_unit_test(an_escaped_value_is_read_as_it_was_meant),
		cmocka_unit_test(text_that_is_no_selector_is_refused),
		cmocka_unit_test(a_selector_has_limits),
		cmocka_unit_test(a_term_costs_one_look_and_one_search),
		cmocka_unit_test(a_value_is_found_among_any_number),
		cmocka_unit_test(only_known_fields_are_selected_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
