#include "aggregator/live/identity.h"

#include "kube/json_value.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <string.h>

#define POD(meta) "{\"metadata\":{\"namespace\":\"ns\"," meta "}}"
#define DOMAIN "\"annotations\":{\"kubevirt.io/domain\":\"vm1\"}"
#define CREATED "\"labels\":{\"kubevirt.io/created-by\":\"u-1\"}"

static bool read_pod(struct identity *out, struct json_value **root,
	const char *text)
{
	struct error error;

	assert_int_equal(json_value_parse(root, text, strlen(text), &error), 0);
	return identity_read(out, *root);
}

static void reads_the_vm_of_a_launcher_pod(void **state)
{
	struct identity id;
	struct json_value *root = NULL;

	(void)state;
	assert_true(read_pod(&id, &root, POD(DOMAIN "," CREATED)));
	assert_string_equal(id.namespace, "ns");
	assert_string_equal(id.name, "vm1");
	assert_string_equal(id.vmi_uid, "u-1");
	json_value_free(root);
	/* The label is optional. */
	assert_true(read_pod(&id, &root, POD(DOMAIN)));
	assert_string_equal(id.vmi_uid, "");
	json_value_free(root);
}

static void rejects_a_pod_that_names_no_vm(void **state)
{
	static const char *const pods[] = { "{}", "[]", "{\"metadata\":{}}",
		POD("\"annotations\":{}"), POD("\"annotations\":[1]"),
		POD("\"annotations\":{\"kubevirt.io/domain\":7}"),
		POD("\"annotations\":{\"kubevirt.io/domain\":\"\"}"),
		POD("\"annotations\":{\"kubevirt.io/domain\":\"a b\"}"),
		POD("\"annotations\":{\"kubevirt.io/domain\":\"\u00fc\"}"),
		"{\"metadata\":{" DOMAIN "}}" };
	char name[300] = { 0 };
	struct identity id;
	struct json_value *root = NULL;
	char *text;

	(void)state;
	for (size_t i = 0; i < count_of(pods); i++) {
		assert_false(read_pod(&id, &root, pods[i]));
		json_value_free(root);
	}
	for (size_t len = 253; len <= 254; len++) {
		memset(name, 'x', len);
		text = xasprintf(
			POD("\"annotations\":{\"kubevirt.io/domain\":\"%s\"}"),
			name);
		assert_int_equal(read_pod(&id, &root, text), len == 253);
		json_value_free(root);
		scoped_free_run(&text);
	}
}

static void the_last_put_wins(void **state)
{
	struct identities *all = identities_new();

	(void)state;
	assert_null(identities_find(all, "p1", "n1"));
	assert_null(identities_find(NULL, "p1", "n1"));
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	identities_put(all, "p2", &(struct identity){ "ns", "b", "u", "n1" });
	identities_put(all, "p1", &(struct identity){ "ns", "c", "", "n1" });
	assert_string_equal(identities_find(all, "p1", "n1")->name, "c");
	assert_int_equal(identities_count(all), 2);
	identities_remove(all, "p1");
	identities_remove(all, "p1");
	assert_null(identities_find(all, "p1", "n1"));
	assert_string_equal(identities_find(all, "p2", "n1")->name, "b");
	assert_int_equal(identities_count(all), 1);
	identities_free(all);
}

static void a_pod_has_its_identity_on_its_own_node_only(void **state)
{
	struct identities *all = identities_new();

	(void)state;
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "" });
	assert_null(identities_find(all, "p1", ""));
	assert_null(identities_find(all, "p1", "n1"));
	assert_null(identities_node(all, "p1"));
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	assert_string_equal(identities_find(all, "p1", "n1")->name, "a");
	assert_null(identities_find(all, "p1", "n2"));
	assert_string_equal(identities_node(all, "p1"), "n1");
	assert_null(identities_node(all, "p2"));
	assert_null(identities_node(NULL, "p1"));
	identities_free(all);
}

static bool count_saved(void *owner, const char *pod_uid,
	const struct identity *identity)
{
	int *left = owner;

	assert_string_equal(identity->namespace, "ns");
	assert_int_equal(pod_uid[0], 'p');
	*left -= 1;
	return *left >= 0;
}

