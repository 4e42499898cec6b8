#include "kube/kubeconfig.h"

#include "kube/config.h"
#include "kube/json_value.h"
#include "kube/yaml.h"
#include "lib/base64.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads a string member; NULL if it is missing, null or "". */
static int read_text(const char **out, const struct json_value *object,
	const char *key, struct error *err)
{
	const struct json_value *member = json_value_get(object, key);
	const char *text = json_value_text(member);

	if (member != NULL && text == NULL && !json_value_is_null(member)) {
		return error_set(err, -EBADMSG, "'%s' is not text", key);
	}
	*out = text != NULL && text[0] != '\0' ? text : NULL;
	return 0;
}

static int copy_text(char **out, const struct json_value *object,
	const char *key, struct error *err)
{
	const char *text = NULL;
	int result = read_text(&text, object, key, err);

	if (result == 0 && text != NULL) {
		*out = xstrdup(text);
	}
	return result;
}

/* Reads "NAME-data", which is base64, and "NAME", which is a path. */
static int read_pem(struct kube_config_item *out,
	const struct json_value *object, const char *name, struct error *err)
{
	scoped_free char *data_key = xasprintf("%s-data", name);
	const char *data = NULL;
	int result = read_text(&data, object, data_key, err);

	if (result < 0) {
		return result;
	}
	if (data != NULL) {
		out->text = base64_decode_text(data);
		if (out->text == NULL) {
			return error_set(err, -EBADMSG,
				"'%s' is not base64 of text", data_key);
		}
	}
	return copy_text(&out->path, object, name, err);
}

int kubeconfig_check_server(const char *server, struct error *err)
{
	const char *host = server + strlen("https://");

	if (strncmp(server, "https://", strlen("https://")) != 0) {
		return error_set(err, -EPROTONOSUPPORT,
			"server '%s' is not https://", server);
	}
	if (host[0] == '\0' || host[0] == '/' || host[0] == ':') {
		return error_set(err, -EPROTONOSUPPORT,
			"server '%s' has no host", server);
	}
	for (; *host != '\0'; host++) {
		if (*host <= ' ' || *host >= 0x7f ||
			strchr("@?#\\\"", *host) != NULL) {
			return error_set(err, -EPROTONOSUPPORT,
				"server is not a plain URL: it has a user, a "
				"query or an invalid character");
		}
	}
	return 0;
}

static int read_server(struct kube_config *config,
	const struct json_value *cluster, struct error *err)
{
	size_t len;
	int result = copy_text(&config->server, cluster, "server", err);

	if (result < 0) {
		return result;
	}
	if (config->server == NULL) {
		return error_set(err, -EBADMSG, "'server' is missing");
	}
	result = kubeconfig_check_server(config->server, err);
	if (result < 0) {
		return result;
	}
	len = strlen(config->server);
	while (config->server[len - 1] == '/') {
		config->server[--len] = '\0';
	}
	return 0;
}

/* Fails if one of the members is set. */
static int refuse_members(const struct json_value *object,
	const char *const *keys, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct json_value *member =
			json_value_get(object, keys[i]);
		const char *text = json_value_text(member);

		if (member != NULL && !json_value_is_null(member) &&
			(text == NULL || text[0] != '\0')) {
			return error_set(err, -EPROTONOSUPPORT,
				"'%s' is not supported", keys[i]);
		}
	}
	return 0;
}

static int read_cluster(struct kube_config *config,
	const struct json_value *cluster, struct error *err)
{
	static const char *const refused[] = { "proxy-url", "tls-server-name" };
	int result = refuse_members(cluster, refused, count_of(refused), err);

	if (result < 0) {
		return result;
	}
	if (json_value_true(
		    json_value_get(cluster, "insecure-skip-tls-verify"))) {
		return error_set(err, -EPROTONOSUPPORT,
			"'insecure-skip-tls-verify' is not supported: the "
			"server's certificate is always checked");
	}
	result = read_server(config, cluster, err);
	if (result < 0) {
		return result;
	}
	return read_pem(&config->ca, cluster, "certificate-authority", err);
}

