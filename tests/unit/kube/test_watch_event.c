#include "kube/watch_event.h"

#include "kube/json_value.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

#define OBJECT "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"9\"}}"

static void distinguishes_the_types_of_events(void **state)
{
	static const struct {
		const char *line;
		enum watch_event_type type;
		const char *version;
		const char *message;
	} cases[] = {
		{ "{\"type\":\"ADDED\",\"object\":" OBJECT "}", WATCH_CHANGED,
			"9", "" },
		{ "{\"type\":\"MODIFIED\",\"object\":" OBJECT "}",
			WATCH_CHANGED, "9", "" },
		{ "{\"type\":\"DELETED\",\"object\":" OBJECT "}", WATCH_DELETED,
			"9", "" },
		{ "{\"type\":\"BOOKMARK\",\"object\":" OBJECT "}",
			WATCH_BOOKMARK, "9", "" },
		{ "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
		  "\"message\":\"too old resource version: 1 (9)\","
		  "\"reason\":\"Expired\",\"code\":410}}",
			WATCH_EXPIRED, "", "too old resource version: 1 (9)" },
		{ "{\"type\":\"ERROR\",\"object\":{\"code\":500,"
		  "\"message\":\"etcd is gone\"}}",
			WATCH_ERROR, "", "etcd is gone" },
		{ "{\"type\":\"ERROR\",\"object\":{}}", WATCH_ERROR, "",
			"the API server gave no reason" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct watch_event event;

		assert_int_equal(watch_event_parse(&event, cases[i].line,
					 strlen(cases[i].line), NULL),
			0);
		assert_int_equal(event.type, cases[i].type);
		assert_string_equal(event.resource_version, cases[i].version);
		assert_string_equal(event.message, cases[i].message);
		assert_true(json_value_is_object(event.object));
		watch_event_fini(&event);
	}
}

static void expect_refused(int result, const char *text)
{
	if (result != -EBADMSG) {
		fail_msg("taken: %s", text);
	}
}

static void refuses_anything_but_an_event(void **state)
{
	static const char *const lines[] = {
		"",
		"nonsense",
		"[]",
		"{\"type\":\"ADDED\"}",
		"{\"type\":\"ADDED\",\"object\":[]}",
		"{\"object\":" OBJECT "}",
		"{\"type\":\"added\",\"object\":" OBJECT "}",
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}",
		"{\"type\":\"ADDED\",\"object\":" OBJECT "} {}",
	};

	(void)state;
	for (size_t i = 0; i < count_of(lines); i++) {
		struct watch_event event = { 0 };
		struct error err = { 0 };

		expect_refused(watch_event_parse(&event, lines[i],
				       strlen(lines[i]), &err),
			lines[i]);
		assert_non_null(strstr(err.text, "watch event"));
		assert_null(event.root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distinguishes_the_types_of_events),
		cmocka_unit_test(refuses_anything_but_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
