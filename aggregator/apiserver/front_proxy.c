#include "aggregator/apiserver/front_proxy.h"

#include "kube/json_value.h"
#include "lib/memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAMES_MAX = 64 };

struct names {
	char **items; /* owned */
	size_t count;
};

struct front_proxy {
	char *ca;
	struct names allowed, user, group, uid, extra_prefix;
};

static void names_fini(struct names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->items[i]);
	}
	free(names->items);
}

void front_proxy_free(struct front_proxy *proxy)
{
	if (proxy != NULL) {
		free(proxy->ca);
		names_fini(&proxy->allowed);
		names_fini(&proxy->user);
		names_fini(&proxy->group);
		names_fini(&proxy->uid);
		names_fini(&proxy->extra_prefix);
		free(proxy);
	}
}

const char *front_proxy_ca(const struct front_proxy *proxy)
{
	return proxy->ca;
}

/* ---- the ConfigMap ---- */

static int copy_names(struct names *out, const struct json_value *list,
	const char *key, struct error *err)
{
	if (!json_value_is_array(list) || json_value_count(list) > NAMES_MAX) {
		return error_set(err, -EINVAL, "%s is not a list of names",
			key);
	}
	out->items = xcalloc(NAMES_MAX, sizeof(*out->items));
	for (const struct json_value *v = json_value_first(list); v != NULL;
		v = json_value_next(v)) {
		const char *text = json_value_text(v);

		if (text == NULL || *text == '\0') {
			return error_set(err, -EINVAL,
				"%s has something that is not a name", key);
		}
		out->items[out->count++] = xstrdup(text);
	}
	return 0;
}

/* A list as JSON in a text. Without the key it is empty. */
static int read_names(struct names *out, const struct json_value *data,
	const char *key, struct error *err)
{
	const char *text = json_value_text(json_value_get(data, key));
	struct json_value *list;
	int r;

	if (text == NULL || *text == '\0') {
		return 0;
	}
	r = json_value_parse_bounded(&list, text, strlen(text), err);
	if (r < 0) {
		return error_wrap(err, -EINVAL, "%s", key);
	}
	r = copy_names(out, list, key, err);
	json_value_free(list);
	return r;
}

static int read_data(struct front_proxy *out, const struct json_value *data,
	struct error *err)
{
	const struct {
		struct names *names;
		const char *key;
	} lists[] = {
		{ &out->allowed, "requestheader-allowed-names" },
		{ &out->user, "requestheader-username-headers" },
		{ &out->group, "requestheader-group-headers" },
		{ &out->uid, "requestheader-uid-headers" },
		{ &out->extra_prefix, "requestheader-extra-headers-prefix" },
	};
	const char *ca = json_value_text(
		json_value_get(data, "requestheader-client-ca-file"));
	int r = 0;

	if (ca == NULL || *ca == '\0') {
		return error_set(err, -EINVAL,
			"it has no requestheader-client-ca-file: the API "
			"server is not set up for extensions");
	}
	out->ca = xstrdup(ca);
	for (size_t i = 0; i < count_of(lists) && r == 0; i++) {
		r = read_names(lists[i].names, data, lists[i].key, err);
	}
	if (r == 0 && out->user.count == 0) {
		r = error_set(err, -EINVAL,
			"it has no requestheader-username-headers");
	}
	return r;
}

int front_proxy_read(struct front_proxy **out,
	const struct json_value *config_map, struct error *err)
{
	struct front_proxy *proxy = xcalloc(1, sizeof(*proxy));
	int r = read_data(proxy, json_value_get(config_map, "data"), err);

	if (r < 0) {
		front_proxy_free(proxy);
		return r;
	}
	*out = proxy;
	return 0;
}

/* ---- a request ---- */

static int check_name(const struct front_proxy *proxy, const char *name,
	struct error *err)
{
	for (size_t i = 0; i < proxy->allowed.count; i++) {
		if (strcmp(proxy->allowed.items[i], name) == 0) {
			return 0;
		}
	}
	if (proxy->allowed.count == 0) {
		return error_set(err, -EACCES,
			"the API server names no front proxy: set "
			"--requestheader-allowed-names there, since an empty "
			"list would admit any certificate of the authority");
	}
	return error_set(err, -EACCES,
		"'%.100s' is not the name of a front proxy", name);
}

