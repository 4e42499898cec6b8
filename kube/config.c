#include "kube/config.h"

#include "lib/files.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* A kubeconfig with embedded certificates has about 10 KB, a bundle of all
 * public CAs 220 KB. */
enum { FILE_MAX = 1 << 20 };

static const char service_dir[] =
	"/var/run/secrets/kubernetes.io/serviceaccount";

/* Reads a text file. The caller frees *out with secret_free(). */
static int read_text(char **out, const char *path, struct error *err)
{
	/* A single allocation, so that no copies of a key remain; one byte more
	 * than is read, so that a file that is too long has no NUL. */
	char *text = xcalloc(FILE_MAX + 1, 1);
	int len = file_read_at(text, FILE_MAX, AT_FDCWD, path, err);
	int result = len < 0 ? len : 0;

	if (result == 0 && strlen(text) != (size_t)len) {
		result = error_set(err, -EBADMSG, "'%s' is not a text file",
			path);
	}
	if (result == 0) {
		*out = xstrndup(text, (size_t)len);
	}
	secret_free(text);
	return result;
}

/* The token becomes part of a header line, so characters that would end the
 * line are refused. Surrounding white space is removed. */
static int clean_token(char *token, struct error *err)
{
	size_t start = strspn(token, " \t\r\n");
	size_t len = strlen(token + start);

	while (len > 0 && strchr(" \t\r\n", token[start + len - 1]) != NULL) {
		len--;
	}
	memmove(token, token + start, len);
	token[len] = '\0';
	if (len == 0) {
		return error_set(err, -EBADMSG, "the token is empty");
	}
	for (; *token != '\0'; token++) {
		if (*token <= ' ' || *token >= 0x7f) {
			return error_set(err, -EBADMSG,
				"the token contains invalid characters");
		}
	}
	return 0;
}

static int read_token(char **out, const char *path, struct error *err)
{
	char *token = NULL;
	int result = read_text(&token, path, err);

	if (result != 0) {
		return result;
	}
	result = clean_token(token, err);
	if (result != 0) {
		secret_free(token);
		return error_wrap(err, result, "'%s'", path);
	}
	*out = token;
	return 0;
}

static char *path_join(const char *dir, const char *path)
{
	if (path[0] == '/') {
		return xstrdup(path);
	}
	return xasprintf("%s/%s", dir, path);
}

/* The directory part of path, or ".". */
static char *path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL) {
		return xstrdup(".");
	}
	return slash == path ? xstrdup("/")
			     : xstrndup(path, (size_t)(slash - path));
}

static void make_absolute(struct kube_config_item *item, const char *dir)
{
	char *path = take_ptr(item->path);

	item->path = path_join(dir, path);
	free(path);
}

/* As in client-go: embedded data overrides the path of a certificate. */
static int read_pem(struct kube_config_item *item, const char *dir,
	struct error *err)
{
	if (item->text != NULL) {
		free(take_ptr(item->path));
	}
	if (item->path == NULL) {
		return 0;
	}
	make_absolute(item, dir);
	return read_text(&item->text, item->path, err);
}

/* As in client-go: the path of a token overrides embedded data. */
static int read_any_token(struct kube_config_item *item, const char *dir,
	struct error *err)
{
	if (item->path == NULL) {
		return item->text == NULL ? 0 : clean_token(item->text, err);
	}
	secret_free(take_ptr(item->text));
	make_absolute(item, dir);
	return read_token(&item->text, item->path, err);
}

static int read_files(struct kube_config *config, const char *dir,
	struct error *err)
{
	int result = read_pem(&config->ca, dir, err);

	if (result == 0) {
		result = read_pem(&config->cert, dir, err);
	}
	if (result == 0) {
		result = read_pem(&config->key, dir, err);
	}
	if (result == 0) {
		result = read_any_token(&config->token, dir, err);
	}
	return result;
}

static int load_file(struct kube_config *config, const char *path,
	struct error *err)
{
	scoped_free char *dir = path_dir(path);
	char *text = NULL;
	int result = read_text(&text, path, err);

	if (result != 0) {
		return result;
	}
	result = kubeconfig_parse(config, text, strlen(text), err);
	secret_free(text);
	if (result == 0) {
		result = read_files(config, dir, err);
	}
	return result < 0 ? error_wrap(err, result, "'%s'", path) : 0;
}

