#include "kube/config.h"

#include "lib/memory.h"
#include "tests/support/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory for each test; its path is the test's state. */
static int make_dir(void **state)
{
	char *dir = xstrdup("/tmp/test_config.XXXXXX");

	assert_non_null(mkdtemp(dir));
	*state = dir;
	return 0;
}

static const char *const names[] = { "config", "token", "ca.crt", "namespace",
	"crt", "key", ".kube/config" };

static int remove_dir(void **state)
{
	char *dir = *state;
	scoped_free char *home = xasprintf("%s/.kube", dir);

	for (size_t i = 0; i < count_of(names); i++) {
		scoped_free char *path = xasprintf("%s/%s", dir, names[i]);

		(void)unlink(path);
	}
	(void)rmdir(home);
	assert_int_equal(rmdir(dir), 0);
	free(dir);
	return 0;
}

static void put(const char *dir, const char *name, const char *text)
{
	scoped_free char *path = xasprintf("%s/%s", dir, name);
	scoped_fd int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void put_kubeconfig(const char *dir, const char *name, const char *user)
{
	scoped_free char *text = xasprintf(
		"current-context: a\n"
		"contexts: [{name: a, context: {cluster: b, user: d}}]\n"
		"clusters: [{name: b, cluster: {server: 'https://h'}}]\n"
		"users: [{name: d, user: {%s}}]\n",
		user);

	put(dir, name, text);
}

static struct kube_config_sources in_pod(const char *dir)
{
	return (struct kube_config_sources){
		.service_host = "10.0.0.1",
		.service_port = "443",
		.service_dir = dir,
	};
}

static struct kube_config_sources in_file(const char *path)
{
	return (struct kube_config_sources){ .flag = path };
}

static void resolves_paths_against_the_kubeconfig(void **state)
{
	const char *dir = *state;
	scoped_free char *path = xasprintf("%s/config", dir);
	scoped_free char *user = xasprintf(
		"client-certificate: crt, client-key: %s/key, token: x, "
		"tokenFile: token",
		dir);
	const struct kube_config_sources sources = in_file(path);
	struct kube_config config;

	put_kubeconfig(dir, "config", user);
	put(dir, "crt", "CERT");
	put(dir, "key", "KEY");
	put(dir, "token", " secret\n");
	assert_int_equal(kube_config_load_from(&config, &sources, NULL), 0);
	assert_string_equal(config.server, "https://h");
	assert_string_equal(config.cert.text, "CERT");
	assert_string_equal(config.key.text, "KEY");
	assert_string_equal(config.token.text, "secret");
	assert_null(config.ca.text);
	kube_config_fini(&config);
}

static void a_file_that_is_missing_is_named(void **state)
{
	static const char *const users[] = {
		"client-certificate: none, client-key: key",
		"client-certificate: crt, client-key: none",
		"client-certificate: crt, client-key: key, tokenFile: none",
	};
	const char *dir = *state;
	scoped_free char *path = xasprintf("%s/config", dir);
	const struct kube_config_sources sources = in_file(path);
	struct kube_config config;

	put(dir, "crt", "CERT");
	put(dir, "key", "KEY");
	for (size_t i = 0; i < count_of(users); i++) {
		struct error err;

		put_kubeconfig(dir, "config", users[i]);
		assert_int_equal(kube_config_load_from(&config, &sources, &err),
			-ENOENT);
		assert_non_null(strstr(err.text, "none"));
	}
}

static void a_kubeconfig_needs_no_credentials(void **state)
{
	const char *dir = *state;
	scoped_free char *path = xasprintf("%s/config", dir);
	const struct kube_config_sources sources = in_file(path);
	struct kube_config config;

	put_kubeconfig(dir, "config", "");
	assert_int_equal(kube_config_load_from(&config, &sources, NULL), 0);
	assert_null(config.token.text);
	assert_null(config.cert.text);
	assert_null(config.key.text);
	kube_config_fini(&config);
}

static void prefers_the_flag_then_the_variable_then_the_pod(void **state)
{
	const char *dir = *state;
	scoped_free char *path = xasprintf("%s/config", dir);
	scoped_free char *home = xasprintf("%s/.kube", dir);
	struct kube_config_sources sources = {
		.flag = path,
		.variable = "/none",
		.service_host = "10.0.0.1",
		.service_port = "443",
		.service_dir = dir,
		.home = dir,
	};
	struct kube_config config;
	struct error err;

	put_kubeconfig(dir, "config", "token: flag");
	assert_int_equal(mkdir(home, 0700), 0);
	put_kubeconfig(dir, ".kube/config", "token: home");
	assert_int_equal(kube_config_load_from(&config, &sources, NULL), 0);
	assert_string_equal(config.token.text, "flag");
	kube_config_fini(&config);
	sources.flag = "";
	assert_int_equal(kube_config_load_from(&config, &sources, &err),
		-ENOENT);
	assert_non_null(strstr(err.text, "'/none'"));
	sources.variable = NULL;
	assert_int_equal(kube_config_load_from(&config, &sources, &err),
		-ENOENT);
	assert_non_null(strstr(err.text, "pod's service account"));
	sources.service_host = "";
	assert_int_equal(kube_config_load_from(&config, &sources, NULL), 0);
	assert_string_equal(config.token.text, "home");
	kube_config_fini(&config);
	sources.home = "/none";
	assert_int_equal(kube_config_load_from(&config, &sources, &err),
		-ENOENT);
	assert_non_null(strstr(err.text, "no ~/.kube/config"));
}

static void uses_the_service_account_of_the_pod(void **state)
{
	const char *dir = *state;
	struct kube_config_sources sources = in_pod(dir);
	struct kube_config config;

	put(dir, "token", "secret");
	put(dir, "ca.crt", "CA");
	assert_int_equal(kube_config_load_from(&config, &sources, NULL), 0);
	assert_string_equal(config.server, "https://10.0.0.1:443");
	assert_string_equal(config.ca.text, "CA");
	assert_string_equal(config.token.text, "secret");
	assert_string_equal(config.namespace_name, "default");
	kube_config_fini(&config);
	put(dir, "namespace", "plimsoll\n");
	sources.service_host = "fd00::1";
	assert_int_equal(kube_config_load_from(&config, &sources, NULL), 0);
	assert_string_equal(config.server, "https://[fd00::1]:443");
	assert_string_equal(config.namespace_name, "plimsoll");
	kube_config_fini(&config);
}

static void refuses_tokens_that_would_break_a_header(void **state)
{
	static const char *const tokens[] = { "", " \n", "a\nb", "a b", "a\x7f",
		"\xc3\xbc" };
	const char *dir = *state;
	const struct kube_config_sources sources = in_pod(dir);

	put(dir, "ca.crt", "CA");
	for (size_t i = 0; i < count_of(tokens); i++) {
		struct kube_config config;
		struct error err;

		put(dir, "token", tokens[i]);
		assert_int_equal(kube_config_load_from(&config, &sources, &err),
			-EBADMSG);
		assert_non_null(strstr(err.text, "token"));
	}
}

static void refuses_several_files_in_the_variable(void **state)
{
	struct kube_config config;

	(void)state;
	assert_int_equal(
		kube_config_load_from(&config,
			&(struct kube_config_sources){ .variable = "/a:/b" },
			NULL),
		-EINVAL);
}

static void picks_up_rotated_files(void **state)
{
	const char *dir = *state;
	scoped_free char *token = xasprintf("%s/token", dir);
	const struct kube_config_sources sources = in_pod(dir);
	struct kube_config config;

	put(dir, "token", "one");
	put(dir, "ca.crt", "CA");
	assert_int_equal(kube_config_load_from(&config, &sources, NULL), 0);
	assert_false(kube_config_refresh(&config));
	put(dir, "token", "two");
	assert_true(kube_config_refresh(&config));
	assert_string_equal(config.token.text, "two");
	put(dir, "token", "");
	assert_false(kube_config_refresh(&config));
	assert_int_equal(unlink(token), 0);
	put(dir, "ca.crt", "CB");
	assert_true(kube_config_refresh(&config));
	assert_string_equal(config.token.text, "two");
	assert_string_equal(config.ca.text, "CB");
	kube_config_fini(&config);
}

static void limits_the_size_of_files(void **state)
{
	const char *dir = *state;
	scoped_free char *path = xasprintf("%s/config", dir);
	scoped_free char *text = xcalloc((2 << 20) + 1, 1);
	const struct kube_config_sources sources = in_file(path);
	struct kube_config config;

	put(dir, "config", "");
	assert_int_equal(truncate(path, 2 << 20), 0);
	assert_int_equal(kube_config_load_from(&config, &sources, NULL),
		-EFBIG);
	/* The bytes that are read contain no NUL. */
	memset(text, 'x', 2 << 20);
	put(dir, "config", text);
	assert_int_equal(kube_config_load_from(&config, &sources, NULL),
		-EFBIG);
	put(dir, "config", "");
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(kube_config_load_from(&config, &sources, NULL),
		-EBADMSG);
}

#define with_dir(test)                                                         \
	cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_dir(resolves_paths_against_the_kubeconfig),
		with_dir(a_file_that_is_missing_is_named),
		with_dir(a_kubeconfig_needs_no_credentials),
		with_dir(prefers_the_flag_then_the_variable_then_the_pod),
		with_dir(uses_the_service_account_of_the_pod),
		with_dir(refuses_tokens_that_would_break_a_header),
		cmocka_unit_test(refuses_several_files_in_the_variable),
		with_dir(picks_up_rotated_files),
		with_dir(limits_the_size_of_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
