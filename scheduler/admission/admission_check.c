#include "scheduler/admission/admission_check.h"

#include "kube/client.h"
#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/admission/webhook.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_MS = 1000, AGAIN_MS = 30000, SENTENCE_MAX = 4096 };
#define LOG_AGAIN_US UINT64_C(10000000)

#define API "/apis/admissionregistration.k8s.io/v1/"
static const char webhook_path[] =
	API "mutatingwebhookconfigurations/" SERVING_OBJECT;
static const char binding_path[] =
	API "mutatingadmissionpolicybindings/" SERVING_OBJECT;
static const char policy_path[] =
	API "mutatingadmissionpolicies/" SERVING_OBJECT;

struct admission_check {
	struct admission_check_options options;
	struct timer *timer;
	struct labelled labelled;
	struct kube_request *request;  /* NULL: none is pending */
	const struct webhook *webhook; /* borrowed; NULL: none */
	enum serving without_policy;   /* the result if there is no policy */
	const char *fault; /* static; why that is SERVING_UNTRUSTED */
	char *failure;	   /* owned; why it is not known; NULL: it is */
	bool is_away;	   /* the API server did not answer about the webhook */
	enum serving serving;
	char *why; /* owned; as serving_verdict */
	struct missed_pods pods;
	/* Owned; what was logged last, without the reason of SERVING_UNKNOWN,
	 * which may hold times; NULL: nothing. */
	char *logged;
	bool has_logged_earlier;
	struct log_limit limit;
};

/* ---- the result ---- */

static void fill(struct serving_verdict *out,
	const struct admission_check *check, struct buffer *namespaces)
{
	*out = (struct serving_verdict){
		.serving = check->serving,
		.why = check->why == NULL ? "" : check->why,
		.scheduler_name = check->options.scheduler_name,
		.pods = missed_pods_count(&check->pods, &check->labelled),
		.newest = check->pods.newest,
	};
	out->labelled = labelled_list(namespaces, &check->labelled);
	out->namespaces = namespaces->data;
}

void admission_check_describe(const struct admission_check *check,
	struct buffer *out)
{
	scoped_buffer struct buffer namespaces = BUFFER_MAX(SENTENCE_MAX);
	struct serving_verdict verdict;

	fill(&verdict, check, &namespaces);
	serving_write(out, &verdict);
}

struct admission_check_stats admission_check_stats(
	const struct admission_check *check)
{
	return (struct admission_check_stats){
		.serving = check->serving,
		.labelled = labelled_list(NULL, &check->labelled),
		.pods = missed_pods_count(&check->pods, &check->labelled),
		.missed_total = check->pods.total,
	};
}

static bool is_served(enum serving serving)
{
	return serving == SERVING_WEBHOOK || serving == SERVING_POLICY;
}

/* Without the pods, which are logged one by one. */
static void write_state(struct buffer *out, struct serving_verdict verdict)
{
	verdict.pods = (struct missed_counts){ 0 };
	buffer_text(out, "");
	serving_write(out, &verdict);
	if (out->len == 0) {
		buffer_printf(out,
			"the %s " SERVING_OBJECT " sets schedulerName on VMs",
			serving_name(verdict.serving));
	}
}

/* And remembers it. */
static bool is_logged(struct admission_check *check,
	struct serving_verdict verdict)
{
	scoped_buffer struct buffer text = BUFFER_MAX(SENTENCE_MAX);

	if (verdict.serving == SERVING_UNKNOWN) {
		verdict.why = "-";
	}
	write_state(&text, verdict);
	if (check->logged != NULL && strcmp(check->logged, text.data) == 0) {
		return true;
	}
	xreplace(&check->logged, text.data);
	return false;
}

/* Only a labelled namespace makes a missing webhook a mistake. */
static void log_change(struct admission_check *check)
{
	scoped_buffer struct buffer namespaces = BUFFER_MAX(SENTENCE_MAX);
	scoped_buffer struct buffer text = BUFFER_MAX(SENTENCE_MAX);
	struct serving_verdict verdict;

	fill(&verdict, check, &namespaces);
	if (is_logged(check, verdict)) {
		return;
	}
	write_state(&text, verdict);
	if (verdict.labelled > 0 && !is_served(check->serving)) {
		log_warning("schedulerName of VMs", log_str("state", text.data),
			LOG_END);
	} else {
		log_info("schedulerName of VMs", log_str("state", text.data),
			LOG_END);
	}
}

/* Once, until there are none. */
static void log_earlier(struct admission_check *check)
{
	size_t count =
		missed_pods_count(&check->pods, &check->labelled).earlier;

	if (count > 0 && !check->has_logged_earlier) {
		log_warning(
			"VMs of labelled namespaces had the default "
			"scheduler's name before this scheduler watched",
			log_int("pods", (int64_t)count), LOG_END);
	}
	check->has_logged_earlier = count > 0;
}

