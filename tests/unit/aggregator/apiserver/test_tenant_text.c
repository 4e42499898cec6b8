#include "aggregator/apiserver/tenant_text.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static const char shop[] = "shop";

static void a_pod_of_another_namespace_has_no_name(void **state)
{
	static const struct {
		const char *pod, *told;
	} cases[] = {
		{ "", "" },
		{ "shop/web", "shop/web" },
		{ "bank/vault", "a pod of another namespace" },
		{ "shopping/web", "a pod of another namespace" },
		{ "7/vault", "a pod of another namespace" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *told = tenant_pod(cases[i].pod, shop);

		assert_string_equal(told, cases[i].told);
	}
}

static struct decision_record *decision_of(const char *chosen,
	const char *sentence)
{
	struct decision_record *record = xcalloc(1, sizeof(*record));

	(void)snprintf(record->namespace, sizeof(record->namespace), shop);
	(void)snprintf(record->chosen, sizeof(record->chosen), "%s", chosen);
	(void)snprintf(record->sentence, sizeof(record->sentence), "%s",
		sentence);
	return record;
}

static void the_words_of_a_decision_stay(void **state)
{
	static const char *const sentences[] = {
		"0/3 nodes are available: 2 node(s) didn't match Pod's node "
		"affinity/selector, 1 node(s) had untolerated taint "
		"{node.kubernetes.io/unreachable: }. preemption: "
		"plimsoll-scheduler does not preempt. plimsoll makes room on "
		"n1.",
		"n1: 12.5 % CPU used; I/O pressure 3 % against 9 % on n2",
	};

	(void)state;
	for (size_t i = 0; i < count_of(sentences); i++) {
		scoped_free struct decision_record *record =
			decision_of(i == 0 ? "" : "n1", sentences[i]);
		scoped_free char *told = tenant_decision_sentence(record);

		assert_string_equal(told, sentences[i]);
	}
}

static void a_decision_of_an_old_scheduler_loses_its_names(void **state)
{
	static const char *const words[] = { "can make room",
		"cannot make room", "makes room on n1", "gave up making room" };

	(void)state;
	for (size_t i = 0; i < count_of(words); i++) {
		scoped_free char *sentence = xasprintf(
			"0/3 nodes are available. plimsoll %s: bank/vault: x",
			words[i]);
		scoped_free char *expected = xasprintf(
			"0/3 nodes are available. plimsoll %s.", words[i]);
		scoped_free struct decision_record *record =
			decision_of("", sentence);
		scoped_free char *told = tenant_decision_sentence(record);

		assert_string_equal(told, expected);
	}
}

static void a_move_names_only_pods_of_its_namespace(void **state)
{
	static const struct {
		const char *room_for, *sentence, *told;
	} cases[] = {
		{ "bank/v", "makes room for bank/v on n1, move 1 of 2",
			"makes room for a pod of another namespace on n1, move "
			"1 of 2" },
		{ "shop/api", "makes room for shop/api on n1, move 1 of 2",
			"makes room for shop/api on n1, move 1 of 2" },
		{ "", "n1 is in trouble, waits for memory/I/O",
			"n1 is in trouble, waits for memory/I/O" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct move_record record = { .namespace = "shop" };
		scoped_free char *told = NULL;

		(void)snprintf(record.room_for, sizeof(record.room_for), "%s",
			cases[i].room_for);
		(void)snprintf(record.sentence, sizeof(record.sentence), "%s",
			cases[i].sentence);
		told = tenant_move_sentence(&record);
		assert_string_equal(told, cases[i].told);
	}
}

static void a_failed_move_names_only_pods_of_its_namespace(void **state)
{
	static const struct {
		const char *failure, *told;
	} cases[] = {
		{ "", "" },
		{ "the guest's agent/driver does not answer",
			"the guest's agent/driver does not answer" },
		{ "gave up: other/thief took the place held for bank/v on n1",
			"gave up making room" },
		{ "gave up making room", "gave up making room" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct move_record record = { .namespace = "shop",
			.reason = MOVE_FOR_ROOM,
			.room_for = "bank/v" };
		scoped_free char *told = NULL;

		(void)snprintf(record.failure, sizeof(record.failure), "%s",
			cases[i].failure);
		told = tenant_move_failure(&record);
		assert_string_equal(told, cases[i].told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_of_another_namespace_has_no_name),
		cmocka_unit_test(the_words_of_a_decision_stay),
		cmocka_unit_test(
			a_decision_of_an_old_scheduler_loses_its_names),
		cmocka_unit_test(a_move_names_only_pods_of_its_namespace),
		cmocka_unit_test(
			a_failed_move_names_only_pods_of_its_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
