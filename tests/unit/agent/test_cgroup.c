#include "agent/cgroup.h"

#include "tests/unit/agent/fixture.h"

#define UID1 "0a1b2c3d-1111-2222-3333-444455556666"
#define UID1_ "0a1b2c3d_1111_2222_3333_444455556666"
#define UID2 "ffffffff-1111-2222-3333-444455556666"
#define UID2_ "ffffffff_1111_2222_3333_444455556666"
#define STATIC_UID "0123456789abcdef0123456789abcdef"

static void parses_pod_names_of_both_drivers(void **state)
{
	static const struct {
		const char *name, *uid;
	} cases[] = {
		{ "pod" UID1, UID1 },
		{ "pod" STATIC_UID, STATIC_UID },
		{ "kubepods-pod" UID1_ ".slice", UID1 },
		{ "kubepods-burstable-pod" UID1_ ".slice", UID1 },
		{ "kubepods-besteffort-pod" UID1_ ".slice", UID1 },
		{ "kubepods-pod" STATIC_UID ".slice", STATIC_UID },
		{ "kubelet-kubepods-burstable-pod" UID1_ ".slice", UID1 },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		char uid[REPORT_UID_MAX] = "";

		assert_true(cgroup_parse_pod(uid, cases[i].name));
		assert_string_equal(uid, cases[i].uid);
	}
}

static void rejects_other_names_as_pods(void **state)
{
	static const char *const names[] = {
		"",
		"pod",
		"burstable",
		"pod" UID1_,
		"pod" UID1 "x",
		"pod" STATIC_UID "0",
		"pod0A1B2C3D-1111-2222-3333-444455556666",
		"pod0a1b2c3d-1111-2222-33334444-55556666",
		"pod" UID1 ".slice",
		"kubepods.slice",
		"kubepods-burstable.slice",
		"kubepods-pod" UID1 ".slice",
		"kubepods-pod" UID1_,
		"kubepods-pod.slice",
		"user-pod" UID1_ ".slice",
		".slice",
		"crio-" STATIC_UID ".scope",
	};

	(void)state;
	for (size_t i = 0; i < count_of(names); i++) {
		char uid[REPORT_UID_MAX] = "";

		assert_false(cgroup_parse_pod(uid, names[i]));
		assert_string_equal(uid, "");
	}
}

static void recognizes_kubepods_with_a_prefix(void **state)
{
	(void)state;
	assert_true(cgroup_is_kubepods("kubepods"));
	assert_true(cgroup_is_kubepods("kubepods.slice"));
	assert_true(cgroup_is_kubepods("kubelet-kubepods.slice"));
	assert_false(cgroup_is_kubepods("mykubepods.slice"));
	assert_false(cgroup_is_kubepods("kubepods-burstable.slice"));
	assert_false(cgroup_is_kubepods("kubepods2"));
	assert_false(cgroup_is_kubepods(""));
}

static void detects_the_cgroup_version(void **state)
{
	static const struct {
		const char *file;
		enum cgroup_mode mode;
	} cases[] = {
		{ "cgroup.controllers", CGROUP_V2 },
		{ "unified/cgroup.controllers", CGROUP_HYBRID },
		{ "memory/memory.stat", CGROUP_V1 },
		{ "cpu,cpuacct/tasks", CGROUP_V1 },
		{ "other/file", CGROUP_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct tree tree;

		tree_make(&tree);
		tree_put(&tree, cases[i].file, "");
		assert_int_equal(cgroup_detect(tree.fd), cases[i].mode);
		tree_fini(&tree);
	}
}

/* Finds the pods in a tree of these directories: "kubepods|uid uid". */
static void assert_finds(const char *const *dirs, const char *expected)
{
	struct tree tree;
	struct cgroup_pods found;
	char text[512];
	size_t len;

	tree_make(&tree);
	for (; *dirs != NULL; dirs++) {
		tree_dir(&tree, *dirs);
	}
	tree_put(&tree, "kubepods-file", "");
	assert_int_equal(cgroup_find_pods(&found, tree.fd, NULL), 0);
	len = (size_t)snprintf(text, sizeof(text), "%s|",
		found.kubepods == NULL ? "" : found.kubepods);
	for (size_t i = 0; i < found.count; i++) {
		assert_true(found.pods[i].inode != 0);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
			i == 0 ? "" : " ", found.pods[i].uid);
	}
	assert_string_equal(text, expected);
	cgroup_pods_fini(&found);
	cgroup_pods_fini(&found);
	tree_fini(&tree);
}

