/* Watches the settings of the front proxy (front_proxy.h), so that a new
 * authority needs no restart.
 *
 * Settings that cannot be read change nothing, with a sentence in the log. Each
 * change is logged once. */
#pragma once

#include "aggregator/apiserver/front_proxy.h"

struct front_proxy_watch;
struct httpd_listener;
struct kube_client;

/* client and listener outlive it. Never NULL. */
struct front_proxy_watch *front_proxy_watch_new(struct kube_client *client,
	struct httpd_listener *listener);

/* The settings now; NULL: none were read yet. Borrowed until the loop runs. */
const struct front_proxy *front_proxy_watch_settings(
	const struct front_proxy_watch *watch);

/* To be called every few seconds: logs changes of the watch. NULL is fine. */
void front_proxy_watch_poll(struct front_proxy_watch *watch);

void front_proxy_watch_close(
	struct front_proxy_watch *watch); /* NULL is fine */
