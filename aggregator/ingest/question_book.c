#include "aggregator/ingest/question_book.h"

#include "lib/hash.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void question_book_init(struct question_book *book, uint64_t first_id,
	bool (*is_gone)(const void *handle))
{
	*book = (struct question_book){ .next_id = first_id,
		.kinds = QUESTION_KINDS,
		.share.limits = { .max = QUESTIONS_OPEN_MAX,
			.flow_max = QUESTIONS_PEER_MAX,
			.reserve = QUESTIONS_RESERVE },
		.is_gone = is_gone };
}

static void remove_open(struct question_book *book, size_t index)
{
	struct open_question *open = &book->open[index];

	free(open->question.body);
	seat_remove(open->seat);
	buffer_fini(&open->answer);
	book->count--;
	memmove(&book->open[index], &book->open[index + 1],
		(book->count - index) * sizeof(book->open[0]));
}

void question_book_fini(struct question_book *book)
{
	while (book->count > 0) {
		remove_open(book, book->count - 1);
	}
}

static void remove_waiting(struct question_book *book, size_t index)
{
	book->waiting_count--;
	memmove(&book->waiting[index], &book->waiting[index + 1],
		(book->waiting_count - index) * sizeof(book->waiting[0]));
}

static void note_scheduler(struct question_book *book, uint64_t now_us)
{
	book->seen_us = now_us;
	book->has_seen = true;
}

bool question_book_has_leader(const struct question_book *book, uint64_t now_us)
{
	for (size_t i = 0; i < book->waiting_count; i++) {
		if (!book->is_gone(book->waiting[i].handle)) {
			return true;
		}
	}
	return book->has_seen && now_us - book->seen_us < QUESTION_LEADER_US;
}

const struct rebalance_state *question_book_rebalance(
	const struct question_book *book, uint64_t now_us)
{
	return *book->rebalance.mode != '\0' &&
			question_book_has_leader(book, now_us)
		? &book->rebalance
		: NULL;
}

/* ---- asking ---- */

static int check_room(struct question_book *book,
	const struct seat_request *request, struct error *err)
{
	struct seat *victim;

	switch (fair_share_check(&book->share, request, &victim)) {
	case -EUSERS:
		return error_set(err, -EUSERS,
			"%d questions of this user, or of the service accounts "
			"of this namespace, are open already; ask again when "
			"one is answered",
			QUESTIONS_PEER_MAX);
	case -EBUSY:
		return error_set(err, -EBUSY,
			"%zu questions are open already; ask again in a few "
			"seconds",
			book->count);
	default:
		return 0;
	}
}

static int check_asked(const struct question_book *book,
	const struct asked *asked, uint64_t now_us, struct error *err)
{
	if (asked->len > QUESTION_BODY_MAX) {
		return error_set(err, -EMSGSIZE,
			"the spec has %zu bytes, not up to %d", asked->len,
			QUESTION_BODY_MAX);
	}
	if ((*asked->namespace == '\0' &&
		    !question_spans_namespaces(asked->kind)) ||
		strlen(asked->namespace) >= DECISION_NAME_MAX) {
		return error_set(err, -EINVAL, "that is no namespace's name");
	}
	if (!question_book_has_leader(book, now_us)) {
		return error_set(err, -EHOSTUNREACH,
			"no scheduler leads now; ask again in a few seconds");
	}
	if (!question_kinds_have(book->kinds, asked->kind)) {
		return error_set(err, -EHOSTUNREACH,
			"the scheduler that leads is too old to answer this");
	}
	return 0;
}

static uint64_t new_id(struct question_book *book)
{
	book->next_id += book->next_id == 0;
	return book->next_id++;
}

int question_book_ask(struct question_book *book, const struct asked *asked,
	question_done done, void *owner, uint64_t now_us, struct error *err)
{
	const struct seat_request request = {
		.flow = hash_text(HASH_SEED, asked->peer),
		.size = 1,
		.is_reserved = asked->is_reserved,
		.state = SEAT_FIXED,
	};
	int r = check_asked(book, asked, now_us, err);
	struct open_question *open;

	r = r < 0 ? r : check_room(book, &request, err);
	if (r < 0) {
		return r;
	}
	open = &book->open[book->count++];
	*open = (struct open_question){
		.question = { .id = new_id(book),
			.kind = asked->kind,
			.is_visible = asked->is_visible,
			.body = xmemdup(asked->body, asked->len),
			.len = asked->len },
		.seat = fair_share_add(&book->share, &request),
		.done = done,
		.owner = owner,
		.is_reserved = asked->is_reserved,
		.due_us = (asked->since_us == 0 ? now_us : asked->since_us) +
			QUESTION_DEADLINE_US,
		.answer = BUFFER_MAX(ANSWER_BODY_MAX),
	};
	(void)snprintf(open->question.namespace,
		sizeof(open->question.namespace), "%s", asked->namespace);
	return 0;
}

