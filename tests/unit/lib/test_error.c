#include "lib/error.h"

#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static void sets_code_and_sentence_and_returns_the_code(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		error_set(&err, -EBADMSG, "no '%s' line %d", "some", 3),
		-EBADMSG);
	assert_int_equal(err.code, -EBADMSG);
	assert_string_equal(err.text, "no 'some' line 3");
}

static void errno_gives_the_code_and_the_cause(void **state)
{
	struct error err = { 0 };

	(void)state;
	errno = ENOENT;
	assert_int_equal(error_errno(&err, "cannot open '%s'", "x"), -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_string_equal(err.text,
		"cannot open 'x': No such file or directory");
}

static void a_failure_without_errno_is_eio(void **state)
{
	struct error err = { 0 };

	(void)state;
	errno = 0;
	assert_int_equal(error_errno(&err, "cannot read"), -EIO);
	assert_int_equal(err.code, -EIO);
}

static void context_precedes_the_cause(void **state)
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

static void accepts_null_for_the_sentence(void **state)
{
	(void)state;
	errno = EACCES;
	assert_int_equal(error_set(NULL, -EFBIG, "x"), -EFBIG);
	assert_int_equal(error_errno(NULL, "x"), -EACCES);
	assert_int_equal(error_wrap(NULL, -ENODEV, "x"), -ENODEV);
}

static void truncates_a_long_sentence(void **state)
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
		cmocka_unit_test(sets_code_and_sentence_and_returns_the_code),
		cmocka_unit_test(errno_gives_the_code_and_the_cause),
		cmocka_unit_test(a_failure_without_errno_is_eio),
		cmocka_unit_test(context_precedes_the_cause),
		cmocka_unit_test(accepts_null_for_the_sentence),
		cmocka_unit_test(truncates_a_long_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
