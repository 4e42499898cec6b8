#include "aggregator/apiserver/page_token.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

static void a_token_gives_its_key_back(void **state)
{
	scoped_free char *token =
		page_token_write(0x1fffffffffffff, "vmloads", "shop/web-1");
	char key[PAGE_KEY_MAX];

	(void)state;
	assert_int_equal(
		page_token_read(key, token, 0x1fffffffffffff, "vmloads", NULL),
		0);
	assert_string_equal(key, "shop/web-1");
}

static void no_token_is_the_begin_of_the_list(void **state)
{
	char key[PAGE_KEY_MAX] = "x";

	(void)state;
	assert_int_equal(page_token_read(key, NULL, 1, "moves", NULL), 0);
	assert_string_equal(key, "");
	assert_int_equal(page_token_read(key, "", 1, "moves", NULL), 0);
}

static void a_token_of_another_process_is_expired(void **state)
{
	scoped_free char *token = page_token_write(17, "moves", "1-2");
	char key[PAGE_KEY_MAX];
	struct error err;

	(void)state;
	assert_int_equal(page_token_read(key, token, 18, "moves", &err),
		-ESTALE);
	assert_non_null(strstr(err.text, "start the list again"));
}

static void a_token_of_another_list_is_wrong(void **state)
{
	scoped_free char *token = page_token_write(17, "moves", "1-2");
	char key[PAGE_KEY_MAX];

	(void)state;
	assert_int_equal(page_token_read(key, token, 17, "decisions", NULL),
		-EINVAL);
}

static void text_that_is_no_token_is_wrong(void **state)
{
	static const char *const texts[] = { "x", "====", "a b", "MSAx",
		"MSAxMSBtb3Zlcw==", "+/", "MiAxMSBtb3ZlcyBr" };
	char key[PAGE_KEY_MAX];

	(void)state;
	for (size_t i = 0; i < count_of(texts); i++) {
		assert_int_equal(
			page_token_read(key, texts[i], 17, "moves", NULL),
			-EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_gives_its_key_back),
		cmocka_unit_test(no_token_is_the_begin_of_the_list),
		cmocka_unit_test(a_token_of_another_process_is_expired),
		cmocka_unit_test(a_token_of_another_list_is_wrong),
		cmocka_unit_test(text_that_is_no_token_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