/* Returns how many were saved. */
static int save_all(struct identities *all)
{
	int left = 100;

	assert_true(identities_save(all, count_saved, &left));
	return 100 - left;
}

static void saves_each_identity_once_and_when_it_changes(void **state)
{
	struct identities *all = identities_new();
	int left = 2;

	(void)state;
	assert_int_equal(save_all(all), 0);
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	identities_put(all, "p2", &(struct identity){ "ns", "b", "u", "n1" });
	identities_put(all, "p3", &(struct identity){ "ns", "c", "u", "n1" });
	assert_false(identities_save(all, count_saved, &left));
	assert_int_equal(save_all(all), 1);
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	assert_int_equal(save_all(all), 0);
	identities_put(all, "p1", &(struct identity){ "ns", "b", "u", "n1" });
	assert_int_equal(save_all(all), 1);
	identities_remove(all, "p1");
	assert_int_equal(save_all(all), 0);
	identities_free(all);
}

static void saves_a_pod_when_it_has_a_node(void **state)
{
	struct identities *all = identities_new();

	(void)state;
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "" });
	identities_put(all, "p2", &(struct identity){ "ns", "b", "u", "" });
	assert_int_equal(save_all(all), 0);
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	assert_int_equal(save_all(all), 1);
	identities_unsave(all);
	assert_int_equal(save_all(all), 1);
	identities_remove(all, "p2");
	identities_remove(all, "p1");
	assert_int_equal(identities_entries(all), 0);
	assert_int_equal(save_all(all), 0);
	identities_free(all);
}

static void saves_all_again_after_a_failure(void **state)
{
	struct identities *all = identities_new();

	(void)state;
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	identities_put(all, "p2", &(struct identity){ "ns", "b", "u", "n1" });
	assert_int_equal(save_all(all), 2);
	identities_put(all, "p3", &(struct identity){ "ns", "c", "u", "n1" });
	identities_unsave(all);
	assert_int_equal(save_all(all), 3);
	assert_int_equal(save_all(all), 0);
	identities_free(all);
}

/* The history of a short-lived VM is found by what is saved. */
static void saves_a_pod_that_was_removed_before(void **state)
{
	struct identities *all = identities_new();

	(void)state;
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	identities_put(all, "p2", &(struct identity){ "ns", "b", "u", "n1" });
	identities_remove(all, "p1");
	identities_remove(all, "p2");
	identities_remove(all, "p2");
	assert_int_equal(identities_count(all), 0);
	assert_null(identities_find(all, "p1", "n1"));
	/* Listed again meanwhile. */
	identities_put(all, "p2", &(struct identity){ "ns", "b", "u", "n1" });
	assert_int_equal(identities_count(all), 1);
	assert_int_equal(save_all(all), 2);
	assert_int_equal(save_all(all), 0);
	assert_int_equal(identities_count(all), 1);
	assert_non_null(identities_find(all, "p2", "n1"));
	identities_free(all);
}

static void a_held_pod_has_the_identity_that_is_put_later(void **state)
{
	struct identities *all = identities_new();
	struct identity_ref *ref = identities_hold(all, "p1");
	struct identity_ref *same = identities_hold(all, "p1");

	(void)state;
	assert_ptr_equal(ref, same);
	assert_null(identity_ref_get(ref, "n1"));
	assert_null(identity_ref_node(ref));
	assert_null(identities_find(all, "p1", "n1"));
	assert_int_equal(identities_count(all), 0);
	assert_int_equal(save_all(all), 0);
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	assert_string_equal(identity_ref_get(ref, "n1")->name, "a");
	assert_null(identity_ref_get(ref, "n2"));
	identities_put(all, "p1", &(struct identity){ "ns", "b", "u", "n2" });
	assert_string_equal(identity_ref_get(ref, "n2")->name, "b");
	assert_string_equal(identity_ref_node(ref), "n2");
	assert_int_equal(identities_count(all), 1);
	assert_int_equal(save_all(all), 1);
	identities_release(all, "p1", same);
	identities_remove(all, "p1");
	assert_null(identity_ref_get(ref, "n2"));
	assert_int_equal(identities_count(all), 0);
	identities_unsave(all);
	assert_int_equal(save_all(all), 0);
	identities_put(all, "p1", &(struct identity){ "ns", "c", "u", "n1" });
	assert_string_equal(identity_ref_get(ref, "n1")->name, "c");
	identities_release(all, "p1", ref);
	identities_release(all, "p9", NULL);
	assert_string_equal(identities_find(all, "p1", "n1")->name, "c");
	identities_free(all);
}

