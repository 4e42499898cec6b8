/* Whether anything sets schedulerName on the VMs of labelled namespaces, and
 * the sentence that says so. Pure. */
#pragma once

#include "lib/buffer.h"
#include "scheduler/admission/missed_pods.h"

#include <stdbool.h>
#include <stddef.h>

/* The name of the webhook configuration and of the policy. */
#define SERVING_OBJECT "plimsoll-scheduler-name"
/* The webhook in that configuration. */
#define SERVING_WEBHOOK_NAME "scheduler-name.plimsoll.io"

enum serving {
	SERVING_UNKNOWN, /* not asked yet, or not allowed to ask */
	SERVING_WEBHOOK,
	SERVING_POLICY,
	SERVING_UNTRUSTED, /* the API server cannot call it; no policy */
	SERVING_NOTHING,
	SERVING_STATES,
};

/* "webhook": a label's value in metrics. */
const char *serving_name(enum serving serving);

struct serving_verdict {
	enum serving serving;
	/* SERVING_UNKNOWN: the reason, "": not asked yet. SERVING_UNTRUSTED:
	 * serving_webhook_fault()'s words. */
	const char *why;
	const char *scheduler_name; /* which someone should set */
	size_t labelled;	    /* namespaces */
	const char *namespaces;	    /* these, as labelled_list() */
	struct missed_counts pods;
	const char *newest; /* of the missed pods; NULL: none */
};

/* object: a MutatingWebhookConfiguration. certificate: that of this scheduler's
 * webhook as PEM; NULL: it has none. NULL if the API server can trust the
 * webhook as far as this is known; otherwise words such as "has no caBundle".
 * The name in the certificate is not compared with the URL or service. */
const char *serving_webhook_fault(const struct json_value *object,
	const char *certificate);

/* Appends one sentence, a second one if pods are left to default-scheduler on
 * purpose, or nothing if all is well or not known yet. */
void serving_write(struct buffer *out, const struct serving_verdict *verdict);
