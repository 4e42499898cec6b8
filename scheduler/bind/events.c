#include "scheduler/bind/events.h"

#include "kube/client.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "scheduler/bind/bodies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

/* A launcher pod's VMI has an event of its own while no more than VMI_PENDING
 * requests are in flight, and half of the burst is left. */
enum { BODY_MAX = 65536, PENDING_MAX = EVENTS_PENDING, VMI_PENDING = 128 };
#define LOG_AGAIN_US UINT64_C(10000000)

static const char too_many[] = "too many requests in flight";

struct request {
	struct events *events;
	LIST_ENTRY(request) link;
	struct kube_request *call;
};

struct events {
	struct kube_client *client;
	const char *name;
	char *instance;
	LIST_HEAD(request_list, request) open;
	size_t pending;
	struct log_limit limit;
	double tokens; /* events that may go out now */
	int64_t filled_us;
	uint64_t suppressed[EVENTS_LIMITS];
};

struct events *events_new(struct kube_client *client, const char *name)
{
	struct events *events = xcalloc(1, sizeof(*events));
	char host[256] = "unknown";

	if (gethostname(host, sizeof(host) - 1) < 0) {
		host[0] = '?';
	}
	LIST_INIT(&events->open);
	events->client = client;
	events->name = name;
	events->tokens = EVENTS_BURST;
	events->instance = xasprintf("%s-%s", name, host);
	return events;
}

static void request_free(struct request *sent)
{
	LIST_REMOVE(sent, link);
	sent->events->pending--;
	kube_request_cancel(sent->call);
	free(sent);
}

static void log_failure(struct events *events, const char *why)
{
	if (log_allow(&events->limit, clock_monotonic_us(), LOG_AGAIN_US,
		    NULL)) {
		log_warning("cannot write event, condition or nomination",
			log_str("err", why), LOG_END);
	}
}

static void on_sent(void *owner, const struct http_response *response)
{
	struct request *sent = owner;

	sent->call = NULL;
	/* 404: the pod, or its namespace, was deleted. */
	if (response->error[0] != '\0' && response->status != 404) {
		log_failure(sent->events, response->error);
	}
	request_free(sent);
}

static void deliver(struct events *events, struct kube_call call,
	const struct buffer *body)
{
	struct request *sent;

	if (events->pending >= PENDING_MAX) {
		events->suppressed[EVENTS_IN_FLIGHT]++;
		log_failure(events, too_many);
		return;
	}
	sent = xcalloc(1, sizeof(*sent));
	sent->events = events;
	LIST_INSERT_HEAD(&events->open, sent, link);
	events->pending++;
	call.priority = HTTP_BACKGROUND; /* after the bindings */
	call.body = body->data;
	call.len = body->len;
	call.on_done = on_sent;
	call.owner = sent;
	sent->call = kube_request_send(events->client, &call);
}

static void send_event(struct events *events, const struct pod *pod,
	const struct events_pod *about)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = xasprintf(
		"/apis/events.k8s.io/v1/namespaces/%s/events", pod->namespace);
	struct body_event event = {
		.pod = pod,
		.controller = events->name,
		.instance = events->instance,
		.action = about->action,
		.reason = about->reason,
		.is_warning = about->is_warning,
		.note = about->note,
		.wall_us = clock_wall_us(),
	};

	body_event(&body, &event);
	deliver(events, (struct kube_call){ .method = "POST", .path = path },
		&body);
}

/* type: a literal. */
static void patch_status(struct events *events, const struct pod *pod,
	const char *type, struct buffer *body)
{
	scoped_free char *path =
		xasprintf("/api/v1/namespaces/%s/pods/%s/status",
			pod->namespace, pod->name);

	deliver(events,
		(struct kube_call){ .method = "PATCH",
			.path = path,
			.type = type },
		body);
}

static void send_condition(struct events *events, const struct pod *pod,
	const char *reason, const char *message)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);

	body_condition(&body, pod, reason, message, clock_wall_us());
	patch_status(events, pod, "application/strategic-merge-patch+json",
		&body);
}

