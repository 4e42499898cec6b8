#include "kube/config.h"

#include "kube/kubeconfig.h"
#include "lib/files.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* A kubeconfig with embedded certificates is some 10 KB, the bundle of all
 * public authorities 220 KB. */
enum { FILE_MAX = 1 << 20 };

static const char service_dir[] =
	"/var/run/secrets/kubernetes.io/serviceaccount";

static void text_free(char *text)
{
	if (text != NULL) {
		explicit_bzero(text, strlen(text));
	}
	free(text);
}

/* Reads a text file. The caller frees *out with text_free(). */
static int read_text(char **out, const char *path, struct error *err)
{
	/* One piece of memory, so that growing leaves no copies of a key, and
	 * a byte more than is read: a file that is too long has no NUL. */
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
	text_free(text);
	return result;
}

/* A token goes into a header line: what would end the line is refused, white
 * space around it (an editor's newline) is not part of it. */
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
				"the token holds bytes that no token has");
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
		text_free(token);
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

/* The directory a file is in, "." if its path names none. */
static char *path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL) {
		return xstrdup(".");
	}
	return slash == path ? xstrdup("/")
			     : xstrndup(path, (size_t)(slash - path));
}

/* In a kubeconfig the certificate that is embedded wins over the path. */
static int settle_pem(struct kube_item *out, struct kubeconfig_item *item,
	const char *dir, struct error *err)
{
	if (item->data != NULL) {
		out->text = take_ptr(item->data);
		return 0;
	}
	if (item->path == NULL) {
		return 0;
	}
	out->path = path_join(dir, item->path);
	return read_text(&out->text, out->path, err);
}

/* For tokens it is the other way round, as in client-go. */
static int settle_token(struct kube_item *out, struct kubeconfig_item *item,
	const char *dir, struct error *err)
{
	if (item->path != NULL) {
		out->path = path_join(dir, item->path);
		return read_token(&out->text, out->path, err);
	}
	if (item->data == NULL) {
		return 0;
	}
	out->text = take_ptr(item->data);
	return clean_token(out->text, err);
}

static int settle(struct kube_config *config, struct kubeconfig *file,
	const char *dir, struct error *err)
{
	int result = settle_pem(&config->ca, &file->ca, dir, err);

	config->server = take_ptr(file->server);
	config->namespace_name = take_ptr(file->namespace_name);
	if (result == 0) {
		result = settle_pem(&config->cert, &file->cert, dir, err);
	}
	if (result == 0) {
		result = settle_pem(&config->key, &file->key, dir, err);
	}
	if (result == 0) {
		result = settle_token(&config->token, &file->token, dir, err);
	}
	return result;
}

static int load_file(struct kube_config *config, const char *path,
	struct error *err)
{
	scoped_free char *dir = path_dir(path);
	struct kubeconfig file = { 0 };
	char *text = NULL;
	int result = read_text(&text, path, err);

	if (result != 0) {
		return result;
	}
	result = kubeconfig_parse(&file, text, strlen(text), err);
	text_free(text);
	if (result < 0) {
		return error_wrap(err, result, "'%s'", path);
	}
	result = settle(config, &file, dir, err);
	kubeconfig_fini(&file);
	return result < 0 ? error_wrap(err, result, "'%s'", path) : 0;
}

static int load_pod(struct kube_config *config,
	const struct kube_places *places, struct error *err)
{
	/* An IPv6 address stands in brackets in a URL. */
	bool is_v6 = strchr(places->service_host, ':') != NULL;
	scoped_free char *ns = path_join(places->service_dir, "namespace");
	int result;

	config->server = xasprintf("https://%s%s%s:%s", is_v6 ? "[" : "",
		places->service_host, is_v6 ? "]" : "", places->service_port);
	result = kubeconfig_check_server(config->server, err);
	if (result < 0) {
		return result;
	}
	config->token.path = path_join(places->service_dir, "token");
	result = read_token(&config->token.text, config->token.path, err);
	if (result < 0) {
		return result;
	}
	config->ca.path = path_join(places->service_dir, "ca.crt");
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

	/* A file it names may be missing as well; that is told as it is. */
	if (result == -ENOENT && config->server == NULL) {
		return error_set(err, -ENOENT,
			"no way to the API server is known: no --kubeconfig, "
			"no KUBECONFIG, not in a pod, no ~/.kube/config");
	}
	return result;
}

static int load_any(struct kube_config *config,
	const struct kube_places *places, struct error *err)
{
	if (is_given(places->flag)) {
		return load_file(config, places->flag, err);
	}
	if (is_given(places->variable)) {
		if (strchr(places->variable, ':') != NULL) {
			return error_set(err, -EINVAL,
				"KUBECONFIG names more than one file, which is "
				"not supported");
		}
		return load_file(config, places->variable, err);
	}
	if (is_given(places->service_host) && is_given(places->service_port)) {
		int result = load_pod(config, places, err);

		return result < 0 ? error_wrap(err, result,
					    "cannot use the pod's account")
				  : 0;
	}
	return load_home(config, places->home, err);
}

int kube_config_find(struct kube_config *out, const struct kube_places *places,
	struct error *err)
{
	struct kube_config config = { 0 };
	int result = load_any(&config, places, err);

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
	const struct kube_places places = {
		.flag = path,
		.variable = getenv("KUBECONFIG"),
		.service_host = getenv("KUBERNETES_SERVICE_HOST"),
		.service_port = getenv("KUBERNETES_SERVICE_PORT"),
		.service_dir = service_dir,
		.home = getenv("HOME"),
	};

	return kube_config_find(out, &places, err);
}

bool kube_config_is_in_pod(void)
{
	return is_given(getenv("KUBERNETES_SERVICE_HOST")) &&
		is_given(getenv("KUBERNETES_SERVICE_PORT"));
}

/* Whether it is another text now. */
static bool refresh_item(struct kube_item *item,
	int (*read)(char **out, const char *path, struct error *err))
{
	char *text = NULL;

	if (item->path == NULL || read(&text, item->path, NULL) != 0 ||
		text == NULL) {
		return false;
	}
	if (strcmp(text, item->text) == 0) {
		text_free(text);
		return false;
	}
	text_free(item->text);
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

static void item_fini(struct kube_item *item)
{
	free(item->path);
	text_free(item->text);
}

void kube_config_fini(struct kube_config *config)
{
	if (config == NULL) {
		return;
	}
	free(config->server);
	free(config->namespace_name);
	item_fini(&config->ca);
	item_fini(&config->cert);
	item_fini(&config->key);
	item_fini(&config->token);
	*config = (struct kube_config){ 0 };
}
