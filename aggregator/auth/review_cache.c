#include "aggregator/auth/review_cache.h"

#include "lib/clock.h"
#include "lib/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum state { WAITING, RUNNING, SETTLED };

struct asker {
	struct asker *next;
	memo_done done;
	void *owner;
};

struct entry {
	struct memo *memo;
	enum state state;
	uint64_t hash; /* of path and body */
	const char *method;
	char *path;
	char *body; /* NULL: none */
	memo_keep keep;
	struct asker *askers; /* first come, first told; none once settled */
	/* Where settled. */
	uint64_t until_us;
	int status;
	char *answer;
	size_t len;
	char *error;
};

struct memo {
	struct kube_client *client;	     /* NULL once stopped */
	struct entry *entries[MEMO_ENTRIES]; /* oldest first */
	size_t count, running;
};

static void wipe(char *text, size_t len)
{
	if (text != NULL) {
		explicit_bzero(text, len);
	}
	free(text);
}

static void entry_free(struct entry *entry)
{
	free(entry->path);
	wipe(entry->body, entry->body == NULL ? 0 : strlen(entry->body));
	wipe(entry->answer, entry->len);
	free(entry->error);
	free(entry);
}

static void forget(struct memo *memo, size_t index)
{
	struct entry *entry = memo->entries[index];

	memo->count--;
	for (size_t i = index; i < memo->count; i++) {
		memo->entries[i] = memo->entries[i + 1];
	}
	entry_free(entry);
}

/* The oldest one in this state; memo->count if there is none. */
static size_t find_state(const struct memo *memo, enum state state)
{
	size_t i = 0;

	while (i < memo->count && memo->entries[i]->state != state) {
		i++;
	}
	return i;
}

/* ---- answers ---- */

/* The answer is the caller's: an asker may ask more, which may make this entry
 * give way. */
static void tell(struct asker *asker, const struct kube_answer *answer)
{
	while (asker != NULL) {
		struct asker *next = asker->next;

		asker->done(asker->owner, answer);
		free(asker);
		asker = next;
	}
}

static size_t index_of(const struct entry *entry)
{
	size_t i = 0;

	while (entry->memo->entries[i] != entry) {
		i++;
	}
	return i;
}

static void settle(struct entry *entry, const struct kube_answer *answer)
{
	uint64_t keep_us =
		answer->len > MEMO_KEPT_MAX ? 0 : entry->keep(answer);

	if (keep_us == 0) {
		forget(entry->memo, index_of(entry));
		return;
	}
	entry->state = SETTLED;
	entry->until_us = clock_monotonic_us() + keep_us;
	entry->status = answer->status;
	entry->answer = xcalloc(answer->len + 1, 1);
	memcpy(entry->answer, answer->body, answer->len);
	entry->len = answer->len;
	entry->error = xstrdup(answer->error);
}

static void run_waiting(struct memo *memo);

static void on_answer(void *owner, const struct kube_answer *answer)
{
	struct entry *entry = owner;
	struct memo *memo = entry->memo;
	struct asker *askers = take_ptr(entry->askers);

	memo->running--;
	settle(entry, answer);
	tell(askers, answer);
	run_waiting(memo);
}

/* ---- questions ---- */

static void run(struct entry *entry)
{
	entry->state = RUNNING;
	entry->memo->running++;
	(void)kube_request_send(entry->memo->client,
		&(struct kube_call){
			.method = entry->method,
			.path = entry->path,
			.body = entry->body,
			.len = entry->body == NULL ? 0 : strlen(entry->body),
			.timeout_ms = MEMO_TIMEOUT_MS,
			.max = MEMO_ANSWER_MAX,
			.on_done = on_answer,
			.owner = entry,
		});
}

static void run_waiting(struct memo *memo)
{
	size_t i = find_state(memo, WAITING);

	while (memo->client != NULL && memo->running < MEMO_RUNNING &&
		i < memo->count) {
		run(memo->entries[i]);
		i = find_state(memo, WAITING);
	}
}

