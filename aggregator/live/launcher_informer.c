#include "aggregator/live/launcher_informer.h"

#include "aggregator/store/store.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/reflector.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <stdlib.h>

struct launchers {
	struct kube_client *client;
	struct reflector *reflector;
	struct identities *identities;
	bool was_in_trouble; /* at the last look */
	bool has_complained;
};

/* What one look says to the store at most: some MiB until it is written. */
enum { TOLD_MAX = 4096 };

struct telling {
	struct store *store;
	size_t left;
};

/* What does not go in now does at the next look. */
static bool tell_store(void *owner, const char *pod_uid,
	const struct identity *identity)
{
	struct telling *telling = owner;
	struct store_vm vm = { pod_uid, identity->namespace, identity->name,
		identity->vmi_uid, identity->node };

	if (telling->left == 0) {
		return false;
	}
	telling->left--;
	return store_identify(telling->store, &vm, NULL) == 0;
}

static void on_object(void *owner, const struct reflector_id *id,
	const struct value *pod)
{
	struct launchers *launchers = owner;
	struct identity identity;

	if (identity_read(&identity, pod)) {
		identities_put(launchers->identities, id->uid, &identity);
	} else {
		identities_remove(launchers->identities, id->uid);
	}
}

static void on_gone(void *owner, const struct reflector_id *id)
{
	struct launchers *launchers = owner;

	identities_remove(launchers->identities, id->uid);
}

static void on_synced(void *owner)
{
	struct launchers *launchers = owner;

	log_info("VM pods are known by name",
		log_int("pods",
			(int64_t)identities_count(launchers->identities)),
		LOG_END);
}

struct launchers *launchers_new(uv_loop_t *loop, struct kube_config *config,
	struct identities *identities)
{
	struct launchers *launchers = xcalloc(1, sizeof(*launchers));

	launchers->identities = identities;
	launchers->client = kube_client_new(loop, config);
	launchers->reflector = reflector_new(launchers->client,
		&(struct reflector_options){ .path = "/api/v1/pods",
			.label_selector = "kubevirt.io=virt-launcher" },
		&(struct reflector_handler){ on_object, on_gone, on_synced,
			launchers });
	return launchers;
}

/* Watches end and are begun again all the time: only what lasts from one look
 * to the next is worth a line. */
static void look_at_watch(struct launchers *launchers)
{
	const char *trouble;

	trouble = reflector_state(launchers->reflector).trouble;
	if (*trouble == '\0') {
		if (launchers->has_complained) {
			log_info("VM pods can be watched again", LOG_END);
		}
		launchers->has_complained = false;
	} else if (launchers->was_in_trouble && !launchers->has_complained) {
		log_warning(
			"VMs that start now have no names: their pods "
			"cannot be watched",
			log_str("why", trouble), LOG_END);
		launchers->has_complained = true;
	}
	launchers->was_in_trouble = *trouble != '\0';
}

void launchers_look(struct launchers *launchers, struct store *store)
{
	struct telling telling = { store, TOLD_MAX };

	if (launchers != NULL) {
		look_at_watch(launchers);
		(void)identities_tell(launchers->identities, tell_store,
			&telling);
	}
}

void launchers_close(struct launchers *launchers)
{
	if (launchers != NULL) {
		reflector_close(launchers->reflector);
		kube_client_close(launchers->client);
		free(launchers);
	}
}
