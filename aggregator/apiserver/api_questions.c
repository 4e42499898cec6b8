#include "aggregator/apiserver/api_questions.h"

#include "aggregator/apiserver/question_object.h"
#include "aggregator/apiserver/question_reach.h"
#include "aggregator/ingest/questions.h"
#include "auth/access_review.h"
#include "auth/subject_access.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
	HANG_UP_MS = 1000, /* between looks at the clients */
	OBJECT_MAX = ANSWER_BODY_MAX + QUESTION_BODY_MAX + 4096,
};

#define PATH_OF(plural) "/apis/" API_GROUP_VERSION "/namespaces/*/" plural

const struct httpd_body api_question_bodies[API_QUESTION_BODIES] = {
	{ "POST", PATH_OF("placements"), QUESTION_BODY_MAX, true },
	{ "POST", PATH_OF("plans"), QUESTION_BODY_MAX, true },
};

/* A question from its first review to its answer. */
struct asking {
	LIST_ENTRY(asking) link;
	struct api_questions *all;
	struct httpd_request *request;
	struct account account;
	uint64_t since_us;
	struct rest_path path;
	struct question_object object;
	struct question_reach reach;
	size_t reviewed; /* of its reviews */
	bool is_asked;	 /* the scheduler has it, or will */
};

struct api_questions {
	struct questions *questions;
	struct access_review *review;
	struct timer *timer;
	LIST_HEAD(asking_list, asking) open;
	bool is_stopped;
};

/* After the reply. */
static void end(struct asking *asking)
{
	LIST_REMOVE(asking, link);
	if (LIST_EMPTY(&asking->all->open)) {
		timer_stop(asking->all->timer);
	}
	account_fini(&asking->account);
	question_object_fini(&asking->object);
	question_reach_fini(&asking->reach);
	free(asking);
}

static void refuse(struct asking *asking, int status, const char *sentence)
{
	httpd_reply_error(asking->request, status, "%s", sentence);
	end(asking);
}

/* ---- the answer ---- */

static void reply_answer(struct asking *asking, const char *status)
{
	scoped_buffer struct buffer body = BUFFER_MAX(OBJECT_MAX);

	question_object_write(&body, &asking->object, &asking->path, status);
	if (body.overflowed) {
		refuse(asking, 500, "the answer is too large");
		return;
	}
	httpd_reply(asking->request, 201, "application/json", body.data,
		body.len);
	end(asking);
}

/* A question_done. */
static void on_answer(void *owner, unsigned status, const char *body,
	size_t len)
{
	struct asking *asking = owner;

	if (status == 200 && memchr(body, '\0', len) == NULL) {
		reply_answer(asking, body);
	} else if (status >= 400 && status < 600) {
		refuse(asking, (int)status, body);
	} else {
		refuse(asking, 502, "the scheduler's answer is not usable");
	}
}

/* ---- the question ---- */

static void ask_scheduler(struct asking *asking, bool is_visible)
{
	scoped_free char *peer = account_peer(asking->account.user);
	const struct asked asked = {
		.kind = asking->path.kind == API_PLANS ? QUESTION_PLAN
						       : QUESTION_PLACEMENT,
		.namespace = asking->path.namespace,
		.is_visible = is_visible,
		.body = asking->object.spec,
		.len = asking->object.spec_len,
		.peer = peer,
		.is_reserved = is_visible,
		.since_us = asking->since_us,
	};
	struct error error;
	int r = questions_ask(asking->all->questions, &asked, on_answer, asking,
		&error);

	if (r < 0) {
		refuse(asking, questions_status_of(r), error.text);
	} else {
		asking->is_asked = true;
	}
}

/* True: the request has ended, because it cannot be asked any more. */
static bool is_over(struct asking *asking)
{
	if (asking->all->is_stopped) {
		refuse(asking, 503, "shutting down");
		return true;
	}
	if (httpd_is_abandoned(asking->request)) {
		refuse(asking, 503, "the client has hung up");
		return true;
	}
	return false;
}

/* ---- the reviews ---- */

static void review(struct asking *asking, const struct subject_access *access,
	access_review_done done)
{
	access_review_resource(asking->all->review,
		&(struct access_review_resource_request){
			.account = &asking->account,
			.access = access,
			.done = done,
			.owner = asking });
}

static void on_visible(void *owner, enum access_review_outcome outcome,
	const struct error *why)
{
	struct asking *asking = owner;

	if (outcome != ACCESS_REVIEW_ALLOWED &&
		outcome != ACCESS_REVIEW_FORBIDDEN) {
		refuse(asking, 503, why->text);
	} else if (!is_over(asking)) {
		ask_scheduler(asking, outcome == ACCESS_REVIEW_ALLOWED);
	}
}

static void on_reached(void *owner, enum access_review_outcome outcome,
	const struct error *why);

