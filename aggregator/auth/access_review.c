#include "aggregator/auth/access_review.h"

#include "aggregator/auth/review_cache.h"
#include "aggregator/auth/access_review_text.h"
#include "kube/client.h"
#include "kube/config.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>

static const uint64_t yes_us = 60000000;
static const uint64_t no_us = 5000000;
static const uint64_t complain_us = 10000000;

/* Paths of requests have no more than the 32 KiB of HTTP's headers. */
enum { ACCESS_BYTES_MAX = 512 << 10 };

struct review {
	struct memo *memo;
	struct log_topics complaints[REVIEW_OUTCOMES]; /* by outcome */
};

/* A question on its way through the steps. */
struct asking {
	struct review *review;
	enum review_right right;
	char *subject; /* NULL: none */
	struct account account;
	review_done done;
	void *owner;
};

static const char *audience_of(enum review_right right)
{
	return right == REVIEW_HTTP ? NULL : REVIEW_AUDIENCE;
}

static const char *path_of(const struct asking *asking)
{
	static const char *const paths[] = {
		[REVIEW_REPORT] = "/plimsoll/reports",
		[REVIEW_SNAPSHOT] = "/plimsoll/snapshots",
	};

	return asking->right == REVIEW_HTTP ? asking->subject
					    : paths[asking->right];
}

static const char *verb_of(enum review_right right)
{
	return right == REVIEW_REPORT ? "create" : "get";
}

static void complain(const struct asking *asking, enum review_outcome outcome,
	const struct error *why)
{
	static const char *const rights[] = {
		[REVIEW_REPORT] = "report",
		[REVIEW_SNAPSHOT] = "snapshot",
		[REVIEW_HTTP] = "http",
	};
	uint64_t suppressed = 0;

	if (log_allow_topic(&asking->review->complaints[outcome],
		    clock_monotonic_us(), complain_us, why->text,
		    &suppressed)) {
		log_warning(outcome == REVIEW_UNREACHABLE
				? "cannot tell who it is"
				: "refused a peer",
			log_str("right", rights[asking->right]),
			log_str("subject", asking->subject), log_err(why),
			log_int("suppressed", (int64_t)suppressed), LOG_END);
	}
}

static void end(struct asking *asking, enum review_outcome outcome,
	const struct error *why)
{
	static const struct error none;

	if (outcome != REVIEW_ALLOWED) {
		complain(asking, outcome, why);
	}
	asking->done(asking->owner, outcome, why == NULL ? &none : why);
	account_fini(&asking->account);
	free(asking->subject);
	free(asking);
}

static void end_unreachable(struct asking *asking, const char *reason)
{
	struct error why;

	(void)error_set(&why, -EAGAIN,
		"the API server cannot be asked about the token, try again: "
		"%.200s",
		reason);
	end(asking, REVIEW_UNREACHABLE, &why);
}

/* What reading an answer said that was no yes; refusal is what -EACCES and
 * -EPERM mean at this step. */
static void end_no(struct asking *asking, enum review_outcome refusal,
	const struct error *why)
{
	if (why->code == -EBADMSG) {
		end_unreachable(asking, why->text);
	} else {
		end(asking, refusal, why);
	}
}

static bool is_answer(const struct kube_answer *answer)
{
	return answer->status / 100 == 2;
}

static void ask(struct asking *asking, struct memo_question question)
{
	question.owner = asking;
	memo_ask(asking->review->memo, &question, clock_monotonic_us());
}

/* ---- step three, for agents: the node ---- */

static uint64_t keep_nothing(const struct kube_answer *answer)
{
	(void)answer;
	return 0;
}

static void on_pod(void *owner, const struct kube_answer *answer)
{
	struct asking *asking = owner;
	struct error why;

	if (answer->status == 404) {
		(void)error_set(&why, -EPERM,
			"the pod of the token of '%.120s' is gone",
			asking->account.user);
		end(asking, REVIEW_WRONG_NODE, &why);
	} else if (!is_answer(answer)) {
		end_unreachable(asking, answer->error);
	} else if (review_check_pod(&asking->account, asking->subject,
			   answer->body, answer->len, &why) < 0) {
		end_no(asking, REVIEW_WRONG_NODE, &why);
	} else {
		end(asking, REVIEW_ALLOWED, NULL);
	}
}

