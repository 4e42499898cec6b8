#include "aggregator/apiserver/front_proxy_watch.h"

#include "aggregator/live/watch_log.h"
#include "kube/reflector.h"
#include "lib/http/httpd_listener.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <stdlib.h>

struct front_proxy_watch {
	struct httpd_listener *listener;
	struct reflector *reflector;
	struct watch_log log;
	struct front_proxy *settings; /* NULL: none yet */
};

static void on_object(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct front_proxy_watch *watch = owner;
	struct front_proxy *settings = NULL;
	struct error err;
	int r = front_proxy_read(&settings, object, &err);

	(void)id;
	if (r == 0) {
		r = httpd_listener_set_client_ca(watch->listener,
			front_proxy_ca(settings), &err);
	}
	if (r < 0) {
		front_proxy_free(settings);
		log_error(
			"cannot use ConfigMap kube-system/"
			"extension-apiserver-authentication: the API "
			"keeps what it knows of the front proxy",
			log_err(&err), LOG_END);
		return;
	}
	front_proxy_free(watch->settings);
	watch->settings = settings;
	log_info("front proxy settings read", LOG_END);
}

/* An administrator who deletes it gets it back from kube-apiserver. */
static void on_deleted(void *owner, const struct reflector_id *id)
{
	(void)owner;
	(void)id;
}

static void on_synced(void *owner)
{
	const struct front_proxy_watch *watch = owner;

	if (watch->settings == NULL) {
		log_error(
			"no usable ConfigMap kube-system/"
			"extension-apiserver-authentication: the API "
			"refuses all requests",
			LOG_END);
	}
}

struct front_proxy_watch *front_proxy_watch_new(struct kube_client *client,
	struct httpd_listener *listener)
{
	struct front_proxy_watch *watch = xcalloc(1, sizeof(*watch));

	watch->listener = listener;
	watch->reflector = reflector_new(client,
		&(struct reflector_options){
			.path = "/api/v1/namespaces/kube-system/configmaps",
			.field_selector =
				"metadata.name="
				"extension-apiserver-authentication" },
		&(struct reflector_handler){ on_object, on_deleted, on_synced,
			watch });
	return watch;
}

const struct front_proxy *front_proxy_watch_settings(
	const struct front_proxy_watch *watch)
{
	return watch->settings;
}

void front_proxy_watch_poll(struct front_proxy_watch *watch)
{
	if (watch != NULL) {
		watch_log_poll(&watch->log, watch->reflector,
			"cannot watch the front proxy's settings: a new "
			"authority is not seen",
			"front proxy settings watched again");
	}
}

void front_proxy_watch_close(struct front_proxy_watch *watch)
{
	if (watch != NULL) {
		reflector_close(watch->reflector);
		front_proxy_free(watch->settings);
		free(watch);
	}
}