static int load_pod(struct kube_config *config,
	const struct kube_config_sources *sources, struct error *err)
{
	/* An IPv6 address in a URL has brackets. */
	bool is_v6 = strchr(sources->service_host, ':') != NULL;
	scoped_free char *ns = path_join(sources->service_dir, "namespace");
	int result;

	config->server = xasprintf("https://%s%s%s:%s", is_v6 ? "[" : "",
		sources->service_host, is_v6 ? "]" : "", sources->service_port);
	result = kubeconfig_check_server(config->server, err);
	if (result < 0) {
		return result;
	}
	config->token.path = path_join(sources->service_dir, "token");
	result = read_token(&config->token.text, config->token.path, err);
	if (result < 0) {
		return result;
	}
	config->ca.path = path_join(sources->service_dir, "ca.crt");
	result = read_text(&config->ca.text, config->ca.path, err);
	if (result < 0) {
		return result;
	}
	if (read_token(&config->namespace_name, ns, NULL) < 0) {
		config->namespace_name = xstrdup("default");
	}
	return 0;
}

static bool is_given(const char *text)
{
	return text != NULL && text[0] != '\0';
}

static int load_home(struct kube_config *config, const char *home,
	struct error *err)
{
	scoped_free char *path =
		is_given(home) ? xasprintf("%s/.kube/config", home) : NULL;
	int result = path != NULL ? load_file(config, path, err) : -ENOENT;

	/* ENOENT may also mean a file that the kubeconfig names. */
	if (result == -ENOENT && config->server == NULL) {
		return error_set(err, -ENOENT,
			"no API server configured: no --kubeconfig, no "
			"KUBECONFIG, not in a pod, no ~/.kube/config");
	}
	return result;
}

static int load_any(struct kube_config *config,
	const struct kube_config_sources *sources, struct error *err)
{
	if (is_given(sources->flag)) {
		return load_file(config, sources->flag, err);
	}
	if (is_given(sources->variable)) {
		if (strchr(sources->variable, ':') != NULL) {
			return error_set(err, -EINVAL,
				"KUBECONFIG names more than one file, which is "
				"not supported");
		}
		return load_file(config, sources->variable, err);
	}
	if (is_given(sources->service_host) &&
		is_given(sources->service_port)) {
		int result = load_pod(config, sources, err);

		return result < 0
			? error_wrap(err, result,
				  "cannot use the pod's service account")
			: 0;
	}
	return load_home(config, sources->home, err);
}

int kube_config_load_from(struct kube_config *out,
	const struct kube_config_sources *sources, struct error *err)
{
	struct kube_config config = { 0 };
	int result = load_any(&config, sources, err);

	if (result < 0) {
		kube_config_fini(&config);
		return result;
	}
	*out = config;
	return 0;
}

int kube_config_load(struct kube_config *out, const char *path,
	struct error *err)
{
	const struct kube_config_sources sources = {
		.flag = path,
		.variable = getenv("KUBECONFIG"),
		.service_host = getenv("KUBERNETES_SERVICE_HOST"),
		.service_port = getenv("KUBERNETES_SERVICE_PORT"),
		.service_dir = service_dir,
		.home = getenv("HOME"),
	};

	return kube_config_load_from(out, &sources, err);
}

bool kube_config_is_in_pod(void)
{
	return is_given(getenv("KUBERNETES_SERVICE_HOST")) &&
		is_given(getenv("KUBERNETES_SERVICE_PORT"));
}

/* Returns whether the text changed. */
static bool refresh_item(struct kube_config_item *item,
	int (*read)(char **out, const char *path, struct error *err))
{
	char *text = NULL;

	if (item->path == NULL || read(&text, item->path, NULL) != 0 ||
		text == NULL) {
		return false;
	}
	if (strcmp(text, item->text) == 0) {
		secret_free(text);
		return false;
	}
	secret_free(item->text);
	item->text = text;
	return true;
}

bool kube_config_refresh(struct kube_config *config)
{
	bool ca = refresh_item(&config->ca, read_text);
	bool cert = refresh_item(&config->cert, read_text);
	bool key = refresh_item(&config->key, read_text);
	bool token = refresh_item(&config->token, read_token);

	return ca || cert || key || token;
}