static void check_node(struct asking *asking)
{
	scoped_free char *path = NULL;
	struct error why;
	int r;

	if (asking->account.node != NULL) {
		r = review_check_node(&asking->account, asking->subject, &why);
		end(asking, r < 0 ? REVIEW_WRONG_NODE : REVIEW_ALLOWED,
			r < 0 ? &why : NULL);
		return;
	}
	if (review_pod_path(&path, &asking->account, &why) < 0) {
		end(asking, REVIEW_WRONG_NODE, &why);
		return;
	}
	ask(asking,
		(struct memo_question){ .method = "GET",
			.path = path,
			.keep = keep_nothing,
			.done = on_pod });
}

/* ---- step two: what the account may do ---- */

static uint64_t keep_access(const struct kube_answer *answer)
{
	static const struct account nobody = { .user = "" };

	if (!is_answer(answer)) {
		return 0;
	}
	return review_read_access(&nobody, "", "", answer->body, answer->len,
		       NULL) == 0
		? yes_us
		: no_us;
}

static void on_access(void *owner, const struct kube_answer *answer)
{
	struct asking *asking = owner;
	struct error why;

	if (!is_answer(answer)) {
		end_unreachable(asking, answer->error);
	} else if (review_read_access(&asking->account, path_of(asking),
			   verb_of(asking->right), answer->body, answer->len,
			   &why) < 0) {
		end_no(asking, REVIEW_FORBIDDEN, &why);
	} else if (asking->right == REVIEW_REPORT) {
		check_node(asking);
	} else {
		end(asking, REVIEW_ALLOWED, NULL);
	}
}

static void check_access(struct asking *asking)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ACCESS_BYTES_MAX);

	review_write_access(&body, &asking->account, path_of(asking),
		verb_of(asking->right));
	if (body.overflowed) {
		end_unreachable(asking, "the question would be too long");
		return;
	}
	ask(asking,
		(struct memo_question){
			.method = "POST",
			.path = "/apis/authorization.k8s.io/v1/"
				"subjectaccessreviews",
			.body = body.data,
			.keep = keep_access,
			.done = on_access,
		});
}

/* ---- step one: whose token it is ---- */

static uint64_t keep_account(const struct kube_answer *answer)
{
	struct account account = { 0 };

	if (!is_answer(answer)) {
		return 0;
	}
	if (review_read_account(&account, answer->body, answer->len, NULL,
		    NULL) < 0) {
		return no_us;
	}
	account_fini(&account);
	return yes_us;
}

static void on_account(void *owner, const struct kube_answer *answer)
{
	struct asking *asking = owner;
	struct error why;

	if (!is_answer(answer)) {
		end_unreachable(asking, answer->error);
	} else if (review_read_account(&asking->account, answer->body,
			   answer->len, audience_of(asking->right), &why) < 0) {
		end_no(asking, REVIEW_BAD_TOKEN, &why);
	} else {
		check_access(asking);
	}
}

static struct asking *asking_new(struct review *review,
	const struct review_question *question)
{
	struct asking *asking = xcalloc(1, sizeof(*asking));

	asking->review = review;
	asking->right = question->right;
	asking->subject =
		question->subject == NULL ? NULL : xstrdup(question->subject);
	asking->done = question->done;
	asking->owner = question->owner;
	return asking;
}

void review_ask(struct review *review, const struct review_question *question)
{
	struct asking *asking = asking_new(review, question);
	struct error why;
	char *body;

	if (question->token == NULL || question->token[0] == '\0') {
		(void)error_set(&why, -EACCES,
			"no token was shown, and one is needed here");
		end(asking, REVIEW_NO_TOKEN, &why);
		return;
	}
	if (!review_is_token(question->token)) {
		(void)error_set(&why, -EACCES,
			"the token holds what no token does");
		end(asking, REVIEW_BAD_TOKEN, &why);
		return;
	}
	body = review_token_body(question->token, audience_of(question->right));
	ask(asking,
		(struct memo_question){
			.method = "POST",
			.path = "/apis/authentication.k8s.io/v1/tokenreviews",
			.body = body,
			.keep = keep_account,
			.done = on_account,
		});
	review_wipe(body);
}

struct review *review_new(uv_loop_t *loop, struct kube_config *config)
{
	struct review *review = xcalloc(1, sizeof(*review));

	review->memo = memo_new(kube_client_new(loop, config));
	return review;
}

void review_stop(struct review *review)
{
	if (review != NULL) {
		memo_stop(review->memo);
	}
}

void review_free(struct review *review)
{
	if (review != NULL) {
		memo_free(review->memo);
		free(review);
	}
}
