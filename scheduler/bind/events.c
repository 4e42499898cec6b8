#include "scheduler/bind/events.h"

#include "kube/client.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/bind/manifest.h"

#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

enum { BODY_MAX = 65536, PENDING_MAX = 256 };
#define COMPLAIN_US UINT64_C(10000000)

static const char too_many[] = "too many are under way";

struct message {
	struct reporter *reporter;
	LIST_ENTRY(message) link;
	struct kube_request *request;
};

struct reporter {
	struct kube_client *client;
	const char *name;
	char *instance;
	LIST_HEAD(message_list, message) open;
	size_t pending;
	struct log_limit limit;
};

struct reporter *reporter_new(struct kube_client *client, const char *name)
{
	struct reporter *reporter = xcalloc(1, sizeof(*reporter));
	char host[256] = "unknown";

	if (gethostname(host, sizeof(host) - 1) < 0) {
		host[0] = '?';
	}
	LIST_INIT(&reporter->open);
	reporter->client = client;
	reporter->name = name;
	reporter->instance = xasprintf("%s-%s", name, host);
	return reporter;
}

static void message_free(struct message *message)
{
	LIST_REMOVE(message, link);
	message->reporter->pending--;
	kube_request_cancel(message->request);
	free(message);
}

static void complain(struct reporter *reporter, const char *why)
{
	if (log_allow(&reporter->limit, clock_monotonic_us(), COMPLAIN_US,
		    NULL)) {
		log_warning("the API server did not take an event or condition",
			log_str("err", why), LOG_END);
	}
}

static void on_sent(void *owner, const struct kube_answer *answer)
{
	struct message *message = owner;

	message->request = NULL;
	/* A pod that is gone needs no news. */
	if (answer->error[0] != '\0' && answer->status != 404) {
		complain(message->reporter, answer->error);
	}
	message_free(message);
}

static void deliver(struct reporter *reporter, struct kube_call call,
	const struct buffer *body)
{
	struct message *message;

	if (reporter->pending >= PENDING_MAX) {
		complain(reporter, too_many);
		return;
	}
	message = xcalloc(1, sizeof(*message));
	message->reporter = reporter;
	LIST_INSERT_HEAD(&reporter->open, message, link);
	reporter->pending++;
	call.body = body->data;
	call.len = body->len;
	call.on_done = on_sent;
	call.owner = message;
	message->request = kube_request_send(reporter->client, &call);
}

static void send_event(struct reporter *reporter, const struct pod *pod,
	bool is_scheduled, const char *note)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = xasprintf(
		"/apis/events.k8s.io/v1/namespaces/%s/events", pod->namespace);
	struct api_event event = {
		.pod = pod,
		.reporter = reporter->name,
		.instance = reporter->instance,
		.is_scheduled = is_scheduled,
		.note = note,
		.wall_us = clock_wall_us(),
	};

	api_event(&body, &event);
	deliver(reporter, (struct kube_call){ .method = "POST", .path = path },
		&body);
}

static void send_condition(struct reporter *reporter, const struct pod *pod,
	const char *reason, const char *message)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path =
		xasprintf("/api/v1/namespaces/%s/pods/%s/status",
			pod->namespace, pod->name);
	struct kube_call call = {
		.method = "PATCH",
		.path = path,
		.type = "application/strategic-merge-patch+json",
	};

	api_condition(&body, pod, reason, message, clock_wall_us());
	deliver(reporter, call, &body);
}

void reporter_scheduled(struct reporter *reporter, const struct pod *pod,
	const char *node, const char *why)
{
	scoped_free char *note = xasprintf(
		"Successfully assigned %s/%s to %s%s%s", pod->namespace,
		pod->name, node, *why == '\0' ? "" : ": ", why);

	send_event(reporter, pod, true, note);
}

bool reporter_unschedulable(struct reporter *reporter, const struct pod *pod,
	const char *message)
{
	/* Both or neither, so that what was left out is made up for as one. */
	if (reporter->pending + 2 > PENDING_MAX) {
		complain(reporter, too_many);
		return false;
	}
	send_condition(reporter, pod, "Unschedulable", message);
	send_event(reporter, pod, false, message);
	return true;
}

void reporter_error(struct reporter *reporter, const struct pod *pod,
	const char *message)
{
	send_condition(reporter, pod, "SchedulerError", message);
	send_event(reporter, pod, false, message);
}

void reporter_close(struct reporter *reporter)
{
	if (reporter == NULL) {
		return;
	}
	for (struct message *m = LIST_FIRST(&reporter->open), *next; m != NULL;
		m = next) {
		next = LIST_NEXT(m, link);
		message_free(m);
	}
	free(reporter->instance);
	free(reporter);
}
