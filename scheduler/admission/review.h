/* A review of a pod that is being created (AdmissionReview,
 * admission.k8s.io/v1): the answer sets the scheduler's name on the pods of VMs
 * for which nobody chose a scheduler, unless plimsoll cannot place the pod. It
 * never refuses a pod. Pure. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Limit of a request, which the caller holds. The API server accepts requests
 * of 3 MiB and adds to the pod who asks. */
enum { REVIEW_BODY_MAX = 4 << 20 };

/* Limit of an answer: a uid and a patch that holds a scheduler's name. */
enum { REVIEW_ANSWER_MAX = 16 << 10 };

enum { REVIEW_UID_MAX = 256 }; /* bytes; a UUID has 36 */

/* The label by which a VM's template opts out, and its value. */
#define REVIEW_LABEL "plimsoll.io/schedule"
#define REVIEW_OPT_OUT "disabled"
/* The name that the API server gives to pods without one. */
#define REVIEW_DEFAULT_SCHEDULER "default-scheduler"

enum review_outcome {
	REVIEW_NAMED, /* the answer sets the scheduler's name */
	REVIEW_LEFT,  /* the pod stays as it is */
	/* It stays as it is, because plimsoll cannot place it. */
	REVIEW_UNSUPPORTED,
	REVIEW_INVALID, /* with an error */
	REVIEW_OUTCOMES,
};

struct json_value;
struct storage;

struct review_by {
	const char *scheduler_name; /* to be set */
	/* Borrowed; what is known of the pods' claims. */
	const struct storage *storage;
};

/* A pod of a VM without the label that opts out, and with the name of the
 * default scheduler or none. */
bool review_is_unclaimed(const struct json_value *pod);

/* Appends the answer to the review in body. -EBADMSG: not a review; -E2BIG: too
 * many JSON values. The pod stays as it is. */
must_check int review_answer(struct buffer *out, enum review_outcome *outcome,
	const struct review_by *by, const char *body, size_t len,
	struct error *err);