/* The next namespace that the manifest looks into; behind the last one, what
 * the answer may name. */
static void review_next(struct asking *asking)
{
	static const struct subject_access vms = { .verb = "list",
		.group = API_GROUP,
		.version = API_VERSION,
		.resource = "vmloads" };
	struct subject_access pods = { .verb = "list",
		.version = "v1",
		.resource = "pods" };

	if (is_over(asking)) {
		return;
	}
	if (asking->reviewed < question_reach_reviews(&asking->reach)) {
		pods.namespace = question_reach_namespace(&asking->reach,
			asking->reviewed++);
		review(asking, &pods, on_reached);
	} else {
		review(asking, &vms, on_visible);
	}
}

static void on_reached(void *owner, enum access_review_outcome outcome,
	const struct error *why)
{
	struct asking *asking = owner;

	if (outcome == ACCESS_REVIEW_ALLOWED) {
		review_next(asking);
	} else if (outcome == ACCESS_REVIEW_FORBIDDEN) {
		httpd_reply_error(asking->request, 403,
			"the pod affinity of spec.object looks into other "
			"namespaces, and their pods are forbidden: %s",
			why->text);
		end(asking);
	} else {
		refuse(asking, 503, why->text);
	}
}

static void on_allowed(void *owner, enum access_review_outcome outcome,
	const struct error *why)
{
	struct asking *asking = owner;

	if (outcome == ACCESS_REVIEW_ALLOWED) {
		review_next(asking);
	} else if (outcome == ACCESS_REVIEW_FORBIDDEN) {
		httpd_reply_error(asking->request, 403,
			"%s." API_GROUP " is forbidden: %s",
			api_plural(asking->path.kind), why->text);
		end(asking);
	} else {
		refuse(asking, 503, why->text);
	}
}

static int read_object(struct question_object *out,
	const struct api_questions *all, const struct rest_path *path,
	const struct httpd_request *request, struct error *err)
{
	const char *body;
	size_t len;

	if (strcmp(httpd_method(request), "POST") != 0 ||
		path->name[0] != '\0' || path->namespace[0] == '\0') {
		(void)error_set(err, -EINVAL,
			"%s are questions: they are only created, in a "
			"namespace and without a name in the path",
			api_plural(path->kind));
		return 405;
	}
	if (all->is_stopped) {
		(void)error_set(err, -ESHUTDOWN, "shutting down");
		return 503;
	}
	body = httpd_body(request, &len);
	return question_object_read(out, path, body, len, err);
}

void api_questions_serve(struct api_questions *all, struct account *account,
	const struct rest_path *path, struct httpd_request *request)
{
	const struct subject_access access = { .verb = "create",
		.group = API_GROUP,
		.version = API_VERSION,
		.resource = api_plural(path->kind),
		.namespace = path->namespace };
	struct question_object object = { 0 };
	struct asking *asking;
	struct error error;
	int status = read_object(&object, all, path, request, &error);

	if (status != 0) {
		httpd_reply_error(request, status, "%s", error.text);
		return;
	}
	asking = xcalloc(1, sizeof(*asking));
	asking->all = all;
	asking->request = request;
	asking->since_us = clock_monotonic_us();
	asking->path = *path;
	asking->object = object;
	if (path->kind == API_PLACEMENTS) {
		question_reach_read(&asking->reach, object.spec,
			object.spec_len, path->namespace);
	}
	asking->account = *account;
	*account = (struct account){ 0 };
	if (LIST_EMPTY(&all->open)) {
		timer_start(all->timer, HANG_UP_MS, HANG_UP_MS);
	}
	LIST_INSERT_HEAD(&all->open, asking, link);
	review(asking, &access, on_allowed);
}

/* ---- all ---- */

/* Those that the scheduler has end here; a review ends by itself. */
static void check_clients(void *owner)
{
	struct api_questions *all = owner;

	for (struct asking *a = LIST_FIRST(&all->open), *next; a != NULL;
		a = next) {
		next = LIST_NEXT(a, link);
		if (a->is_asked &&
			(all->is_stopped || httpd_is_abandoned(a->request))) {
			questions_cancel(all->questions, a);
			(void)is_over(a);
		}
	}
}

struct api_questions *api_questions_new(uv_loop_t *loop,
	struct questions *questions, struct access_review *review)
{
	struct api_questions *all = xcalloc(1, sizeof(*all));

	all->questions = questions;
	all->review = review;
	all->timer = timer_new(loop, check_clients, all);
	LIST_INIT(&all->open);
	return all;
}

void api_questions_stop(struct api_questions *all)
{
	if (all != NULL) {
		all->is_stopped = true;
		check_clients(all);
	}
}

void api_questions_free(struct api_questions *all)
{
	if (all != NULL) {
		timer_close(all->timer);
		free(all);
	}
}