static bool has_item(const struct kube_config_item *item)
{
	return item->text != NULL || item->path != NULL;
}

static int read_user(struct kube_config *config, const struct json_value *user,
	struct error *err)
{
	static const char *const refused[] = { "exec", "auth-provider",
		"username", "password", "as", "as-uid", "as-groups",
		"as-user-extra" };
	int result = refuse_members(user, refused, count_of(refused), err);

	if (result == 0) {
		result = read_pem(&config->cert, user, "client-certificate",
			err);
	}
	if (result == 0) {
		result = read_pem(&config->key, user, "client-key", err);
	}
	if (result == 0) {
		result = copy_text(&config->token.text, user, "token", err);
	}
	if (result == 0) {
		result = copy_text(&config->token.path, user, "tokenFile", err);
	}
	if (result == 0 && has_item(&config->cert) != has_item(&config->key)) {
		result = error_set(err, -EBADMSG,
			"client certificate and client key must be given "
			"together");
	}
	return result;
}

/* Finds a cluster, user or context by name. */
static int find_named(const struct json_value **out,
	const struct json_value *root, const char *kind, const char *name,
	struct error *err)
{
	scoped_free char *list = xasprintf("%ss", kind);
	const struct json_value *entry =
		json_value_first(json_value_get(root, list));

	for (; entry != NULL; entry = json_value_next(entry)) {
		const struct json_value *body = json_value_get(entry, kind);

		if (strcmp(json_value_text_at(entry, "name", ""), name) == 0 &&
			json_value_is_object(body)) {
			*out = body;
			return 0;
		}
	}
	return error_set(err, -EBADMSG, "%s '%s' not found", kind, name);
}

static int read_context(struct kube_config *config,
	const struct json_value *root, struct error *err)
{
	const char *name = json_value_text_at(root, "current-context", "");
	const struct json_value *context = NULL;
	const struct json_value *cluster = NULL;
	const struct json_value *user = NULL;
	const char *user_name;
	int result;

	if (name[0] == '\0') {
		return error_set(err, -EBADMSG, "'current-context' is missing");
	}
	result = find_named(&context, root, "context", name, err);
	if (result < 0) {
		return result;
	}
	config->namespace_name =
		xstrdup(json_value_text_at(context, "namespace", "default"));
	name = json_value_text_at(context, "cluster", "");
	result = find_named(&cluster, root, "cluster", name, err);
	if (result < 0) {
		return result;
	}
	result = read_cluster(config, cluster, err);
	if (result < 0) {
		return error_wrap(err, result, "cluster '%s'", name);
	}
	/* Without a user, requests are anonymous. */
	user_name = json_value_text_at(context, "user", "");
	if (user_name[0] == '\0') {
		return 0;
	}
	result = find_named(&user, root, "user", user_name, err);
	if (result < 0) {
		return result;
	}
	result = read_user(config, user, err);
	return result < 0 ? error_wrap(err, result, "user '%s'", user_name) : 0;
}

static void item_fini(struct kube_config_item *item)
{
	free(item->path);
	secret_free(item->text);
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

int kubeconfig_parse(struct kube_config *out, const char *text, size_t len,
	struct error *err)
{
	struct kube_config config = { 0 };
	struct json_value *root = NULL;
	int result = yaml_parse(&root, text, len, err);

	if (result < 0) {
		return error_wrap(err, -EBADMSG, "not a kubeconfig");
	}
	if (!json_value_is_object(root)) {
		result = error_set(err, -EBADMSG,
			"not a kubeconfig: it has no keys");
	} else {
		result = read_context(&config, root, err);
	}
	json_value_free(root);
	if (result < 0) {
		kube_config_fini(&config);
		return result;
	}
	*out = config;
	return 0;
}