static void conclude(struct admission_check *check, enum serving serving,
	const char *why)
{
	check->serving = serving;
	xreplace(&check->why, why);
	log_change(check);
	log_earlier(check);
}

/* ---- asking ---- */

static bool is_away(const struct http_response *response)
{
	return response->status == 0 || response->status >= 500;
}

/* A server that is away says nothing about the state: the last one stays, if
 * there is one. */
static void conclude_unknown(struct admission_check *check, bool is_away,
	const char *why)
{
	if (!is_away || check->serving == SERVING_UNKNOWN) {
		conclude(check, SERVING_UNKNOWN, why);
	}
}

static void ask(struct admission_check *check, const char *path, http_done done)
{
	check->request = kube_request_send(check->options.client,
		&(struct kube_call){ .method = "GET",
			.path = path,
			.on_done = done,
			.owner = check });
}

/* About the policy or its binding, which both must exist. */
static void conclude_without_policy(struct admission_check *check,
	const struct http_response *response)
{
	if (check->failure != NULL) {
		conclude_unknown(check, check->is_away, check->failure);
	} else if (response->status == 404) {
		conclude(check, check->without_policy, check->fault);
	} else {
		conclude_unknown(check, is_away(response), response->error);
	}
}

static void on_policy(void *owner, const struct http_response *response)
{
	struct admission_check *check = owner;

	check->request = NULL;
	if (response->status == 200) {
		conclude(check, SERVING_POLICY, NULL);
	} else {
		conclude_without_policy(check, response);
	}
}

static void on_binding(void *owner, const struct http_response *response)
{
	struct admission_check *check = owner;

	check->request = NULL;
	if (response->status == 200) {
		ask(check, policy_path, on_policy);
	} else {
		conclude_without_policy(check, response);
	}
}

/* A text that is no JSON has no webhook. */
static void read_webhook(struct admission_check *check,
	const struct http_response *response)
{
	struct json_value *object = NULL;
	int r = json_value_parse(&object, response->body, response->len, NULL);

	(void)r;
	check->fault = serving_webhook_fault(object,
		check->webhook == NULL ? NULL
				       : webhook_certificate(check->webhook));
	check->without_policy =
		check->fault == NULL ? SERVING_WEBHOOK : SERVING_UNTRUSTED;
	json_value_free(object);
}

static void on_webhook(void *owner, const struct http_response *response)
{
	struct admission_check *check = owner;

	check->request = NULL;
	xreplace(&check->failure, NULL);
	check->without_policy = SERVING_NOTHING;
	check->fault = NULL;
	if (response->status == 200) {
		read_webhook(check, response);
	} else if (response->status != 404) {
		check->is_away = is_away(response);
		xreplace(&check->failure, response->error);
	}
	if (check->without_policy == SERVING_WEBHOOK) {
		conclude(check, SERVING_WEBHOOK, NULL);
	} else {
		ask(check, binding_path, on_binding);
	}
}

static void on_timer(void *owner)
{
	struct admission_check *check = owner;

	if (check->request == NULL) {
		ask(check, webhook_path, on_webhook);
	}
}

/* ---- pods ---- */

const struct storage *admission_check_storage(
	const struct admission_check *check)
{
	return &check->options.cluster->storage;
}

const char *admission_check_pod(struct admission_check *check,
	const struct reflector_id *id, const struct json_value *pod,
	bool is_new)
{
	enum missed_kind kind = missed_pods_see(&check->pods, &check->labelled,
		id, pod, is_new);
	uint64_t suppressed = 0;

	if (kind == MISSED_NAME &&
		log_allow(&check->limit, clock_monotonic_us(), LOG_AGAIN_US,
			&suppressed)) {
		log_warning(
			"a VM of a labelled namespace has the default "
			"scheduler's name",
			log_str("namespace", id->namespace_name),
			log_str("pod", id->name),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
	return kind == MISSED_UNSUPPORTED
		? missed_pods_unsupported(&check->pods, id->uid)
		: NULL;
}

void admission_check_pod_gone(struct admission_check *check, const char *uid)
{
	missed_pods_gone(&check->pods, uid);
}

/* ---- life ---- */

struct admission_check *admission_check_new(
	const struct admission_check_options *options)
{
	struct admission_check *check = xcalloc(1, sizeof(*check));

	check->options = *options;
	labelled_init(&check->labelled, options->cluster);
	check->timer = timer_new(options->loop, on_timer, check);
	return check;
}

void admission_check_set_webhook(struct admission_check *check,
	const struct webhook *webhook)
{
	check->webhook = webhook;
}

void admission_check_start(struct admission_check *check)
{
	timer_start(check->timer, FIRST_MS, AGAIN_MS);
}

void admission_check_close(struct admission_check *check)
{
	if (check != NULL) {
		kube_request_cancel(check->request);
		timer_close(check->timer);
		missed_pods_fini(&check->pods);
		labelled_fini(&check->labelled);
		free(check->failure);
		free(check->why);
		free(check->logged);
		free(check);
	}
}
