#include "scheduler/objects/behaviours.h"

#include <errno.h>
#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

static const struct behaviour_overrides none = { 0 };

static void check_on(int minor, const struct behaviour_overrides *overrides,
	const char *expected)
{
	scoped_buffer struct buffer names = BUFFER_MAX(1024);

	behaviours_describe(&names, behaviours_of(minor, overrides));
	assert_string_equal(names.data, expected);
}

static void each_version_has_the_behaviours_of_its_default_gates(void **state)
{
	(void)state;
	check_on(30, &none, "");
	check_on(35, &none, "");
	check_on(36, &none, "declared-features");
	check_on(37, &none,
		"declared-features bind-mount-options resize-by-sums "
		"csi-driver-missing node-name-first gated-nominations");
	assert_int_equal(behaviours_of(38, &none).off, 0);
	assert_int_equal(behaviours_of(BEHAVIOURS_NEWEST, &none).off, 0);
}

static void an_override_wins_over_the_version_and_the_last_one_counts(
	void **state)
{
	struct behaviour_overrides overrides = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(
		behaviours_override(&overrides, "csi-driver-missing=on", &err),
		0);
	assert_int_equal(
		behaviours_override(&overrides, "declared-features=off", &err),
		0);
	check_on(36, &overrides, "csi-driver-missing");
	assert_int_equal(
		behaviours_override(&overrides, "csi-driver-missing=off", &err),
		0);
	check_on(36, &overrides, "");
	check_on(37, &overrides,
		"bind-mount-options resize-by-sums node-name-first "
		"gated-nominations");
}

static void an_override_without_a_row_is_refused(void **state)
{
	static const char *const wrong[] = { "", "resize-by-sums",
		"resize-by-sums=", "resize-by-sums=yes", "resize-by-sum=on",
		"resize-by-sums2=on", "=on" };
	struct behaviour_overrides overrides = { 0 };
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(wrong); i++) {
		assert_int_equal(
			behaviours_override(&overrides, wrong[i], &err),
			-EINVAL);
	}
	assert_int_equal(overrides.on | overrides.off, 0);
	assert_string_equal(err.text,
		"'=on' is not NAME=on or NAME=off with one of these names: "
		"declared-features bind-mount-options resize-by-sums "
		"csi-driver-missing node-name-first gated-nominations");
}

static void reads_the_versions_that_api_servers_report(void **state)
{
	static const struct {
		const char *text;
		int minor; /* -1: not a version */
	} versions[] = {
		{ "v1.36.3", 36 },
		{ "1.37", 37 },
		{ "v1.37.0-rc.1+build", 37 },
		{ "v1.36.2-eks-1a2b", 36 },
		{ "1.30+", 30 },
		{ "v1.99999999999", 9999 },
		{ "", -1 },
		{ "v", -1 },
		{ "v2.1.0", -1 },
		{ "1.", -1 },
		{ "v1.x", -1 },
		{ "v0.0.0-master+$Format:%H$", -1 },
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < count_of(versions); i++) {
		int minor = -1;
		int r = behaviours_read_version(&minor, versions[i].text, &err);

		assert_int_equal(minor, versions[i].minor);
		assert_int_equal(r, versions[i].minor < 0 ? -EINVAL : 0);
	}
	assert_string_equal(err.text,
		"'v0.0.0-master+$Format:%H$' is not a version of Kubernetes, "
		"such as v1.37.2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			each_version_has_the_behaviours_of_its_default_gates),
		cmocka_unit_test(
			an_override_wins_over_the_version_and_the_last_one_counts),
		cmocka_unit_test(an_override_without_a_row_is_refused),
		cmocka_unit_test(reads_the_versions_that_api_servers_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
