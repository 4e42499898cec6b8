#include "aggregator/live/launcher_informer.h"

#include "aggregator/live/watch_log.h"
#include "aggregator/store/store.h"
#include "kube/reflector.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>

struct launcher_informer {
	struct reflector *reflector;
	struct identities *identities;
	struct object_labels *labels; /* or NULL */
	struct watch_log log;
};

/* Identities per poll: some MiB until they are written. */
enum { SAVED_MAX = 4096 };

struct saving {
	struct store *store;
	struct identities *identities;
	size_t left;
};

/* A record that cannot be written now, as on a full disk, is saved again. */
static void on_saved(void *owner, const struct error *err)
{
	if (err != NULL && err->code != -EDQUOT) {
		identities_unsave(owner);
	}
}

/* The next poll saves what the store does not accept now. */
static bool save_identity(void *owner, const char *pod_uid,
	const struct identity *identity)
{
	struct saving *saving = owner;
	struct store_vm vm = { pod_uid, identity->namespace, identity->name,
		identity->vmi_uid, identity->node };

	if (saving->left == 0) {
		return false;
	}
	saving->left--;
	return store_identify(saving->store, &vm, on_saved, saving->identities,
		       NULL) == 0;
}

static void on_object(void *owner, const struct reflector_id *id,
	const struct json_value *pod)
{
	struct launcher_informer *informer = owner;
	struct identity identity;

	if (identity_read(&identity, pod)) {
		identities_put(informer->identities, id->uid, &identity);
		object_labels_put(informer->labels, id->uid, pod);
	} else {
		identities_remove(informer->identities, id->uid);
		object_labels_remove(informer->labels, id->uid);
	}
}

static void on_deleted(void *owner, const struct reflector_id *id)
{
	struct launcher_informer *informer = owner;

	identities_remove(informer->identities, id->uid);
	object_labels_remove(informer->labels, id->uid);
}

static void on_synced(void *owner)
{
	struct launcher_informer *informer = owner;

	identities_set_complete(informer->identities);
	log_info("VM pod cache synced",
		log_int("pods",
			(int64_t)identities_count(informer->identities)),
		LOG_END);
}

struct launcher_informer *launcher_informer_new(struct kube_client *client,
	struct identities *identities, struct object_labels *labels)
{
	struct launcher_informer *informer = xcalloc(1, sizeof(*informer));

	informer->identities = identities;
	informer->labels = labels;
	informer->reflector = reflector_new(client,
		&(struct reflector_options){ .path = "/api/v1/pods",
			.label_selector = "kubevirt.io=virt-launcher" },
		&(struct reflector_handler){ on_object, on_deleted, on_synced,
			informer });
	return informer;
}

void launcher_informer_poll(struct launcher_informer *informer,
	struct store *store)
{
	struct saving saving = { store, NULL, SAVED_MAX };

	if (informer != NULL) {
		saving.identities = informer->identities;
		watch_log_poll(&informer->log, informer->reflector,
			"cannot watch VM pods: new VMs have no names",
			"VM pod watch restored");
		(void)identities_save(informer->identities, save_identity,
			&saving);
	}
}

void launcher_informer_close(struct launcher_informer *informer)
{
	if (informer != NULL) {
		reflector_close(informer->reflector);
		free(informer);
	}
}