static void texts_may_be_longer_or_shorter_than_those_before(void **state)
{
	struct identities *all = identities_new();
	struct identity_ref *ref = identities_hold(all, "p1");
	char longest[IDENTITY_TEXT_MAX + 1];

	(void)state;
	memset(longest, 'x', IDENTITY_TEXT_MAX);
	longest[IDENTITY_TEXT_MAX] = '\0';
	for (int i = 0; i < 2; i++) {
		const struct identity *found;

		identities_put(all, "p1",
			&(struct identity){ longest, longest, longest, "n1" });
		found = identity_ref_get(ref, "n1");
		assert_string_equal(found->namespace, longest);
		assert_string_equal(found->name, longest);
		assert_string_equal(found->vmi_uid, longest);
		identities_put(all, "p1",
			&(struct identity){ "ns", "a", "", longest });
		found = identity_ref_get(ref, longest);
		assert_string_equal(found->name, "a");
		assert_string_equal(found->vmi_uid, "");
		identities_put(all, "p1",
			&(struct identity){ "ns", "a", "u", "n1" });
		assert_string_equal(identity_ref_get(ref, "n1")->vmi_uid, "u");
	}
	identities_release(all, "p1", ref);
	identities_free(all);
}

/* It is saved before, and stays in the table for those that hold it. */
static void a_held_pod_may_be_removed_before_it_is_saved(void **state)
{
	struct identities *all = identities_new();
	struct identity_ref *ref = identities_hold(all, "p1");

	(void)state;
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "n1" });
	identities_remove(all, "p1");
	assert_null(identity_ref_get(ref, "n1"));
	assert_int_equal(save_all(all), 1);
	assert_int_equal(identities_count(all), 0);
	assert_null(identity_ref_get(ref, "n1"));
	assert_ptr_equal(identities_hold(all, "p1"), ref);
	identities_release(all, "p1", ref);
	identities_release(all, "p1", ref);
	assert_null(identities_find(all, "p1", "n1"));
	identities_free(all);
}

static void knows_whether_a_vm_has_a_pod(void **state)
{
	struct identities *all = identities_new();

	(void)state;
	assert_false(identities_are_complete(NULL));
	assert_false(identities_are_complete(all));
	identities_set_complete(all);
	assert_true(identities_are_complete(all));
	assert_false(identities_have_vm(all, "ns", "a"));
	identities_put(all, "p1", &(struct identity){ "ns", "a", "u", "" });
	identities_put(all, "p2", &(struct identity){ "ns", "b", "u", "n1" });
	identities_release(all, "p3", identities_hold(all, "p3"));
	assert_true(identities_have_vm(all, "ns", "a"));
	assert_true(identities_have_vm(all, "ns", "b"));
	assert_false(identities_have_vm(all, "ns", "u"));
	assert_false(identities_have_vm(all, "other", "a"));
	identities_remove(all, "p1");
	identities_remove(all, "p2"); /* waits to be saved */
	assert_false(identities_have_vm(all, "ns", "a"));
	assert_false(identities_have_vm(all, "ns", "b"));
	identities_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_vm_of_a_launcher_pod),
		cmocka_unit_test(rejects_a_pod_that_names_no_vm),
		cmocka_unit_test(the_last_put_wins),
		cmocka_unit_test(a_pod_has_its_identity_on_its_own_node_only),
		cmocka_unit_test(saves_a_pod_that_was_removed_before),
		cmocka_unit_test(saves_each_identity_once_and_when_it_changes),
		cmocka_unit_test(saves_a_pod_when_it_has_a_node),
		cmocka_unit_test(saves_all_again_after_a_failure),
		cmocka_unit_test(a_held_pod_has_the_identity_that_is_put_later),
		cmocka_unit_test(
			texts_may_be_longer_or_shorter_than_those_before),
		cmocka_unit_test(a_held_pod_may_be_removed_before_it_is_saved),
		cmocka_unit_test(knows_whether_a_vm_has_a_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
