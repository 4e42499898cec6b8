#include "aggregator/ingest/questions.h"

#include "aggregator/ingest/ingest_reply.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

/* A question with its envelope. */
enum { MESSAGE_MAX = QUESTION_BODY_MAX + 1024 };

struct questions {
	struct question_book book;
	struct timer *timer;
};

static bool is_gone(const void *handle)
{
	return mq_request_host(handle) == 0;
}

static void reply(const struct waiting_request *waiting,
	const struct question *question)
{
	scoped_buffer struct buffer out = BUFFER_MAX(MESSAGE_MAX);

	wire_pack_question(&out, question);
	ingest_reply_bytes(waiting->handle, &out);
}

static void call_done(struct ended_question *ended)
{
	ended->done(ended->owner, ended->status,
		ended->body.data == NULL ? "" : ended->body.data,
		ended->body.len);
	buffer_fini(&ended->body);
}

/* Does what is due, and sets the timer for the rest. */
static void step(struct questions *questions)
{
	uint64_t now_us = clock_monotonic_us();
	struct waiting_request waiting;
	struct ended_question ended;
	struct question question;
	uint64_t wait_us;

	while (question_book_next(&questions->book, now_us, &waiting,
		&question)) {
		reply(&waiting, &question);
	}
	while (question_book_expire(&questions->book, now_us, &ended)) {
		call_done(&ended);
	}
	wait_us = question_book_wait_us(&questions->book, now_us);
	if (wait_us == UINT64_MAX) {
		timer_stop(questions->timer);
	} else {
		timer_start(questions->timer, wait_us / 1000 + 1, 0);
	}
}

static void on_timer(void *owner)
{
	step(owner);
}

/* Without random numbers ids are only likely to differ after a restart. */
static uint64_t first_id(void)
{
	uint64_t id = 0;

	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id)) {
		id = clock_wall_us();
	}
	return id;
}

struct questions *questions_new(uv_loop_t *loop)
{
	struct questions *questions = xcalloc(1, sizeof(*questions));

	question_book_init(&questions->book, first_id(), is_gone);
	questions->timer = timer_new(loop, on_timer, questions);
	return questions;
}

void questions_free(struct questions *questions)
{
	if (questions != NULL) {
		question_book_fini(&questions->book);
		timer_close(questions->timer);
		free(questions);
	}
}

int questions_ask(struct questions *questions, const struct asked *asked,
	question_done done, void *owner, struct error *err)
{
	int r = question_book_ask(&questions->book, asked, done, owner,
		clock_monotonic_us(), err);

	if (r == 0) {
		/* done of overdue questions is not called inside this. */
		timer_start(questions->timer, 0, 0);
	}
	return r;
}

int questions_status_of(int error)
{
	switch (error) {
	case -EHOSTUNREACH:
	case -EBUSY:
		return 503;
	case -EUSERS:
		return 429;
	case -EMSGSIZE:
		return 413;
	default:
		return 400;
	}
}

void questions_cancel(struct questions *questions, const void *owner)
{
	question_book_cancel(&questions->book, owner);
}

bool questions_has_leader(const struct questions *questions)
{
	return question_book_has_leader(&questions->book, clock_monotonic_us());
}

const struct rebalance_state *questions_rebalance(
	const struct questions *questions)
{
	return question_book_rebalance(&questions->book, clock_monotonic_us());
}

static void wait_for_question(struct questions *questions,
	struct mq_request *request, const struct question_request *asked)
{
	static const struct question none = { 0 };
	uint64_t now_us = clock_monotonic_us();
	const struct waiting_request waiting = { request, *asked, now_us,
		mq_request_pipe(request) };
	struct waiting_request displaced;

	if (question_book_wait(&questions->book, &waiting, now_us,
		    &displaced)) {
		reply(&displaced, &none);
	}
	step(questions);
}

static void take_answer(struct questions *questions, struct mq_request *request,
	const struct answer_part *part)
{
	scoped_buffer struct buffer out = BUFFER_MAX(64);
	struct ended_question ended;
	struct answer_ack ack;
	bool is_ended = question_book_answer(&questions->book, part,
		clock_monotonic_us(), &ended, &ack.is_wanted);

	wire_pack_answer_ack(&out, &ack);
	ingest_reply_bytes(request, &out);
	if (is_ended) {
		call_done(&ended);
	}
	step(questions);
}

void questions_serve(struct questions *questions, struct mq_request *request,
	const struct wire_request *message)
{
	if (message->kind == WIRE_ANSWER) {
		take_answer(questions, request, &message->answer);
	} else {
		wait_for_question(questions, request,
			&message->question_request);
	}
}
