#include "scheduler/certificates/authorities.h"

#include "kube/json_value.h"
#include "lib/base64.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/tls/certificate_issue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S INT64_C(86400)
#define US_PER_S UINT64_C(1000000)

static const char servers_cert[] = "servers-ca.crt";
static const char servers_key[] = "servers-ca.key";
static const char clients_cert[] = "clients-ca.crt";
static const char clients_key[] = "clients-ca.key";

void authorities_fini(struct authorities *authorities)
{
	tls_fini(&authorities->servers);
	tls_fini(&authorities->clients);
	free(take_ptr(authorities->version));
}

static int read_text(char **out, const struct json_value *data, const char *key,
	struct error *err)
{
	const char *text = json_value_text(json_value_get(data, key));

	if (text == NULL) {
		return error_set(err, -EBADMSG,
			"Secret " AUTHORITIES_SECRET
			" holds other keys of authorities, but no '%s'",
			key);
	}
	*out = base64_decode_text(text);
	if (*out == NULL) {
		return error_set(err, -EBADMSG,
			"'%s' of Secret " AUTHORITIES_SECRET " is no text",
			key);
	}
	return 0;
}

static int read_all(struct authorities *out, const struct json_value *data,
	struct error *err)
{
	int r = read_text(&out->servers.cert, data, servers_cert, err);

	if (r == 0) {
		r = read_text(&out->servers.key, data, servers_key, err);
	}
	if (r == 0) {
		r = read_text(&out->clients.cert, data, clients_cert, err);
	}
	if (r == 0) {
		r = read_text(&out->clients.key, data, clients_key, err);
	}
	return r;
}

static int read_secret(struct authorities *out, bool *holds_some,
	const struct json_value *secret, struct error *err)
{
	const char *version =
		json_value_text_at(secret, "metadata/resourceVersion", "");
	const struct json_value *data = json_value_get(secret, "data");
	bool has_any = json_value_get(data, servers_cert) != NULL ||
		json_value_get(data, servers_key) != NULL ||
		json_value_get(data, clients_cert) != NULL ||
		json_value_get(data, clients_key) != NULL;
	int r;

	if (*version == '\0') {
		return error_set(err, -EBADMSG,
			"the response for Secret " AUTHORITIES_SECRET
			" is no Secret");
	}
	r = has_any ? read_all(out, data, err) : 0;
	if (r == 0) {
		out->version = xstrdup(version);
		*holds_some = has_any;
	}
	return r;
}

int authorities_read(struct authorities *out, bool *holds_some,
	const char *secret, size_t len, struct error *err)
{
	struct authorities read = { 0 };
	struct json_value *parsed = NULL;
	int r = json_value_parse(&parsed, secret, len, err);

	if (r < 0) {
		return error_wrap(err, r,
			"the response for Secret " AUTHORITIES_SECRET);
	}
	r = read_secret(&read, holds_some, parsed, err);
	json_value_free_secret(parsed);
	if (r < 0) {
		authorities_fini(&read);
		return r;
	}
	*out = read;
	return 0;
}

static struct certificate_validity validity_from(int64_t from_s)
{
	return (struct certificate_validity){
		.from_s = from_s,
		.until_s = from_s + AUTHORITIES_DAYS * DAY_S,
	};
}

static int renew(struct tls_material *authority, int64_t from_s,
	struct error *err)
{
	const struct certificate_validity validity = validity_from(from_s);
	struct tls_material renewed = { 0 };
	int r = certificate_renew_authority(&renewed, authority, &validity,
		err);

	if (r < 0) {
		return error_wrap(err, r, "it ends too early");
	}
	tls_fini(authority);
	*authority = renewed;
	return 0;
}

static int keep(struct tls_material *authority, const char *whose,
	bool *has_renewed, int64_t from_s, int64_t until_s, struct error *err)
{
	int r = certificate_check_authority(authority, until_s, err);

	if (r == -EKEYEXPIRED) {
		r = renew(authority, from_s, err);
		*has_renewed = true;
	}
	return r == 0 ? 0
		      : error_wrap(err, r,
				"the %s' authority in "
				"Secret " AUTHORITIES_SECRET " cannot be used",
				whose);
}

int authorities_keep(struct authorities *authorities, bool *has_renewed,
	int64_t from_s, int64_t until_s, struct error *err)
{
	int64_t soon_s = from_s + AUTHORITIES_RENEW_DAYS * DAY_S;
	int64_t least_s = until_s > soon_s ? until_s : soon_s;
	int r = keep(&authorities->servers, "servers", has_renewed, from_s,
		least_s, err);

	return r < 0 ? r
		     : keep(&authorities->clients, "clients", has_renewed,
			       from_s, least_s, err);
}

int authorities_make(struct authorities *authorities, int64_t from_s,
	struct error *err)
{
	const struct certificate_validity validity = validity_from(from_s);
	struct authorities made = { 0 };
	char when[CLOCK_TEXT_MAX];
	char *servers, *clients;
	int r;

	/* Another set of authorities has other names. */
	clock_text(when, (uint64_t)from_s * US_PER_S);
	servers = xasprintf("plimsoll-servers-ca %.19sZ", when);
	clients = xasprintf("plimsoll-clients-ca %.19sZ", when);
	r = certificate_make_authority(&made.servers, servers, &validity, err);
	if (r == 0) {
		r = certificate_make_authority(&made.clients, clients,
			&validity, err);
	}
	free(servers);
	free(clients);
	if (r < 0) {
		authorities_fini(&made);
		return r;
	}
	tls_fini(&authorities->servers);
	tls_fini(&authorities->clients);
	authorities->servers = made.servers;
	authorities->clients = made.clients;
	return 0;
}

void authorities_write(struct buffer *out,
	const struct authorities *authorities)
{
	struct json j = json_into(out);

	json_object(&j, NULL);
	json_object(&j, "metadata");
	json_string(&j, "resourceVersion", authorities->version);
	json_object_end(&j);
	json_object(&j, "stringData");
	json_string(&j, servers_cert, authorities->servers.cert);
	json_string(&j, servers_key, authorities->servers.key);
	json_string(&j, clients_cert, authorities->clients.cert);
	json_string(&j, clients_key, authorities->clients.key);
	json_object_end(&j);
	json_object_end(&j);
}