/* FNV-1a. */
static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; text != NULL && *text != '\0'; text++) {
		h = (h ^ (unsigned char)*text) * 1099511628211U;
	}
	return h;
}

static uint64_t hash_question(const struct memo_question *question)
{
	return hash_text(hash_text(14695981039346656037U, question->path),
		question->body);
}

static bool is_same(const struct entry *entry, uint64_t hash,
	const struct memo_question *question)
{
	return entry->hash == hash &&
		strcmp(entry->path, question->path) == 0 &&
		(entry->body == NULL) == (question->body == NULL) &&
		(entry->body == NULL ||
			strcmp(entry->body, question->body) == 0);
}

static struct entry *find(const struct memo *memo, uint64_t hash,
	const struct memo_question *question)
{
	for (size_t i = 0; i < memo->count; i++) {
		if (is_same(memo->entries[i], hash, question)) {
			return memo->entries[i];
		}
	}
	return NULL;
}

static void forget_old(struct memo *memo, uint64_t now_us)
{
	size_t i = 0;

	while (i < memo->count) {
		if (memo->entries[i]->state == SETTLED &&
			memo->entries[i]->until_us <= now_us) {
			forget(memo, i);
		} else {
			i++;
		}
	}
}

/* NULL: all places are taken by open questions. */
static struct entry *add(struct memo *memo, uint64_t hash,
	const struct memo_question *question)
{
	size_t oldest = find_state(memo, SETTLED);
	struct entry *entry;

	if (memo->count == MEMO_ENTRIES) {
		if (oldest == memo->count) {
			return NULL;
		}
		forget(memo, oldest);
	}
	entry = xcalloc(1, sizeof(*entry));
	entry->memo = memo;
	entry->hash = hash;
	entry->method = question->method;
	entry->path = xstrdup(question->path);
	entry->body = question->body == NULL ? NULL : xstrdup(question->body);
	entry->keep = question->keep;
	memo->entries[memo->count] = entry;
	memo->count++;
	return entry;
}

static void add_asker(struct entry *entry, const struct memo_question *question)
{
	struct asker **end = &entry->askers;
	struct asker *asker = xcalloc(1, sizeof(*asker));

	while (*end != NULL) {
		end = &(*end)->next;
	}
	asker->done = question->done;
	asker->owner = question->owner;
	*end = asker;
}

static void tell_none(const struct memo_question *question, const char *why)
{
	question->done(question->owner,
		&(struct kube_answer){ .body = "", .error = why });
}

void memo_ask(struct memo *memo, const struct memo_question *question,
	uint64_t now_us)
{
	uint64_t hash = hash_question(question);
	struct entry *entry;

	if (memo->client == NULL) {
		tell_none(question, "shutting down");
		return;
	}
	forget_old(memo, now_us);
	entry = find(memo, hash, question);
	if (entry != NULL && entry->state == SETTLED) {
		question->done(question->owner,
			&(struct kube_answer){ .status = entry->status,
				.body = entry->answer,
				.len = entry->len,
				.error = entry->error });
		return;
	}
	entry = entry != NULL ? entry : add(memo, hash, question);
	if (entry == NULL) {
		tell_none(question, "too many questions are open already");
		return;
	}
	add_asker(entry, question);
	run_waiting(memo);
}

struct memo *memo_new(struct kube_client *client)
{
	struct memo *memo = xcalloc(1, sizeof(*memo));

	memo->client = client;
	return memo;
}

void memo_stop(struct memo *memo)
{
	static const struct kube_answer none = { .body = "",
		.error = "shutting down" };

	kube_client_close(take_ptr(memo->client));
	while (memo->count > 0) {
		struct asker *askers = take_ptr(memo->entries[0]->askers);

		forget(memo, 0);
		tell(askers, &none);
	}
}

void memo_free(struct memo *memo)
{
	free(memo);
}
