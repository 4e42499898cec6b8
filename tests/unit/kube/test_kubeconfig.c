#include "kube/kubeconfig.h"

#include "kube/config.h"
#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <string.h>

/* A kubeconfig with cluster and user in YAML's flow style. */
static char *kubeconfig_of(const char *cluster, const char *user)
{
	return xasprintf(
		"apiVersion: v1\n"
		"kind: Config\n"
		"current-context: here\n"
		"contexts:\n"
		"- {name: there, context: {cluster: x, user: y}}\n"
		"- {name: here, context: {cluster: c, user: u}}\n"
		"clusters:\n"
		"- {name: c, cluster: {%s}}\n"
		"users:\n"
		"- {name: v, user: {token: other}}\n"
		"- {name: u, user: {%s}}\n",
		cluster, user);
}

static int parse(struct kube_config *out, const char *text, struct error *err)
{
	return kubeconfig_parse(out, text, strlen(text), err);
}

static void expect_part(const char *text, const char *part)
{
	if (strstr(text, part) == NULL) {
		fail_msg("'%s' is not in: %s", part, text);
	}
}

static void reads_the_current_context(void **state)
{
	scoped_free char *text = kubeconfig_of(
		"server: 'https://h:6443/p/', certificate-authority: ca.crt",
		"client-certificate-data: YWJj, client-key-data: \"ZGV\\nm\", "
		"token: t, tokenFile: f");
	struct kube_config config;

	(void)state;
	assert_int_equal(parse(&config, text, NULL), 0);
	assert_string_equal(config.server, "https://h:6443/p");
	assert_string_equal(config.namespace_name, "default");
	assert_null(config.ca.text);
	assert_string_equal(config.ca.path, "ca.crt");
	assert_string_equal(config.cert.text, "abc");
	assert_string_equal(config.key.text, "def");
	assert_string_equal(config.token.text, "t");
	assert_string_equal(config.token.path, "f");
	kube_config_fini(&config);
}

static void accepts_a_context_without_user(void **state)
{
	struct kube_config config;

	(void)state;
	assert_int_equal(
		parse(&config,
			"{\"current-context\":\"a\",\"contexts\":[{\"name\":"
			"\"a\",\"context\":{\"cluster\":\"c\",\"namespace\":"
			"\"ns\"}}],\"clusters\":[{\"name\":\"c\",\"cluster\":"
			"{\"server\":\"https://h\"}}]}",
			NULL),
		0);
	assert_string_equal(config.namespace_name, "ns");
	assert_null(config.token.text);
	assert_null(config.ca.text);
	kube_config_fini(&config);
}

static void refuses_settings_that_change_identity(void **state)
{
	static const struct {
		const char *cluster;
		const char *user;
		const char *sentence;
	} cases[] = {
		{ "server: 'https://h', insecure-skip-tls-verify: true", "",
			"cluster 'c': 'insecure-skip-tls-verify'" },
		{ "server: 'https://h', proxy-url: 'http://p'", "",
			"cluster 'c': 'proxy-url' is not supported" },
		{ "server: 'https://h', tls-server-name: x", "",
			"'tls-server-name' is not supported" },
		{ "server: 'http://h'", "", "server 'http://h' is not https" },
		{ "server: 'https://'", "", "has no host" },
		{ "server: 'https://:1'", "", "has no host" },
		{ "server: 'https:///'", "", "has no host" },
		{ "server: 'https://u@h'", "", "not a plain URL" },
		{ "server: 'https://h?a'", "", "not a plain URL" },
		{ "server: \"https://h\\n\"", "", "not a plain URL" },
		{ "server: 'https://h'", "exec: {command: x}",
			"user 'u': 'exec' is not supported" },
		{ "server: 'https://h'", "auth-provider: {name: gcp}",
			"'auth-provider' is not supported" },
		{ "server: 'https://h'", "username: a, password: b",
			"'username' is not supported" },
		{ "server: 'https://h'", "as: root", "'as' is not" },
		{ "server: 'https://h'", "as-groups: [a]", "'as-groups'" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text =
			kubeconfig_of(cases[i].cluster, cases[i].user);
		struct kube_config config = { 0 };
		struct error err = { 0 };

		assert_int_equal(parse(&config, text, &err), -EPROTONOSUPPORT);
		expect_part(err.text, cases[i].sentence);
		assert_null(config.server);
	}
}

static void refuses_incomplete_entries(void **state)
{
	static const struct {
		const char *cluster;
		const char *user;
		const char *sentence;
	} cases[] = {
		{ "", "", "cluster 'c': 'server' is missing" },
		{ "server: 12", "", "'server' is not text" },
		{ "server: 'https://h'", "token: 12", "'token' is not text" },
		{ "server: 'https://h'", "client-key: k",
			"must be given together" },
		{ "server: 'https://h'", "client-certificate-data: YWJj",
			"must be given together" },
		{ "server: 'https://h', certificate-authority-data: 'a*'", "",
			"'certificate-authority-data' is not base64" },
		{ "server: 'https://h', certificate-authority-data: YWJjZ", "",
			"is not base64" },
		{ "server: 'https://h', certificate-authority-data: YQ==x", "",
			"is not base64" },
		{ "server: 'https://h', certificate-authority-data: AAAA", "",
			"is not base64" },
		{ "server: 'https://h', certificate-authority-data: '='", "",
			"is not base64" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		scoped_free char *text =
			kubeconfig_of(cases[i].cluster, cases[i].user);
		struct kube_config config;
		struct error err = { 0 };

		assert_int_equal(parse(&config, text, &err), -EBADMSG);
		expect_part(err.text, cases[i].sentence);
	}
}

static void refuses_references_to_missing_entries(void **state)
{
	static const struct {
		const char *text;
		const char *sentence;
	} cases[] = {
		{ "", "it has no keys" },
		{ "a: [", "not a kubeconfig: line" },
		{ "kind: Config\n", "'current-context' is missing" },
		{ "current-context: a\n", "context 'a' not found" },
		{ "current-context: a\ncontexts: [{name: a}]\n",
			"context 'a' not found" },
		{ "current-context: a\n"
		  "contexts: [{name: a, context: {cluster: b}}]\n",
			"cluster 'b' not found" },
		{ "current-context: a\n"
		  "contexts: [{name: a, context: {cluster: b, user: d}}]\n"
		  "clusters: [{name: b, cluster: {server: 'https://h'}}]\n",
			"user 'd' not found" },
	};

	(void)state;
	for (size_t i = 0; i < count_of(cases); i++) {
		struct kube_config config;
		struct error err = { 0 };

		assert_int_equal(parse(&config, cases[i].text, &err), -EBADMSG);
		expect_part(err.text, cases[i].sentence);
	}
}

static void errors_never_contain_a_secret(void **state)
{
	scoped_free char *text = kubeconfig_of("server: 'https://h'",
		"token: sesame, client-key-data: c2VzYW1l");
	struct kube_config config;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse(&config, text, &err), -EBADMSG);
	assert_null(strstr(err.text, "sesame"));
	assert_null(strstr(err.text, "c2Vz"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_current_context),
		cmocka_unit_test(accepts_a_context_without_user),
		cmocka_unit_test(refuses_settings_that_change_identity),
		cmocka_unit_test(refuses_incomplete_entries),
		cmocka_unit_test(refuses_references_to_missing_entries),
		cmocka_unit_test(errors_never_contain_a_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
