/* Questions of people to the leading scheduler, over the requests that it keeps
 * waiting here. ingest/question_book.h has the rules and the limits. */
#pragma once

#include "aggregator/ingest/question_book.h"
#include "lib/mq/mq.h"
#include "proto/wire.h"

#include <uv.h>

struct questions;

/* Never NULL. */
struct questions *questions_new(uv_loop_t *loop);
void questions_free(
	struct questions *questions); /* calls no done; NULL: fine */

/* Calls done exactly once, later, never inside this, unless the question is
 * cancelled: with the scheduler's answer, or with 503 and a sentence after
 * QUESTION_DEADLINE_US. done may ask and cancel.
 * On failure done is not called, and err says in words why. -EHOSTUNREACH: no
 * scheduler leads, or it does not know the kind (503); -EBUSY: too many
 * questions are open (503); -EUSERS: too many of this peer (429); -EMSGSIZE:
 * the body is too long (413); -EINVAL: the namespace's name is (400). */
must_check int questions_ask(struct questions *questions,
	const struct asked *asked, question_done done, void *owner,
	struct error *err);

/* The status of HTTP for such an error. */
int questions_status_of(int error);

/* done is not called for the questions of this owner. */
void questions_cancel(struct questions *questions, const void *owner);

bool questions_has_leader(const struct questions *questions);

/* See question_book_rebalance(); borrowed until the loop runs. */
const struct rebalance_state *questions_rebalance(
	const struct questions *questions);

/* Answers a scheduler's request now or later; message is a question_request or
 * an answer. */
void questions_serve(struct questions *questions, struct mq_request *request,
	const struct wire_request *message);
