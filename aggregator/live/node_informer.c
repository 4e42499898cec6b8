#include "aggregator/live/node_informer.h"

#include "aggregator/live/forget.h"
#include "aggregator/live/object_labels.h"
#include "aggregator/live/watch_log.h"
#include "kube/reflector.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <stdlib.h>

struct node_informer {
	struct reflector *reflector;
	struct forget *forget;
	struct object_labels *labels; /* or NULL */
	struct watch_log log;
};

static void on_object(void *owner, const struct reflector_id *id,
	const struct json_value *node)
{
	const struct node_informer *informer = owner;

	forget_object_exists(informer->forget, id->name);
	object_labels_put(informer->labels, id->name, node);
}

static void on_deleted(void *owner, const struct reflector_id *id)
{
	const struct node_informer *informer = owner;

	forget_object_deleted(informer->forget, id->name);
	object_labels_remove(informer->labels, id->name);
}

static void on_synced(void *owner)
{
	const struct node_informer *informer = owner;

	forget_objects_listed(informer->forget);
	log_info("Node cache synced", LOG_END);
}

struct node_informer *node_informer_new(struct kube_client *client,
	struct forget *forget, struct object_labels *labels)
{
	struct node_informer *informer = xcalloc(1, sizeof(*informer));

	informer->forget = forget;
	informer->labels = labels;
	informer->reflector = reflector_new(client,
		&(struct reflector_options){ .path = "/api/v1/nodes" },
		&(struct reflector_handler){ on_object, on_deleted, on_synced,
			informer });
	return informer;
}

void node_informer_poll(struct node_informer *informer)
{
	if (informer != NULL) {
		watch_log_poll(&informer->log, informer->reflector,
			"cannot watch Nodes: those that leave the cluster "
			"are lost until --forget-lost-after",
			"Node watch restored");
	}
}

void node_informer_close(struct node_informer *informer)
{
	if (informer != NULL) {
		reflector_close(informer->reflector);
		free(informer);
	}
}
