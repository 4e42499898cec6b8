#include "scheduler/objects/consent.h"

#include "lib/memory.h"
#include "scheduler/cluster/cluster.h"
#include "tests/unit/scheduler/given.h"

static enum consent read_of(const char *annotations)
{
	struct json_value *value = given_json(annotations);
	enum consent consent = consent_read(value);

	json_value_free(value);
	return consent;
}

static void reads_the_annotation(void **state)
{
	(void)state;
	assert_int_equal(read_of("{'plimsoll.io/move':'never'}"),
		CONSENT_NEVER);
	assert_int_equal(read_of("{'plimsoll.io/move':'allowed'}"),
		CONSENT_ALLOWED);
	assert_int_equal(read_of("{'other':'never'}"), CONSENT_UNSET);
	assert_int_equal(consent_read(NULL), CONSENT_UNSET);
}

static void takes_an_unknown_word_for_never(void **state)
{
	(void)state;
	assert_int_equal(read_of("{'plimsoll.io/move':'Allowed'}"),
		CONSENT_NEVER);
	assert_int_equal(read_of("{'plimsoll.io/move':''}"), CONSENT_NEVER);
	assert_int_equal(read_of("{'plimsoll.io/move':7}"), CONSENT_NEVER);
}

#define NO_EVICTION "'descheduler.alpha.kubernetes.io/prefer-no-eviction':''"

static void counts_the_deschedulers_annotation_as_never(void **state)
{
	(void)state;
	assert_int_equal(read_of("{" NO_EVICTION "}"), CONSENT_NEVER);
	assert_int_equal(
		read_of("{'plimsoll.io/move':'allowed'," NO_EVICTION "}"),
		CONSENT_NEVER);
}

#define EVICT "'descheduler.alpha.kubernetes.io/evict':'true'"

/* The descheduler would evict a pod with both of its annotations. */
static void an_opt_in_for_the_descheduler_opens_nothing(void **state)
{
	(void)state;
	assert_int_equal(read_of("{" EVICT "}"), CONSENT_UNSET);
	assert_int_equal(consent_of(read_of("{" EVICT "}"), CONSENT_NEVER,
				 CONSENT_UNSET),
		CONSENT_NEVER);
	assert_int_equal(read_of("{" EVICT "," NO_EVICTION "}"), CONSENT_NEVER);
	assert_int_equal(read_of("{" EVICT ",'plimsoll.io/move':'never'}"),
		CONSENT_NEVER);
}

/* KubeVirt puts them on launcher pods, nobody on a VMI. */
static void what_kubevirt_tells_the_descheduler_is_nobodys_word(void **state)
{
	(void)state;
	assert_int_equal(
		read_of("{'descheduler.alpha.kubernetes.io/request-evict-only':"
			"'','descheduler.alpha.kubernetes.io/"
			"eviction-in-progress':'true'}"),
		CONSENT_UNSET);
}

static void the_vmi_wins_and_never_wins_between_the_others(void **state)
{
	const enum consent unset = CONSENT_UNSET, yes = CONSENT_ALLOWED,
			   no = CONSENT_NEVER;

	(void)state;
	assert_int_equal(consent_of(unset, unset, unset), yes);
	assert_int_equal(consent_of(yes, no, no), yes);
	assert_int_equal(consent_of(no, yes, yes), no);
	assert_int_equal(consent_of(unset, yes, no), no);
	assert_int_equal(consent_of(unset, no, yes), no);
	assert_int_equal(consent_of(unset, yes, yes), yes);
}

static void is_kept_of_nodes_and_namespaces(void **state)
{
	struct interner *interner = interner_new();
	struct cluster cluster;
	struct json_value *space = given_json(
		"{'metadata':{'name':'x','annotations':{"
		"'plimsoll.io/move':'never'}}}");
	struct json_value *later = given_json("{'metadata':{'name':'n'}}");
	struct node *node = given_node(interner,
		"{'metadata':{'name':'n','annotations':{"
		"'plimsoll.io/move':'never'}}}");

	(void)state;
	cluster_init(&cluster, interner);
	assert_int_equal(
		cluster_put_object(&cluster, CLUSTER_NAMESPACES, space, NULL),
		0);
	assert_int_equal(cluster_namespace_consent(&cluster, "x"),
		CONSENT_NEVER);
	assert_int_equal(cluster_namespace_consent(&cluster, "y"),
		CONSENT_UNSET);
	assert_int_equal(node->consent, CONSENT_NEVER);
	assert_int_equal(node_update(node, later, NULL), 0);
	assert_int_equal(node->consent, CONSENT_UNSET);
	node_free(node);
	cluster_fini(&cluster);
	interner_free(interner);
	json_value_free(space);
	json_value_free(later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_annotation),
		cmocka_unit_test(takes_an_unknown_word_for_never),
		cmocka_unit_test(counts_the_deschedulers_annotation_as_never),
		cmocka_unit_test(an_opt_in_for_the_descheduler_opens_nothing),
		cmocka_unit_test(
			what_kubevirt_tells_the_descheduler_is_nobodys_word),
		cmocka_unit_test(
			the_vmi_wins_and_never_wins_between_the_others),
		cmocka_unit_test(is_kept_of_nodes_and_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
