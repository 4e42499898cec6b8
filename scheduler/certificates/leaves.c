#include "scheduler/certificates/leaves.h"

#include "kube/json_value.h"
#include "lib/base64.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/tls/certificate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 5 + OPTION_LIST_MAX };

const struct leaf leaves[LEAVES] = {
	{ "plimsoll-aggregator-tls", "plimsoll-aggregator",
		CERTIFICATE_FOR_SERVERS, false },
	{ "plimsoll-scheduler-server-tls", "plimsoll-scheduler",
		CERTIFICATE_FOR_SERVERS, false },
	{ "plimsoll-scheduler-tls", "plimsoll-scheduler",
		CERTIFICATE_FOR_CLIENTS, false },
	{ "plimsoll-agent-tls", "plimsoll-agent", CERTIFICATE_FOR_CLIENTS,
		true },
};

const char *leaf_namespace(const struct leaf *leaf,
	const struct certificates_config *config)
{
	return leaf->is_of_agents ? config->agents_namespace
				  : config->namespace_name;
}

/* Clients send to the Service from any namespace. Returns their number; the
 * caller frees the first five, and the others are the configuration's. */
static size_t list_names(const char *names[NAMES_MAX], char *own[5],
	const struct leaf *leaf, const struct certificates_config *config)
{
	const char *namespace = config->namespace_name;
	size_t count = 0;

	if (leaf->use == CERTIFICATE_FOR_CLIENTS) {
		names[0] = leaf->name;
		return 1;
	}
	own[0] = xstrdup("localhost");
	own[1] = xstrdup(leaf->name);
	own[2] = xasprintf("%s.%s", leaf->name, namespace);
	own[3] = xasprintf("%s.%s.svc", leaf->name, namespace);
	own[4] = xasprintf("%s.%s.svc.cluster.local", leaf->name, namespace);
	for (; count < 5; count++) {
		names[count] = own[count];
	}
	for (size_t i = 0; i < config->dns_names.count; i++) {
		names[count++] = config->dns_names.items[i];
	}
	return count;
}

static const struct tls_material *signer_of(const struct leaf *leaf,
	const struct authorities *authorities)
{
	return leaf->use == CERTIFICATE_FOR_SERVERS ? &authorities->servers
						    : &authorities->clients;
}

static int sign(struct tls_material *out, const struct leaf *leaf,
	const struct certificates_config *config,
	const struct authorities *authorities,
	const struct certificate_validity *validity, struct error *err)
{
	const char *names[NAMES_MAX];
	char *own[5] = { 0 };
	struct certificate_request request = {
		.use = leaf->use,
		.common_name = leaf->name,
		.dns_names = names,
		.dns_count = list_names(names, own, leaf, config),
		.validity = *validity,
	};
	int r = certificate_sign(out, &request, signer_of(leaf, authorities),
		err);

	for (size_t i = 0; i < count_of(own); i++) {
		free(own[i]);
	}
	return r;
}

/* The authority of the peers: only the aggregator's have client
 * certificates. */
static const char *trusted(const struct leaf *leaf,
	const struct authorities *authorities)
{
	bool has_clients = leaf->use == CERTIFICATE_FOR_SERVERS &&
		strcmp(leaf->name, "plimsoll-aggregator") == 0;

	return has_clients ? authorities->clients.cert
			   : authorities->servers.cert;
}

/* NULL: there is none. */
static char *read_text(const struct json_value *secret, const char *path)
{
	const char *text = json_value_text_at(secret, path, NULL);

	return text == NULL ? NULL : base64_decode_text(text);
}

static bool has_signed(const struct tls_material *signer, const char *cert)
{
	scoped_free char *first = certificate_first(signer->cert);
	int r = certificate_check_trust(cert, first, NULL);

	/* Its end is no question of the signature. */
	return r == 0 || r == -EKEYEXPIRED;
}

static bool is_current(const struct tls_material *held, const struct leaf *leaf,
	const struct authorities *authorities, const struct leaf_ends *ends)
{
	int64_t expiry_s = 0;

	return held->ca != NULL && held->cert != NULL && held->key != NULL &&
		strcmp(held->ca, trusted(leaf, authorities)) == 0 &&
		certificate_expiry(&expiry_s, held->cert, NULL) == 0 &&
		expiry_s > ends->after_s && expiry_s <= ends->last_s &&
		certificate_check_pair(held->cert, held->key, NULL) == 0 &&
		has_signed(signer_of(leaf, authorities), held->cert);
}

bool leaf_is_current(const struct leaf *leaf,
	const struct authorities *authorities, const char *secret, size_t len,
	const struct leaf_ends *ends)
{
	struct json_value *parsed = NULL;
	struct tls_material held;
	bool is;

	if (json_value_parse(&parsed, secret, len, NULL) < 0) {
		return false;
	}
	held = (struct tls_material){
		.ca = read_text(parsed, "data/ca.crt"),
		.cert = read_text(parsed, "data/tls.crt"),
		.key = read_text(parsed, "data/tls.key"),
	};
	json_value_free_secret(parsed);
	is = is_current(&held, leaf, authorities, ends);
	tls_fini(&held);
	return is;
}

int leaf_write(struct buffer *out, const struct leaf *leaf,
	const struct certificates_config *config,
	const struct authorities *authorities,
	const struct certificate_validity *validity, struct error *err)
{
	struct tls_material material = { 0 };
	struct json j = json_into(out);
	int r = sign(&material, leaf, config, authorities, validity, err);

	if (r < 0) {
		return error_wrap(err, r, "Secret %s", leaf->secret);
	}
	json_object(&j, NULL);
	json_object(&j, "stringData");
	json_string(&j, "ca.crt", trusted(leaf, authorities));
	json_string(&j, "tls.crt", material.cert);
	json_string(&j, "tls.key", material.key);
	json_object_end(&j);
	json_object_end(&j);
	tls_fini(&material);
	return 0;
}
