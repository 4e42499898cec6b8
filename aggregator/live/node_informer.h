/* The informer of Node objects, which tells struct forget which nodes are gone.
 *
 * Without it nodes are forgotten by age only: if the API server cannot be
 * reached, or does not allow to list nodes, nothing else is missing. The
 * informer keeps trying and logs each change of its state once. */
#pragma once

#include <uv.h>

struct forget;
struct kube_config;
struct node_informer;

/* Takes what config holds and leaves it empty; forget outlives it. Never
 * NULL. */
struct node_informer *node_informer_new(uv_loop_t *loop,
	struct kube_config *config, struct forget *forget);

/* To be called every few seconds: logs changes. NULL is fine. */
void node_informer_poll(struct node_informer *informer);

void node_informer_close(struct node_informer *informer); /* NULL is fine */
