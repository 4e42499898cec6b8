/* The listener of the Kubernetes API load.plimsoll.io: who asks, whether they
 * may, and the documents that describe the API.
 *
 * kube-apiserver sends the requests of users here, as its front proxy
 * (front_proxy.h). A request without the proxy's certificate is refused.
 * Discovery, OpenAPI, the version and the page are open to every user, also
 * before the database is open. For objects a SubjectAccessReview decides.
 *
 * All requests come from kube-apiserver's address, so they count for peers of
 * users (account_peer()). Those for objects and questions take places of
 * httpd_take_place(); the rest is answered at once. */
#pragma once

#include "aggregator/http/context.h"
#include "lib/http/httpd_listener.h"

struct access_review;
struct apiserver;
struct kube_client;
struct load_wait;
struct object_labels;

/* All outlive the apiserver. */
struct apiserver_options {
	const char *address;
	const struct tls_files *tls;
	struct api *api; /* the sources of objects */
	struct access_review *review;
	struct kube_client *kube;
	const struct object_labels *nodes, *pods;
	struct load_wait *waits;
};

/* Errors as httpd_listener_new(). */
must_check int apiserver_new(struct apiserver **out, uv_loop_t *loop,
	const struct apiserver_options *options, struct error *err);

/* NULL is fine. */
const struct httpd_listener *apiserver_listener(const struct apiserver *server);

/* From now on objects are served. */
void apiserver_set_open(struct apiserver *server);

/* To be called every few seconds. NULL is fine. */
void apiserver_poll(struct apiserver *server);

/* Before the client of the API server is closed. NULL is fine. */
void apiserver_stop(struct apiserver *server);

/* After access_review_stop(), and when the store is closed. NULL is fine. */
void apiserver_close(struct apiserver *server);
