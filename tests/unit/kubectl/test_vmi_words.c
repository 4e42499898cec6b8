#include "kubectl/vmi_words.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

/* A VMI that can move, with other members behind its phase. */
#define VMI(more)                                                              \
	"{\"status\":{\"phase\":\"Running\"" more                              \
	",\"conditions\":["                                                    \
	"{\"type\":\"Ready\",\"status\":\"False\"},"                           \
	"{\"type\":\"LiveMigratable\",\"status\":\"True\"}]}}"
#define STATE(more) VMI(",\"migrationState\":{\"migrationUid\":\"u\"" more "}")
/* One that cannot, with what its condition says. */
#define REFUSED(more)                                                          \
	"{\"status\":{\"phase\":\"Running\",\"conditions\":["                  \
	"{\"type\":\"LiveMigratable\",\"status\":\"False\"" more "}]}}"

/* Checks why a VM cannot move; "": it can. */
static void says(const char *text, const char *why)
{
	scoped_buffer struct buffer out = BUFFER_MAX(1000);
	struct json_value *vmi = NULL;

	assert_int_equal(json_value_parse(&vmi, text, strlen(text), NULL), 0);
	buffer_text(&out, "");
	assert_int_equal(vmi_words_can_move(&out, vmi), *why == '\0');
	assert_string_equal(out.len == 0 ? "" : out.data, why);
	json_value_free(vmi);
}

static void a_vm_that_runs_and_is_migratable_can_move(void **state)
{
	(void)state;
	says(VMI(""), "");
	says(STATE(",\"completed\":true"), "");
	says(STATE(",\"failed\":true"), "");
	says(VMI(",\"migrationState\":{\"migrationUid\":\"\"}"), "");
}

static void a_vm_that_stops_moves_or_does_not_run_cannot_move(void **state)
{
	(void)state;
	says("{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
	     "\"status\":{\"phase\":\"Running\"}}",
		"it is being stopped");
	says("{\"status\":{\"phase\":\"Scheduled\"}}",
		"it is not running (Scheduled)");
	says("{}", "it is not running (Pending)");
	says(STATE(""), "it is moving already");
	says(STATE(",\"completed\":false,\"failed\":false"),
		"it is moving already");
}

static void what_kubevirt_says_is_put_into_words(void **state)
{
	(void)state;
	says(REFUSED(",\"reason\":\"HostDeviceNotLiveMigratable\""),
		"it uses a device of its node");
	says(REFUSED(",\"reason\":\"DisksNotLiveMigratable\","
		     "\"message\":\"disk d\""),
		"a disk cannot be reached from another node (disk d)");
	says(REFUSED(",\"reason\":\"New\",\"message\":\"disk\\u001b d\""),
		"disk\\x1b d");
	says(REFUSED(",\"reason\":\"New\""), "New");
	says(REFUSED(""), "KubeVirt does not say that it can");
	says("{\"status\":{\"phase\":\"Running\"}}",
		"KubeVirt does not say that it can");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_that_runs_and_is_migratable_can_move),
		cmocka_unit_test(
			a_vm_that_stops_moves_or_does_not_run_cannot_move),
		cmocka_unit_test(what_kubevirt_says_is_put_into_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
