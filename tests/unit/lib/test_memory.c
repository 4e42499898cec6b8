#include "lib/memory.h"

#include "tests/support/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sanitizers read these: memory that cannot be had is NULL, as without them,
 * and no report. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void growing_doubles_and_keeps_the_content(void **state)
{
	uint32_t *items = NULL;
	size_t capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		size_t before = capacity;

		items = xgrow(items, i, &capacity, sizeof(*items));
		assert_true(capacity > i);
		assert_true(capacity == before ||
			capacity == (before == 0 ? 8 : 2 * before));
		items[i] = i * i;
	}
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(items[i], i * i);
	}
	assert_int_equal(capacity, 1024);
	free(items);
}

static void does_not_grow_while_there_is_room(void **state)
{
	size_t capacity = 4;
	scoped_free char *items = xcalloc(capacity, 1);
	const char *before = items;

	(void)state;
	items = xgrow(items, 3, &capacity, 1);
	assert_ptr_equal(items, before);
	assert_int_equal(capacity, 4);
	items = xgrow(items, 4, &capacity, 1);
	items[7] = 'x';
	assert_int_equal(capacity, 8);
}

static void an_array_grows_at_powers_of_two(void **state)
{
	size_t *items = NULL;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		items = xgrow_at(items, i, sizeof(*items));
		items[i] = i;
	}
	for (size_t i = 0; i < 1000; i++) {
		assert_int_equal(items[i], i);
	}
	assert_true(malloc_usable_size(items) >= 1024 * sizeof(*items));
	free(items);
}

static void fresh_memory_is_zeroed_and_never_null(void **state)
{
	scoped_free char *bytes = xcalloc(100, 3);
	scoped_free char *none = xcalloc(0, 3);
	scoped_free char *sizeless = xcalloc(3, 0);
	scoped_free char *shrunk = xrealloc(xcalloc(4, 4), 0, 4);

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		assert_int_equal(bytes[i], 0);
	}
	assert_non_null(none);
	assert_non_null(sizeless);
	assert_non_null(shrunk);
}

static void duplicates_have_their_own_memory(void **state)
{
	const char source[] = "plimsoll";
	scoped_free char *text = xstrdup(source);
	scoped_free char *cut = xstrndup(source, 4);
	scoped_free char *whole = xstrndup(source, 100);
	scoped_free char *bytes = xmemdup(source, sizeof(source));
	scoped_free char *nothing = xmemdup(NULL, 0);
	scoped_free char *made = xasprintf("%s-%d", source, 7);

	(void)state;
	assert_string_equal(text, "plimsoll");
	assert_string_equal(cut, "plim");
	assert_string_equal(whole, "plimsoll");
	assert_memory_equal(bytes, source, sizeof(source));
	assert_non_null(nothing);
	assert_string_equal(made, "plimsoll-7");
}

static void a_taken_pointer_is_not_freed_by_its_scope(void **state)
{
	char *kept;

	(void)state;
	{
		scoped_free char *text = xstrdup("kept");

		kept = take_ptr(text);
		assert_null(text);
	}
	assert_string_equal(kept, "kept");
	free(kept);
}

static void a_scope_closes_its_descriptor(void **state)
{
	int number;

	(void)state;
	{
		scoped_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		scoped_fd int none = -1;

		assert_true(fd >= 0);
		assert_int_equal(none, -1);
		number = fd;
	}
	assert_int_equal(fcntl(number, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
}

/* In a child, because the process aborts. The product exceeds 64 bits, so every
 * allocator fails. */
static void aborts_without_memory(void **state)
{
	volatile size_t much = SIZE_MAX / 2;
	int status = 0;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(STDERR_FILENO);
		free(xrealloc(NULL, much, 16));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void texts_are_placed_one_after_the_other(void **state)
{
	char room[8];
	char *at = room;

	(void)state;
	assert_ptr_equal(place_text(&at, "ab"), room);
	assert_null(place_text(&at, NULL));
	assert_ptr_equal(place_text(&at, ""), room + 3);
	assert_ptr_equal(place_text(&at, "cde"), room + 4);
	assert_ptr_equal(at, room + 8);
	assert_memory_equal(room, "ab\0\0cde", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growing_doubles_and_keeps_the_content),
		cmocka_unit_test(does_not_grow_while_there_is_room),
		cmocka_unit_test(an_array_grows_at_powers_of_two),
		cmocka_unit_test(fresh_memory_is_zeroed_and_never_null),
		cmocka_unit_test(duplicates_have_their_own_memory),
		cmocka_unit_test(texts_are_placed_one_after_the_other),
		cmocka_unit_test(a_taken_pointer_is_not_freed_by_its_scope),
		cmocka_unit_test(a_scope_closes_its_descriptor),
		cmocka_unit_test(aborts_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