static void finds_pods_of_the_systemd_driver(void **state)
{
	static const char *const dirs[] = {
		"kubepods.slice/kubepods-pod" UID2_ ".slice/crio-1.scope",
		"kubepods.slice/kubepods-burstable.slice/"
		"kubepods-burstable-pod" UID1_ ".slice",
		"kubepods.slice/kubepods-besteffort.slice/"
		"kubepods-besteffort-pod" STATIC_UID ".slice",
		"system.slice/containerd.service",
		NULL,
	};

	(void)state;
	assert_finds(dirs, "kubepods.slice|" STATIC_UID " " UID1 " " UID2);
}

static void finds_pods_of_the_cgroupfs_driver(void **state)
{
	static const char *const dirs[] = {
		"kubepods/pod" UID2,
		"kubepods/burstable/pod" UID1 "/0123",
		"kubepods/besteffort/pod" STATIC_UID,
		NULL,
	};

	(void)state;
	assert_finds(dirs, "kubepods|" STATIC_UID " " UID1 " " UID2);
}

static void finds_kubepods_below_other_cgroups(void **state)
{
	static const char *const kind[] = {
		"system.slice/docker-1.scope/kubelet.slice/"
		"kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
		"kubelet-kubepods-burstable-pod" UID1_ ".slice",
		NULL,
	};
	static const char *const minikube[] = {
		"docker/0123/kubepods/burstable/pod" UID1,
		NULL,
	};
	static const char *const too_deep[] = {
		"a/b/c/d/kubepods/burstable/pod" UID1,
		NULL,
	};
	static const char *const nearest[] = {
		"a/b/kubepods/pod" UID2,
		"z/kubepods/pod" UID1,
		NULL,
	};

	(void)state;
	assert_finds(kind,
		"system.slice/docker-1.scope/kubelet.slice/"
		"kubelet-kubepods.slice|" UID1);
	assert_finds(minikube, "docker/0123/kubepods|" UID1);
	assert_finds(too_deep, "|");
	assert_finds(nearest, "z/kubepods|" UID1);
}

static void prefers_the_driver_that_has_the_pods(void **state)
{
	static const char *const dirs[] = {
		"kubepods/burstable",
		"kubepods.slice/kubepods-pod" UID1_ ".slice",
		NULL,
	};
	static const char *const swapped[] = {
		"kubepods.slice/kubepods-burstable.slice",
		"kubepods/pod" UID1,
		NULL,
	};

	(void)state;
	assert_finds(dirs, "kubepods.slice|" UID1);
	assert_finds(swapped, "kubepods|" UID1);
}

static void finds_at_most_the_pods_that_fit_a_report(void **state)
{
	struct tree tree;
	struct cgroup_pods found;
	char name[64];

	(void)state;
	tree_make(&tree);
	for (unsigned i = 0; i < REPORT_VMS_MAX + 2; i++) {
		(void)snprintf(name, sizeof(name), "kubepods/pod%032x", i);
		tree_dir(&tree, name);
	}
	assert_int_equal(cgroup_find_pods(&found, tree.fd, NULL), 0);
	assert_int_equal(found.count, REPORT_VMS_MAX);
	cgroup_pods_fini(&found);
	tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_pod_names_of_both_drivers),
		cmocka_unit_test(rejects_other_names_as_pods),
		cmocka_unit_test(recognizes_kubepods_with_a_prefix),
		cmocka_unit_test(detects_the_cgroup_version),
		cmocka_unit_test(finds_pods_of_the_systemd_driver),
		cmocka_unit_test(finds_pods_of_the_cgroupfs_driver),
		cmocka_unit_test(finds_kubepods_below_other_cgroups),
		cmocka_unit_test(prefers_the_driver_that_has_the_pods),
		cmocka_unit_test(finds_at_most_the_pods_that_fit_a_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
