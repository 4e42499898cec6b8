/* The informer of Node objects, which tells struct forget which nodes are gone.
 *
 * Without it nodes are forgotten by age only: if the API server cannot be
 * reached, or does not allow to list nodes, nothing else is missing. The
 * informer keeps trying and logs each change of its state once. */
#pragma once

struct forget;
struct kube_client;
struct object_labels;
struct node_informer;

/* client, forget and labels outlive it; labels NULL: they are not kept. Never
 * NULL. */
struct node_informer *node_informer_new(struct kube_client *client,
	struct forget *forget, struct object_labels *labels);

/* To be called every few seconds: logs changes. NULL is fine. */
void node_informer_poll(struct node_informer *informer);

void node_informer_close(struct node_informer *informer); /* NULL is fine */
