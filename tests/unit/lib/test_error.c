#include "lib/error.h"

#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static void code_and_sentence_are_set_and_the_code_comes_back(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		error_set(&err, -EBADMSG, "no '%s' line %d", "some", 3),
		-EBADMSG);
	assert_int_equal(err.code, -EBADMSG);
	assert_string_equal(err.text, "no 'some' line 3");
}

static void an_errno_is_the_code_and_the_end_of_the_sentence(void **state)
{
	struct error err = { 0 };

	(void)state;
	errno = ENOENT;
	assert_int_equal(error_errno(&err, "cannot open '%s'", "x"), -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_string_equal(err.text,
		"cannot open 'x': No such file or directory");
}

static void a_failure_without_errno_is_still_a_failure(void **state)
{
	struct error err = { 0 };

	(void)state;
	errno = 0;
	assert_int_equal(error_errno(&err, "cannot read"), -EIO);
	assert_int_equal(err.code, -EIO);
}

static void context_goes_before_the_cause(void **state)
{
	struct error err = { 0 };

	(void)state;
	(void)error_set(&err, -EBADMSG, "bad 'full' line");
	assert_int_equal(error_wrap(&err, -EINVAL, "%s", "cpu.pressure"),
		-EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_string_equal(err.text, "cpu.pressure: bad 'full' line");
	(void)error_wrap(&err, -EINVAL, "pod %d", 7);
	assert_string_equal(err.text, "pod 7: cpu.pressure: bad 'full' line");
}

static void nobody_has_to_want_the_sentence(void **state)
{
	(void)state;
	errno = EACCES;
	assert_int_equal(error_set(NULL, -EFBIG, "x"), -EFBIG);
	assert_int_equal(error_errno(NULL, "x"), -EACCES);
	assert_int_equal(error_wrap(NULL, -ENODEV, "x"), -ENODEV);
}

static void what_is_too_long_is_cut_at_the_end(void **state)
{
	char text[2 * sizeof(((struct error *)NULL)->text)];
	struct error err = { 0 };

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)error_set(&err, -EINVAL, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	(void)error_wrap(&err, -EINVAL, "before");
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "before: aaa", 11);
	errno = ENOENT;
	(void)error_errno(&err, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	(void)error_wrap(&err, -EINVAL, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			code_and_sentence_are_set_and_the_code_comes_back),
		cmocka_unit_test(
			an_errno_is_the_code_and_the_end_of_the_sentence),
		cmocka_unit_test(a_failure_without_errno_is_still_a_failure),
		cmocka_unit_test(context_goes_before_the_cause),
		cmocka_unit_test(nobody_has_to_want_the_sentence),
		cmocka_unit_test(what_is_too_long_is_cut_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