void events_nominate(struct events *events, const struct pod *pod,
	const char *node)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);

	body_nomination(&body, pod, node);
	patch_status(events, pod, "application/merge-patch+json", &body);
}

/* A token bucket. */
static void fill(struct events *events, int64_t now_us)
{
	if (now_us > events->filled_us) {
		events->tokens = fmin(EVENTS_BURST,
			events->tokens +
				(double)(now_us - events->filled_us) *
					EVENTS_PER_S / 1e6);
		events->filled_us = now_us;
	}
}

static bool take_token(struct events *events, int64_t now_us)
{
	fill(events, now_us);
	if (events->tokens < 1) {
		return false;
	}
	events->tokens--;
	return true;
}

void events_about_vmi(struct events *events, const struct events_vmi *event,
	int64_t now_us)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = NULL;

	if (!take_token(events, now_us)) {
		events->suppressed[EVENTS_OF_ALL]++;
		return;
	}
	path = xasprintf("/apis/events.k8s.io/v1/namespaces/%s/events",
		event->namespace);
	body_vmi_event(&body,
		&(struct body_vmi_event){
			.namespace = event->namespace,
			.name = event->name,
			.uid = event->uid,
			.controller = events->name,
			.instance = events->instance,
			.action = event->action == NULL ? "Moving"
							: event->action,
			.reason = event->reason,
			.note = event->note,
			.is_warning = event->is_warning,
			.wall_us = clock_wall_us(),
		});
	deliver(events, (struct kube_call){ .method = "POST", .path = path },
		&body);
}

/* When many VMs start at once, each pod has its event first. */
static bool has_room_for_vmi(struct events *events, int64_t now_us)
{
	fill(events, now_us);
	return events->pending < VMI_PENDING &&
		events->tokens > EVENTS_BURST / 2.0;
}

/* The event of a launcher pod, about its VMI. */
static void tell_vmi(struct events *events, const struct pod *pod,
	const struct events_pod *about, int64_t now_us)
{
	const struct events_vmi event = {
		.namespace = pod->namespace,
		.name = pod->vm_name,
		.uid = pod->vmi_uid,
		.action = about->action,
		.reason = about->reason,
		.note = about->note,
		.is_warning = about->is_warning,
	};

	if (!pod->is_vm || *event.name == '\0' || *event.uid == '\0') {
		return;
	}
	if (has_room_for_vmi(events, now_us)) {
		events_about_vmi(events, &event, now_us);
	} else {
		events->suppressed[EVENTS_OF_VMI]++;
	}
}

void events_about_pod(struct events *events, const struct pod *pod,
	const struct events_pod *event, int64_t now_us)
{
	if (take_token(events, now_us)) {
		send_event(events, pod, event);
	} else {
		events->suppressed[EVENTS_OF_ALL]++;
	}
	tell_vmi(events, pod, event, now_us);
}

void events_left_alone(struct events *events, struct interner *interner,
	const struct json_value *object, const char *why, int64_t now_us)
{
	scoped_free char *note =
		xasprintf("%s leaves the pod to default-scheduler: %s",
			events->name, why);
	const struct events_pod about = { "Scheduling", "LeftToDefault", note,
		false };
	struct error err;
	struct pod *pod;

	if (pod_new(&pod, interner, object, POD_SCHEDULED, &err) == 0) {
		events_about_pod(events, pod, &about, now_us);
		pod_free(pod);
	}
}

/* The message is new, or old enough to be reported again. */
static bool is_new(const struct queued_pod *queued, const char *message,
	int64_t now_us)
{
	return queued->message == NULL ||
		strcmp(queued->message, message) != 0 ||
		now_us - queued->reported_us >= EVENTS_REPEAT_US;
}

struct failure {
	uint32_t reasons;      /* bits of enum queued_reason */
	const char *condition; /* its reason */
	const char *message;
	int64_t now_us;
	bool is_new;
};

/* An event told each of the reasons within EVENTS_REPEAT_US. */
static bool is_told(const struct queued_pod *queued,
	const struct failure *failure)
{
	for (int i = 0; i < QUEUED_REASONS; i++) {
		if ((failure->reasons >> i & 1) != 0 &&
			failure->now_us >= queued->event_allowed_us[i]) {
			return false;
		}
	}
	return true;
}

