#include "aggregator/live/node_informer.h"

#include "aggregator/live/forget.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/reflector.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <stdlib.h>

struct node_informer {
	struct kube_client *client;
	struct reflector *reflector;
	struct forget *forget;
	bool had_error; /* at the last poll */
	bool has_logged;
};

static void on_object(void *owner, const struct reflector_id *id,
	const struct json_value *node)
{
	const struct node_informer *informer = owner;

	(void)node;
	forget_object_exists(informer->forget, id->name);
}

static void on_deleted(void *owner, const struct reflector_id *id)
{
	const struct node_informer *informer = owner;

	forget_object_deleted(informer->forget, id->name);
}

static void on_synced(void *owner)
{
	const struct node_informer *informer = owner;

	forget_objects_listed(informer->forget);
	log_info("Node cache synced", LOG_END);
}

struct node_informer *node_informer_new(uv_loop_t *loop,
	struct kube_config *config, struct forget *forget)
{
	struct node_informer *informer = xcalloc(1, sizeof(*informer));

	informer->forget = forget;
	informer->client = kube_client_new(loop, config);
	informer->reflector = reflector_new(informer->client,
		&(struct reflector_options){ .path = "/api/v1/nodes" },
		&(struct reflector_handler){ on_object, on_deleted, on_synced,
			informer });
	return informer;
}

/* As in the launcher informer: an error that lasts for two polls. */
void node_informer_poll(struct node_informer *informer)
{
	const char *why = informer == NULL
		? ""
		: reflector_state(informer->reflector).last_error;

	if (informer == NULL) {
		return;
	}
	if (*why == '\0') {
		if (informer->has_logged) {
			log_info("Node watch restored", LOG_END);
		}
		informer->has_logged = false;
	} else if (informer->had_error && !informer->has_logged) {
		log_warning(
			"cannot watch Nodes: those that leave the cluster "
			"are lost until --forget-lost-after",
			log_str("why", why), LOG_END);
		informer->has_logged = true;
	}
	informer->had_error = *why != '\0';
}

void node_informer_close(struct node_informer *informer)
{
	if (informer != NULL) {
		reflector_close(informer->reflector);
		kube_client_close(informer->client);
		free(informer);
	}
}
