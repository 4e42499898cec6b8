#include "scheduler/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

#define NAME_50 "a1234567890123456789012345678901234567890123456789"
#define NAME_250 NAME_50 NAME_50 NAME_50 NAME_50 NAME_50

enum { FLAGS_MAX = 4 };

static int parse(struct scheduler_config *config,
	const char *const flags[FLAGS_MAX], struct error *err)
{
	enum options_outcome outcome;
	char *argv[FLAGS_MAX + 2] = { xstrdup("plimsoll-scheduler") };
	int r;

	for (size_t i = 0; i < FLAGS_MAX && flags[i] != NULL; i++) {
		argv[i + 1] = xstrdup(flags[i]);
	}
	*config = (struct scheduler_config){ 0 };
	r = options_parse(config, &outcome, NULL, &scheduler_options, argv,
		err);
	r = r < 0 ? r : scheduler_config_check(config, err);
	/* Texts of the flags are not read any more. */
	for (size_t i = 0; argv[i] != NULL; i++) {
		free(argv[i]);
	}
	return r;
}

static void without_flags_it_recommends_moves_and_elects_a_leader(void **state)
{
	static const char *const none[FLAGS_MAX] = { NULL };
	struct scheduler_config config;

	(void)state;
	assert_int_equal(parse(&config, none, NULL), 0);
	assert_string_equal(config.scheduler_name, "plimsoll-scheduler");
	assert_string_equal(config.webhook_scheduler_name,
		"plimsoll-scheduler");
	assert_true(config.leader_elect);
	assert_int_equal(config.rebalance, MOVER_RECOMMEND);
	assert_int_equal(config.make_room, MOVER_RECOMMEND);
	assert_true(scheduler_config_moves(&config));
	assert_true(config.rebalance_price == 0.15);
	assert_string_equal(config.rebalance_windows_text, "");
	assert_int_equal(config.make_room_timeout_us, 600000000);
	assert_int_equal(config.other_migrations_timeout_us, 600000000);
	assert_int_equal(config.aggregators.count, 0);
}

static void behaviours_of_kubernetes_are_overridden_one_by_one(void **state)
{
	static const char *const flags[FLAGS_MAX] = {
		"--kubernetes-behaviour=declared-features=off",
		"--kubernetes-behaviour=resize-by-sums=on"
	};
	struct scheduler_config config;

	(void)state;
	assert_int_equal(parse(&config, flags, NULL), 0);
	assert_false(behaviours_have(behaviours_of(37, &config.behaviours),
		BEHAVIOUR_DECLARED_FEATURES));
	assert_true(behaviours_have(behaviours_of(36, &config.behaviours),
		BEHAVIOUR_RESIZE_BY_SUMS));
}

static void either_mode_moves_vms(void **state)
{
	static const char *const flags[][FLAGS_MAX] = {
		{ "--rebalance=off", "--make-room=off" },
		{ "--rebalance=automatic", "--make-room=off" },
		{ "--rebalance=off", "--make-room=automatic" },
	};
	struct scheduler_config config;

	(void)state;
	for (size_t i = 0; i < count_of(flags); i++) {
		assert_int_equal(parse(&config, flags[i], NULL), 0);
		assert_int_equal(scheduler_config_moves(&config), i > 0);
	}
}

static void what_fits_together_is_accepted(void **state)
{
	static const char *const good[][FLAGS_MAX] = {
		{ "--rebalance-price=0" },
		{ "--rebalance-price=1000" },
		{ "--rebalance-price=0.25" },
		{ "--webhook=127.0.0.1:8443", "--webhook-tls-cert=c",
			"--webhook-tls-key=k" },
		{ "--webhook-scheduler-name=" NAME_250 "abc" },
		{ "--http=127.0.0.1:1", "--http-auth=kubernetes" },
		{ "--policy=kube-scheduler-1.21" },
	};
	struct scheduler_config config;

	(void)state;
	for (size_t i = 0; i < count_of(good); i++) {
		struct error err = { 0 };

		assert_int_equal(parse(&config, good[i], &err), 0);
		assert_string_equal(err.text, "");
	}
}

static void what_does_not_is_refused_with_a_sentence(void **state)
{
	static const struct {
		const char *flags[FLAGS_MAX], *sentence;
	} bad[] = {
		{ { "--policy=best" }, "--policy: " },
		{ { "--rebalance-price=x" },
			"--rebalance-price: 'x' is not a number from 0 to "
			"1000" },
		{ { "--rebalance-price=.5" }, "'.5' is not a number" },
		{ { "--rebalance-price=1000.5" }, "is not a number from" },
		{ { "--rebalance-price=1.2.3" }, "'1.2.3' is not a number" },
		{ { "--rebalance-price=1e2" }, "'1e2' is not a number" },
		{ { "--rebalance-windows=Someday" }, "--rebalance-windows: " },
		{ { "--kubernetes-behaviour=resize-by-sums=maybe" },
			"--kubernetes-behaviour: 'resize-by-sums=maybe' is not "
			"NAME=on or NAME=off" },
		{ { "--webhook=127.0.0.1:8443" },
			"--webhook requires --webhook-tls-cert and "
			"--webhook-tls-key" },
		{ { "--webhook=127.0.0.1:8443", "--webhook-tls-cert=c" },
			"--webhook requires" },
		{ { "--webhook=127.0.0.1:8443", "--webhook-tls-key=k" },
			"--webhook requires" },
		{ { "--webhook-tls-cert=c" }, "require --webhook" },
		{ { "--webhook-tls-key=k" }, "require --webhook" },
		{ { "--webhook-scheduler-name=" NAME_250 "abcd" },
			"has more than 253 characters" },
		{ { "--http=0.0.0.0:1", "--http-auth=kubernetes" },
			"--http-auth" },
		{ { "--aggregator=http://a:1" }, "tcp://HOST:PORT" },
		{ { "--make-room-timeout=59s" }, "not between" },
		{ { "--other-migrations-timeout=25h" }, "not between" },
	};
	struct scheduler_config config;

	(void)state;
	for (size_t i = 0; i < count_of(bad); i++) {
		struct error err = { 0 };

		assert_int_equal(parse(&config, bad[i].flags, &err), -EINVAL);
		assert_non_null(strstr(err.text, bad[i].sentence));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			without_flags_it_recommends_moves_and_elects_a_leader),
		cmocka_unit_test(
			behaviours_of_kubernetes_are_overridden_one_by_one),
		cmocka_unit_test(either_mode_moves_vms),
		cmocka_unit_test(what_fits_together_is_accepted),
		cmocka_unit_test(what_does_not_is_refused_with_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