void question_book_cancel(struct question_book *book, const void *owner)
{
	for (size_t i = book->count; i-- > 0;) {
		if (book->open[i].owner == owner) {
			remove_open(book, i);
		}
	}
}

/* ---- waiting requests ---- */

static bool is_held(const struct question_request *request, uint64_t id)
{
	for (size_t i = 0; i < request->held_count; i++) {
		if (request->held[i] == id) {
			return true;
		}
	}
	return false;
}

/* The term does not hold them, so it never got them. */
static void take_back_lost(struct question_book *book,
	const struct question_request *request)
{
	for (size_t i = 0; i < book->count; i++) {
		struct open_question *open = &book->open[i];

		if (open->holder == request->term &&
			!is_held(request, open->question.id)) {
			open->holder = 0;
		}
	}
}

/* The index of the request that a new one displaces; waiting_count: none. The
 * oldest gives way: a term and a connection have one, so nobody has more. */
static size_t find_displaced(const struct question_book *book,
	const struct waiting_request *waiting)
{
	for (size_t i = 0; i < book->waiting_count; i++) {
		if (book->waiting[i].pipe == waiting->pipe ||
			book->waiting[i].request.term ==
				waiting->request.term) {
			return i;
		}
	}
	return book->waiting_count == QUESTIONS_WAITING_MAX
		? 0
		: book->waiting_count;
}

bool question_book_wait(struct question_book *book,
	const struct waiting_request *waiting, uint64_t now_us,
	struct waiting_request *displaced)
{
	size_t i = find_displaced(book, waiting);
	bool is_taken = i < book->waiting_count;

	if (is_taken) {
		*displaced = book->waiting[i];
		remove_waiting(book, i);
	}
	book->waiting[book->waiting_count++] = *waiting;
	book->rebalance = waiting->request.rebalance;
	book->kinds = waiting->request.kinds;
	note_scheduler(book, now_us);
	take_back_lost(book, &waiting->request);
	return is_taken;
}

/* How many questions the term may get now, for any of them, or without the
 * reserve. */
static size_t room_of(const struct question_book *book, uint64_t term,
	bool is_reserved)
{
	size_t room =
		QUESTIONS_HELD_MAX - (is_reserved ? 0 : QUESTIONS_HELD_RESERVE);

	for (size_t i = 0; i < book->count && room > 0; i++) {
		room -= book->open[i].holder == term;
	}
	return room;
}

/* When the question may go to the scheduler that sent this. */
static uint64_t free_us(const struct question_book *book,
	const struct open_question *open,
	const struct question_request *request)
{
	if (!question_kinds_have(request->kinds, open->question.kind) ||
		room_of(book, request->term, open->is_reserved) == 0) {
		return UINT64_MAX;
	}
	if (open->holder == 0) {
		return 0;
	}
	return open->holder == request->term
		? UINT64_MAX
		: open->given_us + QUESTION_LOST_US;
}

static struct open_question *find_free(struct question_book *book,
	const struct question_request *request, uint64_t now_us)
{
	struct open_question *first = NULL;

	for (size_t i = 0; i < book->count; i++) {
		struct open_question *open = &book->open[i];

		if (free_us(book, open, request) <= now_us &&
			(first == NULL ||
				(open->is_reserved && !first->is_reserved))) {
			first = open;
		}
	}
	return first;
}

static void give(struct open_question *open, uint64_t term, uint64_t now_us)
{
	open->holder = term;
	open->given_us = now_us;
}

static bool is_over(const struct question_book *book,
	const struct waiting_request *waiting, uint64_t now_us)
{
	return now_us - waiting->since_us >= QUESTION_HOLD_US ||
		book->is_gone(waiting->handle);
}

