#include "auth/access_review.h"

#include "auth/access_review_text.h"
#include "auth/review_cache.h"
#include "auth/subject_access.h"
#include "kube/client.h"
#include "kube/config.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t allowed_us = 60000000;
static const uint64_t refused_us = 5000000;
static const uint64_t pod_us = 1000000;
static const uint64_t log_interval_us = 10000000;

/* A path has at most 32 KiB, the limit of HTTP's headers. */
enum { ACCESS_BYTES_MAX = 512 << 10 };

struct access_review {
	struct review_cache *review_cache;
	struct log_topics log_limits[ACCESS_REVIEW_OUTCOMES]; /* by outcome */
};

/* A request while it passes through the steps. */
struct check {
	struct access_review *review;
	bool is_named; /* the account was given: no token, no right */
	struct access_review_request request; /* no token and subject */
	char *subject;			      /* a copy; NULL: none */
	struct account account;
	struct error refusal; /* of what was asked last */
};

static const struct {
	const char *path; /* NULL: the subject, by a token for the API server */
	const char *verb;
	const char *name; /* for logs */
} rights[] = {
	[ACCESS_REVIEW_REPORT] = { "/plimsoll/reports", "create", "report" },
	[ACCESS_REVIEW_SNAPSHOT] = { "/plimsoll/snapshots", "get", "snapshot" },
	[ACCESS_REVIEW_HTTP] = { NULL, "get", "http" },
	[ACCESS_REVIEW_HTTP_POST] = { NULL, "post", "http post" },
	[ACCESS_REVIEW_HTTP_DELETE] = { NULL, "delete", "http delete" },
};

static const char *audience_of(enum access_review_right right)
{
	return rights[right].path == NULL ? NULL : ACCESS_REVIEW_AUDIENCE;
}

static void log_outcome(const struct check *check,
	enum access_review_outcome outcome, const struct error *why)
{
	const char *message = "peer refused";
	uint64_t suppressed = 0;

