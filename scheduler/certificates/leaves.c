#include "scheduler/certificates/leaves.h"

#include "lib/json.h"
#include "lib/memory.h"

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
	bool is_server = leaf->use == CERTIFICATE_FOR_SERVERS;
	int r = certificate_sign(out, &request,
		is_server ? &authorities->servers : &authorities->clients, err);

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
