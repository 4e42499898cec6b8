#include "auth/account.h"

#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void write_groups(struct json *j, const struct account_names *names)
{
	json_array(j, NULL);
	for (size_t i = 0; i < names->group_count; i++) {
		json_string(j, NULL, names->groups[i]);
	}
	json_array_end(j);
}

/* True: an earlier value has this one's key. */
static bool is_written(const struct account_extra *extra, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (strcmp(extra[i].key, extra[at].key) == 0) {
			return true;
		}
	}
	return false;
}

static void write_values(struct json *j, const struct account_names *names,
	const char *key)
{
	json_array(j, key);
	for (size_t i = 0; i < names->extra_count; i++) {
		if (strcmp(names->extra[i].key, key) == 0) {
			json_string(j, NULL, names->extra[i].value);
		}
	}
	json_array_end(j);
}

static void write_extra(struct json *j, const struct account_names *names)
{
	json_object(j, NULL);
	for (size_t i = 0; i < names->extra_count; i++) {
		if (!is_written(names->extra, i)) {
			write_values(j, names, names->extra[i].key);
		}
	}
	json_object_end(j);
}

int account_make(struct account *out, const struct account_names *names,
	struct error *err)
{
	scoped_buffer struct buffer groups = BUFFER_MAX(ACCOUNT_BYTES_MAX);
	scoped_buffer struct buffer extra = BUFFER_MAX(ACCOUNT_BYTES_MAX);
	struct json j = json_into(&groups);

	if (names->group_count > ACCOUNT_GROUPS_MAX ||
		names->extra_count > ACCOUNT_EXTRA_MAX) {
		return error_set(err, -E2BIG,
			"user \"%.120s\" has too many groups or attributes",
			names->user);
	}
	write_groups(&j, names);
	j = json_into(&extra);
	write_extra(&j, names);
	if (groups.overflowed || extra.overflowed) {
		return error_set(err, -E2BIG,
			"the groups and attributes of user \"%.120s\" are too "
			"large",
			names->user);
	}
	*out = (struct account){
		.user = xstrdup(names->user),
		.uid = names->uid == NULL ? NULL : xstrdup(names->uid),
		.groups = buffer_take(&groups, NULL),
		.extra = buffer_take(&extra, NULL),
	};
	return 0;
}

const char *account_service_namespace(size_t *len, const char *user)
{
	static const char prefix[] = "system:serviceaccount:";
	const char *namespace = user + sizeof(prefix) - 1;

	if (strncmp(user, prefix, sizeof(prefix) - 1) != 0) {
		return NULL;
	}
	*len = strcspn(namespace, ":");
	return namespace;
}

char *account_peer(const char *user)
{
	size_t len;
	const char *namespace = account_service_namespace(&len, user);

	return namespace == NULL
		? xstrdup(user)
		: xasprintf("system:serviceaccounts:%.*s", (int)len, namespace);
}

void account_fini(struct account *account)
{
	if (account == NULL) {
		return;
	}
	free(account->user);
	free(account->uid);
	free(account->groups);
	free(account->extra);
	free(account->node);
	free(account->pod);
	free(account->pod_uid);
	*account = (struct account){ 0 };
}