static void tell(struct events *events, struct queued_pod *queued,
	const struct failure *failure)
{
	const struct events_pod about = { "Scheduling", "FailedScheduling",
		failure->message, true };

	send_event(events, queued->pod, &about);
	tell_vmi(events, queued->pod, &about, failure->now_us);
	for (int i = 0; i < QUEUED_REASONS; i++) {
		if ((failure->reasons >> i & 1) != 0) {
			queued->event_allowed_us[i] =
				failure->now_us + EVENTS_REPEAT_US;
		}
	}
}

/* Sends the event if the limits allow it. */
static void report_event(struct events *events, struct queued_pod *queued,
	const struct failure *failure)
{
	bool is_too_soon = is_told(queued, failure);

	queued->owes_event = false;
	if (!is_too_soon && take_token(events, failure->now_us)) {
		tell(events, queued, failure);
		return;
	}
	queued->owes_event = !is_too_soon;
	if (failure->is_new) {
		events->suppressed[is_too_soon ? EVENTS_OF_POD
					       : EVENTS_OF_ALL]++;
	}
}

/* Sends the condition if the failure is new, and the event. */
static void report(struct events *events, struct queued_pod *queued,
	const struct failure *failure)
{
	if (failure->is_new) {
		send_condition(events, queued->pod, failure->condition,
			failure->message);
		free(queued->message);
		queued->message = xstrdup(failure->message);
		queued->reported_us = failure->now_us;
	}
	report_event(events, queued, failure);
}

void events_scheduled(struct events *events, const struct pod *pod,
	const char *node, const char *why, int64_t now_us)
{
	scoped_free char *note = xasprintf("Successfully assigned %s/%s to %s",
		pod->namespace, pod->name, *why == '\0' ? node : why);
	const struct events_pod about = { "Binding", "Scheduled", note, false };

	log_info("pod bound", log_str("namespace", pod->namespace),
		log_str("pod", pod->name), log_str("node", node),
		log_str("why", why), LOG_END);
	events_about_pod(events, pod, &about, now_us);
}

bool events_unschedulable(struct events *events, struct queued_pod *queued,
	const char *message, int64_t now_us)
{
	const struct failure failure = {
		.reasons = queued->plugins != 0 ? queued->plugins
						: UINT32_C(1) << QUEUED_NO_NODE,
		.condition = "Unschedulable",
		.message = message,
		.now_us = now_us,
		.is_new = is_new(queued, message, now_us),
	};
	const struct pod *pod = queued->pod;

	if (!failure.is_new && !queued->owes_event) {
		return true;
	}
	/* The condition and both events or none: the caller repeats them. */
	if (events->pending + 3 > PENDING_MAX) {
		log_failure(events, too_many);
		return false;
	}
	if (failure.is_new) {
		log_info("pod unschedulable",
			log_str("namespace", pod->namespace),
			log_str("pod", pod->name), log_str("reason", message),
			LOG_END);
	}
	report(events, queued, &failure);
	return true;
}

void events_error(struct events *events, struct queued_pod *queued,
	const char *message, int64_t now_us)
{
	const struct failure failure = {
		.reasons = UINT32_C(1) << QUEUED_ERROR,
		.condition = "SchedulerError",
		.message = message,
		.now_us = now_us,
		.is_new = is_new(queued, message, now_us),
	};
	const struct pod *pod = queued->pod;

	if (failure.is_new) {
		log_warning("pod not bound",
			log_str("namespace", pod->namespace),
			log_str("pod", pod->name), log_str("err", message),
			LOG_END);
		report(events, queued, &failure);
	}
}

uint64_t events_suppressed(const struct events *events, enum events_limit limit)
{
	return events->suppressed[limit];
}

void events_close(struct events *events)
{
	if (events == NULL) {
		return;
	}
	for (struct request *sent = LIST_FIRST(&events->open), *next;
		sent != NULL; sent = next) {
		next = LIST_NEXT(sent, link);
		request_free(sent);
	}
	free(events->instance);
	free(events);
}
