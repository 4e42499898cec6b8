/* The resources that are only created: POST of a Placement or a Plan asks the
 * leading scheduler, and its answer is the status of the 201.
 *
 * Reviews come before: whether the user may create the object in the namespace;
 * whether they may list the pods of each namespace that a manifest looks into
 * (apiserver/question_reach.h); and whether they may list the VMs of all
 * namespaces, otherwise the scheduler only counts those of other namespaces. A
 * question ends when its
 * asker hangs up. */
#pragma once

#include "aggregator/apiserver/rest_path.h"
#include "lib/http/httpd.h"

struct access_review;
struct account;
struct api_questions;
struct questions;

enum { API_QUESTION_BODIES = 2 };

/* For the listener that serves these requests. */
extern const struct httpd_body api_question_bodies[API_QUESTION_BODIES];

/* Both outlive it. Never NULL. */
struct api_questions *api_questions_new(uv_loop_t *loop,
	struct questions *questions, struct access_review *review);

/* The path is one of a question. Takes what account holds and leaves it
 * empty. */
void api_questions_serve(struct api_questions *all, struct account *account,
	const struct rest_path *path, struct httpd_request *request);

/* Open questions get a 503, and so does every later one. NULL is fine. */
void api_questions_stop(struct api_questions *all);

/* After access_review_stop(). NULL is fine. */
void api_questions_free(struct api_questions *all);