	if (outcome == ACCESS_REVIEW_UNREACHABLE) {
		message = check->is_named ? "cannot review access"
					  : "cannot review a token";
	}
	if (log_allow_topic(&check->review->log_limits[outcome],
		    clock_monotonic_us(), log_interval_us, why->text,
		    &suppressed)) {
		log_warning(message,
			log_str("right",
				check->is_named
					? "resource"
					: rights[check->request.right].name),
			log_str("subject", check->subject), log_err(why),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

static void fill_pod(const struct check *check)
{
	scoped_free char *path = NULL;
	struct access_review_pod *pod = check->request.pod;

	*pod = (struct access_review_pod){ 0 };
	if (access_review_pod_path(&path, &check->account, NULL) == 0 &&
		strlen(path) < sizeof(pod->path) &&
		strlen(check->account.pod_uid) < sizeof(pod->uid)) {
		(void)snprintf(pod->path, sizeof(pod->path), "%s", path);
		(void)snprintf(pod->uid, sizeof(pod->uid), "%s",
			check->account.pod_uid);
	}
}

/* why is NULL with ACCESS_REVIEW_ALLOWED alone. */
static void end(struct check *check, enum access_review_outcome outcome,
	const struct error *why)
{
	static const struct error none;

	if (outcome != ACCESS_REVIEW_ALLOWED) {
		log_outcome(check, outcome, why);
	} else if (check->request.user != NULL) {
		*check->request.user = xstrdup(check->account.user);
	}
	if (outcome == ACCESS_REVIEW_ALLOWED && check->request.pod != NULL) {
		fill_pod(check);
	}
	check->request.done(check->request.owner, outcome,
		why == NULL ? &none : why);
	account_fini(&check->account);
	free(check->subject);
	free(check);
}

static void end_unreachable(struct check *check, const char *reason)
{
	struct error why;

	(void)error_set(&why, -EAGAIN,
		"the API server cannot review the %s, try again: %.200s",
		check->is_named ? "access" : "token", reason);
	end(check, ACCESS_REVIEW_UNREACHABLE, &why);
}

/* Ends a check whose answer could not be read or is negative; refusal is what
 * -EACCES and -EPERM mean at this step. */
static void end_rejected(struct check *check,
	enum access_review_outcome refusal, const struct error *why)
{
	if (why->code == -EBADMSG) {
		end_unreachable(check, why->text);
	} else {
		end(check, refusal, why);
	}
}

static bool is_success(const struct http_response *answer)
{
	return answer->status / 100 == 2;
}

static void send_request(struct check *check,
	struct review_cache_question request)
{
	request.owner = check;
	review_cache_ask(check->review->review_cache, &request,
		clock_monotonic_us());
}

/* ---- step three, for agents: the node ---- */

static uint64_t keep_nothing(const struct http_response *answer)
{
	(void)answer;
	return 0;
}

static void on_pod(void *owner, const struct http_response *answer)
{
	struct check *check = owner;
	struct error why;

	if (answer->status == 404) {
		(void)error_set(&why, -EPERM,
			"the pod of the token of '%.120s' no longer exists",
			check->account.user);
		end(check, ACCESS_REVIEW_WRONG_NODE, &why);
	} else if (!is_success(answer)) {
		end_unreachable(check, answer->error);
	} else if (access_review_check_pod(&check->account, check->subject,
			   answer->body, answer->len, &why) < 0) {
		end_rejected(check, ACCESS_REVIEW_WRONG_NODE, &why);
	} else {
		end(check, ACCESS_REVIEW_ALLOWED, NULL);
	}
}

static void check_node(struct check *check)
{
	scoped_free char *path = NULL;
	struct error why;
	int r;

	if (check->account.node != NULL) {
		r = access_review_check_node(&check->account, check->subject,
			&why);
		end(check,
			r < 0 ? ACCESS_REVIEW_WRONG_NODE
			      : ACCESS_REVIEW_ALLOWED,
			r < 0 ? &why : NULL);
		return;
	}
	if (access_review_pod_path(&path, &check->account, &why) < 0) {
		end(check, ACCESS_REVIEW_WRONG_NODE, &why);
		return;
	}
	send_request(check,
		(struct review_cache_question){ .method = "GET",
			.path = path,
			.keep = keep_nothing,
			.done = on_pod });
}

/* ---- step two: the account's rights ---- */

static uint64_t keep_access(const struct http_response *answer)
{
	bool is_allowed = false;

	if (!is_success(answer)) {
		return 0;
	}
	return subject_access_read(&is_allowed, answer->body, answer->len,
		       NULL) == 0 &&
			is_allowed
		? allowed_us
		: refused_us;
}

static void on_access(void *owner, const struct http_response *answer)
{
	struct check *check = owner;
	bool is_allowed = false;
	struct error why;

	if (!is_success(answer)) {
		end_unreachable(check, answer->error);
	} else if (subject_access_read(&is_allowed, answer->body, answer->len,
			   &why) < 0) {
		end_rejected(check, ACCESS_REVIEW_FORBIDDEN, &why);
	} else if (!is_allowed) {
		end(check, ACCESS_REVIEW_FORBIDDEN, &check->refusal);
	} else if (!check->is_named &&
		check->request.right == ACCESS_REVIEW_REPORT) {
		check_node(check);
	} else {
		end(check, ACCESS_REVIEW_ALLOWED, NULL);
	}
}

static void check_access(struct check *check, const struct account *account,
	const struct subject_access *access)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ACCESS_BYTES_MAX);

	subject_access_refuse(&check->refusal, account, access);
	subject_access_write(&body, account, access);
	if (body.overflowed) {
		end_unreachable(check, "the account is too large");
		return;
	}
	send_request(check,
		(struct review_cache_question){
			.method = "POST",
			.path = "/apis/authorization.k8s.io/v1/"
				"subjectaccessreviews",
			.body = body.data,
			.keep = keep_access,
			.done = on_access,
		});
}

void access_review_resource(struct access_review *review,
	const struct access_review_resource_request *request)
{
	struct check *check = xcalloc(1, sizeof(*check));

	check->review = review;
	check->is_named = true;
	check->subject = xstrdup(request->access->resource);
	check->request.done = request->done;
	check->request.owner = request->owner;
	check_access(check, request->account, request->access);
}

/* ---- step one: the token's account ---- */

static uint64_t keep_account(const struct http_response *answer)
{
	struct account account = { 0 };

	if (!is_success(answer)) {
		return 0;
	}
	if (access_review_read_account(&account, answer->body, answer->len,
		    NULL, NULL) < 0) {
		return refused_us;
	}
	account_fini(&account);
	return allowed_us;
}

static void on_account(void *owner, const struct http_response *answer)
{
	struct check *check = owner;
	const char *path = rights[check->request.right].path;
	struct error why;

	if (!is_success(answer)) {
		end_unreachable(check, answer->error);
	} else if (access_review_read_account(&check->account, answer->body,
			   answer->len, audience_of(check->request.right),
			   &why) < 0) {
		end_rejected(check, ACCESS_REVIEW_BAD_TOKEN, &why);
	} else {
		check_access(check, &check->account,
			&(struct subject_access){
				.verb = rights[check->request.right].verb,
				.path = path == NULL ? check->subject : path,
			});
	}
}

static struct check *check_new(struct access_review *review,
	const struct access_review_request *request)
{
	struct check *check = xcalloc(1, sizeof(*check));

	check->review = review;
	check->request = *request;
	check->request.token = check->request.subject = NULL;
	check->subject =
		request->subject == NULL ? NULL : xstrdup(request->subject);
	return check;
}

void access_review_start(struct access_review *review,
	const struct access_review_request *request)
{
	struct check *check = check_new(review, request);
	struct error why;
	char *body;

	if (request->token == NULL || request->token[0] == '\0') {
		(void)error_set(&why, -EACCES, "a bearer token is required");
		end(check, ACCESS_REVIEW_NO_TOKEN, &why);
		return;
	}
	if (!access_review_is_token(request->token)) {
		(void)error_set(&why, -EACCES,
			"the token contains invalid characters");
		end(check, ACCESS_REVIEW_BAD_TOKEN, &why);
		return;
	}
	body = access_review_token_body(request->token,
		audience_of(request->right));
	send_request(check,
		(struct review_cache_question){
			.method = "POST",
			.path = "/apis/authentication.k8s.io/v1/tokenreviews",
			.body = body,
			.keep = keep_account,
			.done = on_account,
		});
	secret_free(body);
}

/* ---- the pod of another agent ---- */

struct leaving {
	char uid[sizeof(((struct access_review_pod *)NULL)->uid)];
	void (*done)(void *owner, bool leaves);
	void *owner;
};

static uint64_t keep_pods(const struct http_response *answer)
{
	return is_success(answer) ? pod_us : 0;
}

static void on_pods(void *owner, const struct http_response *answer)
{
	struct leaving *leaving = owner;
	bool leaves = false;

	/* An answer that cannot be read says nothing. */
	if (is_success(answer) &&
		access_review_read_pods(&leaves, leaving->uid, answer->body,
			answer->len, NULL) < 0) {
		leaves = false;
	}
	leaving->done(leaving->owner, leaves);
	free(leaving);
}

void access_review_pod_leaves(struct access_review *review,
	const struct access_review_pod *pod,
	void (*done)(void *owner, bool leaves), void *owner)
{
	struct leaving *leaving = xcalloc(1, sizeof(*leaving));
	const char *slash = strrchr(pod->path, '/');
	scoped_free char *path =
		xasprintf("%.*s?fieldSelector=metadata.name%%3D%s",
			(int)(slash - pod->path), pod->path, slash + 1);

	(void)snprintf(leaving->uid, sizeof(leaving->uid), "%s", pod->uid);
	leaving->done = done;
	leaving->owner = owner;
	review_cache_ask(review->review_cache,
		&(struct review_cache_question){ .method = "GET",
			.path = path,
			.keep = keep_pods,
			.done = on_pods,
			.owner = leaving },
		clock_monotonic_us());
}

struct access_review *access_review_new(uv_loop_t *loop,
	struct kube_config *config)
{
	struct access_review *review = xcalloc(1, sizeof(*review));

	review->review_cache = review_cache_new(kube_client_new(loop, config));
	return review;
}

void access_review_stop(struct access_review *review)
{
	if (review != NULL) {
		review_cache_stop(review->review_cache);
	}
}

void access_review_free(struct access_review *review)
{
	if (review != NULL) {
		review_cache_free(review->review_cache);
		free(review);
	}
}
