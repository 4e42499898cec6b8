/* Outlooks: what the leading scheduler believes of the cluster, or knows of a
 * VM; and how many nodes each VM can reach (vm_reach.h).
 *
 * The scheduler is asked for one at most once in OUTLOOK_KEPT_US, or
 * OUTLOOK_VM_KEPT_US, however many want it: those who ask meanwhile share the
 * answer. Nobody waits longer than OUTLOOK_WAIT_US. */
#pragma once

#include "aggregator/apiserver/rest_path.h"
#include "lib/http/httpd.h"

#include <stdint.h>
#include <uv.h>

/* With the review of the asker's rights, that is QUESTION_DEADLINE_US. */
#define OUTLOOK_WAIT_US UINT64_C(11000000)
#define OUTLOOK_KEPT_US UINT64_C(10000000)
#define OUTLOOK_VM_KEPT_US UINT64_C(2000000)
#define OUTLOOK_ERROR_KEPT_US UINT64_C(2000000)

enum {
	/* VMs whose outlooks are remembered or wanted; further ones get 503.
	 * The scheduler is asked for so many at a time. */
	OUTLOOK_VMS_MAX = 256,
	OUTLOOK_VMS_ASKED = 2,
	/* A longer answer about a VM gets 502. */
	OUTLOOK_VM_MAX = 16 << 10,
};

struct api_outlook;
struct questions;
struct vm_reach;

/* questions outlive it. Never NULL. */
struct api_outlook *api_outlook_new(uv_loop_t *loop,
	struct questions *questions);

/* Answers a request for path, which has is_outlook, once the user may see
 * it. */
void api_outlook_serve(struct api_outlook *all, const struct rest_path *path,
	struct httpd_request *request);

/* Borrowed. */
const struct vm_reach *api_outlook_reach(const struct api_outlook *all);

/* Open requests get a 503, and so does every later one. NULL is fine. */
void api_outlook_stop(struct api_outlook *all);

void api_outlook_free(struct api_outlook *all); /* stopped; NULL is fine */