bool question_book_next(struct question_book *book, uint64_t now_us,
	struct waiting_request *out, struct question *question)
{
	for (size_t i = book->waiting_count; i-- > 0;) {
		const struct waiting_request waiting = book->waiting[i];
		bool over = is_over(book, &waiting, now_us);
		struct open_question *open =
			over ? NULL : find_free(book, &waiting.request, now_us);

		if (!over && open == NULL) {
			continue;
		}
		*out = waiting;
		*question = (struct question){ 0 };
		remove_waiting(book, i);
		if (open != NULL) {
			give(open, waiting.request.term, now_us);
			*question = open->question;
		}
		/* A connection that has ended says nothing of now. */
		if (!book->is_gone(waiting.handle)) {
			note_scheduler(book, now_us);
		}
		return true;
	}
	return false;
}

/* ---- answers ---- */

static size_t find(const struct question_book *book, uint64_t id)
{
	size_t i = 0;

	while (i < book->count && book->open[i].question.id != id) {
		i++;
	}
	return i;
}

static void end(struct question_book *book, size_t index, unsigned status,
	struct ended_question *out)
{
	struct open_question *open = &book->open[index];

	*out = (struct ended_question){ .done = open->done,
		.owner = open->owner,
		.status = status,
		.body = open->answer };
	open->answer = (struct buffer){ 0 };
	remove_open(book, index);
}

/* False: the part does not continue the answer so far. A part that comes again,
 * because its ack was lost, replaces what it had brought. */
static bool append_part(struct open_question *open,
	const struct answer_part *part)
{
	if (part->offset == 0) {
		buffer_clear(&open->answer);
		open->answering = part->term;
	}
	if (open->answering != part->term || open->answer.len < part->offset) {
		return false;
	}
	if (open->answer.len > part->offset) {
		open->answer.len = part->offset;
		open->answer.data[part->offset] = '\0';
	}
	buffer_append(&open->answer, part->body, part->len);
	return !open->answer.overflowed;
}

static bool is_given_back(const struct answer_part *part)
{
	return part->status == 503 && part->len == 0 && part->offset == 0 &&
		!part->has_more;
}

bool question_book_answer(struct question_book *book,
	const struct answer_part *part, uint64_t now_us,
	struct ended_question *out, bool *is_wanted)
{
	size_t index = find(book, part->id);
	struct open_question *open;

	note_scheduler(book, now_us);
	*is_wanted = false;
	if (index == book->count) {
		return false;
	}
	open = &book->open[index];
	if (is_given_back(part)) {
		open->holder = open->holder == part->term ? 0 : open->holder;
		return false;
	}
	*is_wanted = append_part(open, part);
	if (!*is_wanted || part->has_more) {
		return false;
	}
	end(book, index, part->status, out);
	return true;
}

bool question_book_expire(struct question_book *book, uint64_t now_us,
	struct ended_question *out)
{
	size_t i = 0;

	while (i < book->count && book->open[i].due_us > now_us) {
		i++;
	}
	if (i == book->count) {
		return false;
	}
	buffer_clear(&book->open[i].answer);
	buffer_text(&book->open[i].answer,
		question_book_has_leader(book, now_us)
			? "the scheduler did not answer in time; ask again "
			  "later"
			: "no scheduler leads now; ask again in a few seconds");
	end(book, i, 503, out);
	return true;
}

/* ---- time ---- */

static void note_sooner(uint64_t *soonest, uint64_t due_us, uint64_t now_us)
{
	uint64_t wait = due_us > now_us ? due_us - now_us : 0;

	if (due_us != UINT64_MAX && wait < *soonest) {
		*soonest = wait;
	}
}

uint64_t question_book_wait_us(const struct question_book *book,
	uint64_t now_us)
{
	uint64_t soonest = UINT64_MAX;

	for (size_t i = 0; i < book->count; i++) {
		note_sooner(&soonest, book->open[i].due_us, now_us);
	}
	for (size_t i = 0; i < book->waiting_count; i++) {
		const struct waiting_request *waiting = &book->waiting[i];

		note_sooner(&soonest, waiting->since_us + QUESTION_HOLD_US,
			now_us);
		for (size_t k = 0; k < book->count; k++) {
			note_sooner(&soonest,
				free_us(book, &book->open[k],
					&waiting->request),
				now_us);
		}
	}
	return soonest;
}