static bool is_one_of(const struct names *names, const char *header)
{
	for (size_t i = 0; i < names->count; i++) {
		if (strcasecmp(names->items[i], header) == 0) {
			return true;
		}
	}
	return false;
}

struct request {
	const struct front_proxy_header *headers;
	size_t count;
};

/* The first value of a header that is not empty; or NULL. */
static const char *value_of(const struct request *request, const char *name)
{
	for (size_t i = 0; i < request->count; i++) {
		const struct front_proxy_header *h = &request->headers[i];

		if (strcasecmp(h->name, name) == 0 && *h->value != '\0') {
			return h->value;
		}
	}
	return NULL;
}

/* The same of several headers, in the order of the settings. */
static const char *first_value(const struct request *request,
	const struct names *names)
{
	const char *value = NULL;

	for (size_t i = 0; i < names->count && value == NULL; i++) {
		value = value_of(request, names->items[i]);
	}
	return value;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
				       : -1;
}

/* The attribute's key: in small letters, as kube-apiserver reads it, with %2f
 * for what no header may have. The caller frees it. */
static char *decode_key(const char *text)
{
	char *key = xcalloc(strlen(text) + 1, 1);
	size_t len = 0;

	for (const char *at = text; *at != '\0'; at++) {
		int high = -1, low = -1;

		if (*at == '%' && at[1] != '\0') {
			high = digit_of((char)tolower((unsigned char)at[1]));
			low = digit_of((char)tolower((unsigned char)at[2]));
		}
		if (high >= 0 && low >= 0 && high + low > 0) {
			key[len++] = (char)(high * 16 + low);
			at += 2;
		} else {
			key[len++] = (char)tolower((unsigned char)*at);
		}
	}
	return key;
}

/* The text after the prefix of an attribute's header; NULL: it is another
 * header. */
static const char *after_prefix(const struct front_proxy *proxy,
	const char *header)
{
	for (size_t i = 0; i < proxy->extra_prefix.count; i++) {
		const char *prefix = proxy->extra_prefix.items[i];
		size_t len = strlen(prefix);

		if (strncasecmp(header, prefix, len) == 0 &&
			header[len] != '\0') {
			return header + len;
		}
	}
	return NULL;
}

struct found {
	const char **groups;
	struct account_extra *extra;
	char **keys; /* owned; of extra */
	size_t group_count, extra_count;
};

static void find(struct found *found, const struct front_proxy *proxy,
	const struct request *request)
{
	for (size_t i = 0; i < request->count; i++) {
		const struct front_proxy_header *h = &request->headers[i];
		const char *key = after_prefix(proxy, h->name);

		if (is_one_of(&proxy->group, h->name)) {
			found->groups[found->group_count++] = h->value;
		} else if (key != NULL) {
			found->keys[found->extra_count] = decode_key(key);
			found->extra[found->extra_count] =
				(struct account_extra){
					found->keys[found->extra_count],
					h->value
				};
			found->extra_count++;
		}
	}
}

int front_proxy_account(struct account *out, const struct front_proxy *proxy,
	const char *certificate, const struct front_proxy_header *headers,
	size_t count, struct error *err)
{
	const struct request request = { headers, count };
	struct found found = { 0 };
	struct account_names names = {
		.user = first_value(&request, &proxy->user),
		.uid = first_value(&request, &proxy->uid),
	};
	int r = check_name(proxy, certificate, err);

	if (r < 0) {
		return r;
	}
	if (names.user == NULL) {
		return error_set(err, -EACCES, "the front proxy names no user");
	}
	found.groups = xcalloc(count + 1, sizeof(*found.groups));
	found.extra = xcalloc(count + 1, sizeof(*found.extra));
	found.keys = xcalloc(count + 1, sizeof(*found.keys));
	find(&found, proxy, &request);
	names.groups = found.groups;
	names.group_count = found.group_count;
	names.extra = found.extra;
	names.extra_count = found.extra_count;
	r = account_make(out, &names, err);
	for (size_t i = 0; i < found.extra_count; i++) {
		free(found.keys[i]);
	}
	free(found.groups);
	free(found.extra);
	free(found.keys);
	return r;
}
