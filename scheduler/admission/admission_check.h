/* Notices a labelled namespace that nothing serves.
 *
 * Every 30 s it asks the API server for the webhook configuration and, if that
 * is missing or the API server cannot call its webhook, for the policy and its
 * binding. The informers tell it about each pod of a VM. Every change is logged
 * once. */
#pragma once

#include "kube/reflector.h"
#include "lib/buffer.h"
#include "scheduler/admission/missed_pods.h"
#include "scheduler/admission/serving.h"
#include "scheduler/cluster/cluster.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct admission_check;
struct kube_client;
struct webhook;

struct admission_check_options {
	uv_loop_t *loop;
	struct kube_client *client;    /* these outlive the check */
	const struct cluster *cluster; /* its namespaces */
	const char *scheduler_name;    /* that pods are to have */
};

/* Never NULL. */
struct admission_check *admission_check_new(
	const struct admission_check_options *options);

/* This scheduler's webhook, whose certificate the configuration must trust.
 * Borrowed; NULL: it has none, as at the start. */
void admission_check_set_webhook(struct admission_check *check,
	const struct webhook *webhook);

/* The caches are synced: asks for the first time after a second. */
void admission_check_start(struct admission_check *check);

/* The cluster's claims and volumes. */
const struct storage *admission_check_storage(
	const struct admission_check *check);

/* A launcher pod exists; see missed_pods_see(). Returns why plimsoll leaves it
 * to default-scheduler, if the pod is new and its user should know; NULL
 * otherwise. Borrowed until the next call. */
const char *admission_check_pod(struct admission_check *check,
	const struct reflector_id *id, const struct json_value *pod,
	bool is_new);
void admission_check_pod_gone(struct admission_check *check, const char *uid);

/* Appends serving_write()'s sentence. */
void admission_check_describe(const struct admission_check *check,
	struct buffer *out);

struct admission_check_stats {
	enum serving serving;
	size_t labelled; /* namespaces */
	struct missed_counts pods;
	uint64_t missed_total;
};

struct admission_check_stats admission_check_stats(
	const struct admission_check *check);

void admission_check_close(struct admission_check *check); /* NULL is fine */
