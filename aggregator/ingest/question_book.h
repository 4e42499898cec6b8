/* The open questions of people, and the requests that schedulers keep waiting
 * for them. Pure: time is an argument, and a request is a pointer that the
 * caller gets back.
 *
 * A question goes to a waiting request, the newest one first. It belongs to
 * that scheduler's term, until
 * - the term answers it;
 * - the term asks again and does not hold it: the question was lost;
 * - the term gives it back, or does not answer for QUESTION_LOST_US while
 *   another scheduler asks: the first may have died.
 * The first full answer counts. A question ends with 503 at its deadline. A
 * scheduler gets no question of a kind that it does not know.
 *
 * A peer has QUESTIONS_PEER_MAX open questions. Some places, here and at each
 * scheduler, are reserved: for those who see the cluster as a whole, and for
 * what many share. Their questions go first. */
#pragma once

#include "lib/buffer.h"
#include "lib/error.h"
#include "lib/fair_share.h"
#include "proto/question.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	QUESTIONS_OPEN_MAX = 32,
	QUESTIONS_RESERVE = 8,	    /* of these */
	QUESTIONS_PEER_MAX = 4,	    /* open ones of a peer */
	QUESTIONS_HELD_RESERVE = 1, /* of those that a scheduler holds */
	QUESTIONS_WAITING_MAX = 8,  /* requests */
};
#define QUESTION_HOLD_US UINT64_C(10000000)
#define QUESTION_LOST_US UINT64_C(5000000)
/* After this time without a request, no scheduler leads. */
#define QUESTION_LEADER_US UINT64_C(5000000)

/* status is of HTTP. With 200 the body is the JSON of a status, else it is a
 * sentence. The body ends with a NUL and is borrowed for the call. */
typedef void (*question_done)(void *owner, unsigned status, const char *body,
	size_t len);

/* A question before it is open; everything is borrowed. */
struct asked {
	enum question_kind kind;
	const char *namespace; /* "": see question_spans_namespaces() */
	bool is_visible;       /* the user may list the VMs of all namespaces */
	const char *body;
	size_t len;
	const char *peer; /* see account_peer() */
	bool is_reserved;
	uint64_t since_us; /* when it was asked first; 0: now */
};

struct open_question {
	struct question question;
	struct seat *seat; /* its peer's */
	bool is_reserved;
	question_done done;
	void *owner;
	uint64_t due_us;
	uint64_t holder; /* its term; 0: nobody */
	uint64_t given_us;
	/* The parts of the answer so far, all from one term. */
	uint64_t answering;
	struct buffer answer;
};

struct waiting_request {
	void *handle; /* the caller's */
	struct question_request request;
	uint64_t since_us;
	uint32_t pipe; /* the connection */
};

struct question_book {
	struct open_question open[QUESTIONS_OPEN_MAX]; /* the oldest first */
	size_t count;
	struct waiting_request waiting[QUESTIONS_WAITING_MAX]; /* the same */
	size_t waiting_count;
	struct fair_share share; /* of peers in the open questions */
	uint64_t next_id;
	uint64_t seen_us; /* when a scheduler was heard of last */
	bool has_seen;
	struct rebalance_state rebalance; /* of the newest request */
	/* Those of the request that came last; all, before there was one. */
	uint32_t kinds;
	/* The connection of the request has ended. */
	bool (*is_gone)(const void *handle);
};

/* first_id differs after each start, so that no answer to a question of an
 * earlier process counts. */
void question_book_init(struct question_book *book, uint64_t first_id,
	bool (*is_gone)(const void *handle));
void question_book_fini(struct question_book *book); /* calls no done */

bool question_book_has_leader(const struct question_book *book,
	uint64_t now_us);

/* As the scheduler that leads told it last; NULL: none leads, or it is too old
 * to tell. Borrowed until the next request. */
const struct rebalance_state *question_book_rebalance(
	const struct question_book *book, uint64_t now_us);

/* -EHOSTUNREACH: no scheduler leads, or it does not know the kind; -EBUSY: too
 * many questions are open; -EUSERS: too many of this peer; -EMSGSIZE: the body
 * is too long; -EINVAL: the namespace's name is. */
must_check int question_book_ask(struct question_book *book,
	const struct asked *asked, question_done done, void *owner,
	uint64_t now_us, struct error *err);

/* The owner's questions end without done. */
void question_book_cancel(struct question_book *book, const void *owner);

/* True: *displaced had to give way, and gets an empty question. */
bool question_book_wait(struct question_book *book,
	const struct waiting_request *waiting, uint64_t now_us,
	struct waiting_request *displaced);

/* Removes a waiting request that is to be answered now. *question is borrowed
 * until the next call; its id is 0 if there is none. False: no request is. */
bool question_book_next(struct question_book *book, uint64_t now_us,
	struct waiting_request *out, struct question *question);

/* A question that ended. The caller calls done and releases the body. */
struct ended_question {
	question_done done;
	void *owner;
	unsigned status;
	struct buffer body;
};

/* True: *out ended by this part. *is_wanted: the next part is welcome, or this
 * was the last one. */
bool question_book_answer(struct question_book *book,
	const struct answer_part *part, uint64_t now_us,
	struct ended_question *out, bool *is_wanted);

/* True: *out ended, because it is overdue. */
bool question_book_expire(struct question_book *book, uint64_t now_us,
	struct ended_question *out);

/* Microseconds until something is due by time alone; UINT64_MAX: nothing. */
uint64_t question_book_wait_us(const struct question_book *book,
	uint64_t now_us);
