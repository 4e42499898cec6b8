#include "scheduler/kubevirt/access.h"

#include "kube/client.h"
#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum answer { ANSWER_NONE, ANSWER_YES, ANSWER_NO };

/* An order that cannot be cancelled is not given. */
static const char *const verbs[] = { "create", "delete" };
enum { VERBS = 2 };
_Static_assert(sizeof(verbs) / sizeof(verbs[0]) == VERBS, "all verbs");

struct access {
	struct kube_client *client;
	struct kube_request *request;
	enum answer answers[VERBS];
	unsigned asked;	    /* the verb that is asked for, or comes next */
	struct error error; /* of the last request; code 0: none */
	uint64_t next_us;
};

static const char path[] =
	"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
static const char body[] =
	"{\"apiVersion\":\"authorization.k8s.io/v1\","
	"\"kind\":\"SelfSubjectAccessReview\",\"spec\":{\"resourceAttributes\":"
	"{\"group\":\"kubevirt.io\",\"verb\":\"%s\","
	"\"resource\":\"virtualmachineinstancemigrations\"}}}";

struct access *access_new(struct kube_client *client)
{
	struct access *access = xcalloc(1, sizeof(*access));

	access->client = client;
	return access;
}

void access_close(struct access *access)
{
	if (access != NULL) {
		kube_request_cancel(access->request);
		free(access);
	}
}

/* -EBADMSG: no answer. */
static int read_answer(enum answer *out, const struct http_response *response,
	struct error *err)
{
	struct json_value *root = NULL;
	const struct json_value *allowed;
	int r;

	if (response->status / 100 != 2) {
		return error_set(err, -EBADMSG, "%s", response->error);
	}
	r = json_value_parse(&root, response->body, response->len, err);
	if (r < 0) {
		return r;
	}
	allowed = json_value_at(root, "status/allowed");
	if (allowed == NULL) {
		json_value_free(root);
		return error_set(err, -EBADMSG, "the review has no result");
	}
	*out = json_value_true(allowed) ? ANSWER_YES : ANSWER_NO;
	json_value_free(root);
	return 0;
}

static void on_answer(void *owner, const struct http_response *response)
{
	struct access *access = owner;
	uint64_t wait_us = 0;

	access->request = NULL;
	access->error = (struct error){ 0 };
	if (read_answer(&access->answers[access->asked], response,
		    &access->error) < 0) {
		wait_us = ACCESS_RETRY_US;
	} else {
		access->asked = (access->asked + 1) % VERBS;
		wait_us = access->asked == 0 ? ACCESS_AGAIN_US : 0;
	}
	access->next_us = clock_monotonic_us() + wait_us;
}

void access_poll(struct access *access, uint64_t now_us)
{
	scoped_free char *text = NULL;

	if (access->request != NULL || now_us < access->next_us) {
		return;
	}
	text = xasprintf(body, verbs[access->asked]);
	access->request = kube_request_send(access->client,
		&(struct kube_call){
			.method = "POST",
			.path = path,
			.body = text,
			.len = strlen(text),
			.on_done = on_answer,
			.owner = access,
		});
}

bool access_is_allowed(const struct access *access, struct buffer *why)
{
	for (unsigned i = 0; i < VERBS; i++) {
		if (access->answers[i] == ANSWER_NO) {
			buffer_printf(why,
				"the account may not %s "
				"virtualmachineinstancemigrations",
				verbs[i]);
			return false;
		}
		if (access->answers[i] == ANSWER_NONE) {
			buffer_printf(why,
				"it is not known yet whether the account may "
				"%s migrations%s%s",
				verbs[i], access->error.code == 0 ? "" : ": ",
				access->error.text);
			return false;
		}
	}
	return true;
}
