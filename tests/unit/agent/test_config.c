#include "agent/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "tests/support/cm.h"

static int parse(struct agent_config *config, char **argv, struct error *err)
{
	enum options_outcome outcome;
	int r;

	*config = (struct agent_config){ 0 };
	(void)unsetenv("NODE_NAME");
	r = options_parse(config, &outcome, NULL, &agent_options, argv, err);
	return r < 0 ? r : agent_config_check(config, err);
}

static void uses_the_documented_defaults(void **state)
{
	struct agent_config c;
	char *argv[] = { "plimsoll-agent", "--aggregator", "tcp://a:7473",
		NULL };

	(void)state;
	assert_int_equal(parse(&c, argv, NULL), 0);
	assert_int_equal(c.interval_us, 2000000);
	assert_string_equal(c.proc_root, "/proc");
	assert_string_equal(c.sys_root, "/sys");
	assert_string_equal(c.cgroup_root, "/sys/fs/cgroup");
	assert_string_equal(c.dev_root, "/dev");
	assert_int_equal(c.kvm_level, KVM_LEVEL_RUN);
	assert_int_equal(c.ring_reports, 900);
	assert_false(c.once);
	assert_int_equal(c.aggregators.count, 1);
}

static void the_choices_of_the_flag_are_the_kvm_levels(void **state)
{
	(void)state;
	for (int level = KVM_LEVEL_OFF; level <= KVM_LEVEL_RUN; level++) {
		struct agent_config c;
		scoped_free char *flag = xasprintf("--kvm-probe=%s",
			kvm_level_name((enum kvm_level)level));
		char *argv[] = { "plimsoll-agent", "--once", flag, NULL };

		assert_int_equal(parse(&c, argv, NULL), 0);
		assert_int_equal(c.kvm_level, level);
	}
}

static void chooses_the_node_name_in_this_order(void **state)
{
	struct agent_config c = { .once = true };
	enum options_outcome outcome;
	char *argv[] = { "plimsoll-agent", "--once", NULL, NULL, NULL };

	(void)state;
	assert_int_equal(parse(&c, argv, NULL), 0);
	assert_true(c.node_name[0] != '\0');
	for (const char *p = c.node_name; *p != '\0'; p++) {
		assert_false(*p >= 'A' && *p <= 'Z');
	}
	c = (struct agent_config){ 0 };
	assert_int_equal(setenv("NODE_NAME", "from-env", 1), 0);
	assert_int_equal(
		options_parse(&c, &outcome, NULL, &agent_options, argv, NULL),
		0);
	assert_int_equal(agent_config_check(&c, NULL), 0);
	assert_string_equal(c.node_name, "from-env");
	argv[2] = "--node-name";
	argv[3] = "from-flag";
	assert_int_equal(
		options_parse(&c, &outcome, NULL, &agent_options, argv, NULL),
		0);
	assert_string_equal(c.node_name, "from-flag");
	(void)unsetenv("NODE_NAME");
}

static void rejects_invalid_flags_with_a_sentence(void **state)
{
	static const struct {
		const char *flag, *sentence;
	} cases[] = {
		{ "--log-level=info", "--aggregator is required" },
		{ "--aggregator=tls+tcp://a:1", "requires --tls-ca" },
		{ "--aggregator=http://a:1", "tcp://HOST:PORT" },
		{ "--aggregator=tcp://a", "tcp://HOST:PORT" },
		{ "--interval=50ms", "not between" },
		{ "--interval=61s", "not between" },
		{ "--ring-reports=0", "not between" },
		{ "--kvm-probe=maybe", "one of:" },
		{ "--spool-max-bytes=1MiB", "not between" },
		{ "--aggregator=tcp://a:99999", "tcp://HOST:PORT" },
		{ "--node-name=", "--node-name" },
		{ "--node-name=a b", "'a b'" },
		{ "--node-name=n\xc3\xb6", "--node-name" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct agent_config c;
		struct error err = { 0 };
		scoped_free char *flag = xstrdup(cases[i].flag);
		char *argv[] = { "plimsoll-agent", flag, NULL };

		assert_int_equal(parse(&c, argv, &err), -EINVAL);
		assert_non_null(strstr(err.text, cases[i].sentence));
	}
}

static void rejects_an_invalid_node_name(void **state)
{
	struct agent_config c = { .once = true };
	char name[REPORT_NODE_MAX + 1];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[REPORT_NODE_MAX] = '\0';
	c.node_name = name;
	assert_int_equal(agent_config_check(&c, NULL), -EINVAL);
	name[REPORT_NODE_MAX - 1] = '\0';
	assert_int_equal(agent_config_check(&c, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uses_the_documented_defaults),
		cmocka_unit_test(the_choices_of_the_flag_are_the_kvm_levels),
		cmocka_unit_test(chooses_the_node_name_in_this_order),
		cmocka_unit_test(rejects_invalid_flags_with_a_sentence),
		cmocka_unit_test(rejects_an_invalid_node_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
