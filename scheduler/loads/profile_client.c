#include "scheduler/loads/profile_client.h"

#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "scheduler/loads/aggregator_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { REQUEST_MAX = 2048 };

/* An answer that takes longer is not waited for. */
#define RECALL_PATIENCE_US INT64_C(5000000)

/* One VM. */
struct entry {
	TAILQ_ENTRY(entry) link;
	char *key; /* namespace/name */
	struct profile_request request;
	int64_t asked_us;
	uint32_t sent, answered; /* a bit for each aggregator */
	struct vm_profile past;	 /* zeroed: not known (yet) */
};

TAILQ_HEAD(entries, entry);

/* One aggregator. */
struct source {
	struct pasts *pasts;
	struct speaker *speaker;
	uint32_t bit;
	char *asking;	  /* key of the question under way; owned */
	uint64_t recalls; /* or the number of the recall that is; 0: neither */
};

/* The question about a VM that runs. One at a time. */
struct recall {
	uint64_t number; /* 0: there is none */
	char *uid;	 /* owned; of its pod */
	struct profile_request request;
	int64_t asked_us;
	uint32_t sent, answered; /* a bit for each aggregator */
};

struct pasts {
	struct pasts_options options;
	struct source sources[OPTION_LIST_MAX];
	size_t count;
	struct map by_key;
	struct entries entries; /* oldest first */
	struct recall recall;
	uint64_t recalls; /* so far */
	struct timer *pace;
	bool is_recalling;
};

_Static_assert(OPTION_LIST_MAX <= 32, "a bit for each aggregator");

struct vm_profile pasts_profile(const struct vm_past *past)
{
	double stdev = isnan(past->stdev_cores) ? 0 : past->stdev_cores;

	if (!(past->seconds > 0) || isnan(past->mean_cores)) {
		return (struct vm_profile){ 0 };
	}
	return (struct vm_profile){
		.seconds = fmin(past->seconds, PROFILE_MEMORY_S),
		.mean_cores = past->mean_cores,
		.square_cores =
			past->mean_cores * past->mean_cores + stdev * stdev,
	};
}

/* ---- what is asked ---- */

/* Those of aggregators that can be asked now. */
static uint32_t connected(const struct pasts *pasts)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < pasts->count; i++) {
		if (speaker_is_connected(pasts->sources[i].speaker)) {
			bits |= pasts->sources[i].bit;
		}
	}
	return bits;
}

/* Nobody that can be asked will say more. */
static bool is_settled(const struct entry *entry, uint32_t askable)
{
	return entry->past.seconds > 0 || (askable & ~entry->answered) == 0;
}

static bool pack_recall(struct source *source, struct buffer *out)
{
	struct recall *recall = &source->pasts->recall;

	if (recall->number == 0 || (recall->sent & source->bit) != 0) {
		return false;
	}
	recall->sent |= source->bit;
	source->recalls = recall->number;
	wire_pack_profile_request(out, &recall->request);
	return true;
}

/* Those that wait come first. */
static bool pack_next(void *owner, struct buffer *out)
{
	struct source *source = owner;
	int64_t now_us = (int64_t)clock_monotonic_us();
	struct entry *entry = TAILQ_FIRST(&source->pasts->entries);

	free(take_ptr(source->asking));
	source->recalls = 0;
	for (; entry != NULL; entry = TAILQ_NEXT(entry, link)) {
		/* For those that are older its pod has not waited. */
		if ((entry->sent & source->bit) == 0 &&
			entry->past.seconds <= 0 &&
			now_us - entry->asked_us <= PASTS_WAIT_US) {
			entry->sent |= source->bit;
			source->asking = xstrdup(entry->key);
			wire_pack_profile_request(out, &entry->request);
			return true;
		}
	}
	return pack_recall(source, out);
}

static bool is_of(const struct pod *pod, const struct entry *entry)
{
	return strcmp(pod->vm_name, entry->request.name) == 0 &&
		strcmp(pod->namespace, entry->request.namespace) == 0;
}

/* Pods of the VM that were held back need not wait any longer. */
static void let_go(struct pasts *pasts, const struct entry *entry)
{
	struct waiting *waiting = TAILQ_FIRST(&pasts->options.queue->ready);

	for (; waiting != NULL; waiting = TAILQ_NEXT(waiting, link)) {
		if (waiting->failures == 0 && waiting->not_before_us != 0 &&
			is_of(waiting->pod, entry)) {
			waiting->not_before_us = 0;
		}
	}
	pasts->options.on_answer(pasts->options.owner);
}

static void end_recall(struct pasts *pasts)
{
	free(pasts->recall.uid);
	pasts->recall = (struct recall){ 0 };
}

static void take_recalled(struct source *source, const struct vm_past *answer)
{
	struct pasts *pasts = source->pasts;
	struct recall *recall = &pasts->recall;
	struct vm_profile past = pasts_profile(answer);

	if (source->recalls != recall->number) {
		return; /* too late */
	}
	recall->answered |= source->bit;
	if (past.seconds > 0) {
		cache_teach(pasts->options.cache, recall->uid, &past);
	}
	if (past.seconds > 0 || (connected(pasts) & ~recall->answered) == 0) {
		end_recall(pasts);
	}
}

static enum speaker_turn on_reply(void *owner, const struct wire_reply *reply)
{
	struct source *source = owner;
	struct pasts *pasts = source->pasts;
	scoped_free char *key = take_ptr(source->asking);
	struct entry *entry = key == NULL ? NULL : map_get(&pasts->by_key, key);

	if (reply->kind != WIRE_PROFILE) {
		return SPEAKER_MISFIT;
	}
	if (source->recalls != 0) {
		take_recalled(source, &reply->profile);
		return SPEAKER_GO_ON;
	}
	if (entry == NULL) {
		return SPEAKER_GO_ON; /* it was forgotten meanwhile */
	}
	entry->answered |= source->bit;
	if (!(entry->past.seconds > 0)) {
		entry->past = pasts_profile(&reply->profile);
	}
	if (is_settled(entry, connected(pasts))) {
		let_go(pasts, entry);
	}
	return SPEAKER_GO_ON;
}

/* ---- what is remembered ---- */

static void forget(struct pasts *pasts, struct entry *entry)
{
	TAILQ_REMOVE(&pasts->entries, entry, link);
	(void)map_remove(&pasts->by_key, entry->key);
	free(entry->key);
	free(entry);
}

static bool is_old(const struct entry *entry, int64_t now_us)
{
	return now_us - entry->asked_us >
		(entry->past.seconds > 0 ? PASTS_KEPT_US : PASTS_UNKNOWN_US);
}

static void forget_old(struct pasts *pasts, int64_t now_us)
{
	struct entry *oldest = TAILQ_FIRST(&pasts->entries);

	while (oldest != NULL &&
		(is_old(oldest, now_us) || pasts->by_key.count >= PASTS_MAX)) {
		forget(pasts, oldest);
		oldest = TAILQ_FIRST(&pasts->entries);
	}
}

static void set_request(struct profile_request *out, const struct pod *pod)
{
	(void)snprintf(out->namespace, sizeof(out->namespace), "%s",
		pod->namespace);
	(void)snprintf(out->name, sizeof(out->name), "%s", pod->vm_name);
}

static struct entry *ask(struct pasts *pasts, const struct pod *pod,
	const char *key, int64_t now_us)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));

	forget_old(pasts, now_us);
	entry->key = xstrdup(key);
	entry->asked_us = now_us;
	set_request(&entry->request, pod);
	(void)map_put(&pasts->by_key, key, entry);
	TAILQ_INSERT_TAIL(&pasts->entries, entry, link);
	for (size_t i = 0; i < pasts->count; i++) {
		speaker_go_on(pasts->sources[i].speaker);
	}
	return entry;
}

bool pasts_may_place(struct pasts *pasts, struct waiting *waiting,
	int64_t now_us)
{
	struct pod *pod = waiting->pod;
	scoped_free char *key = NULL;
	struct entry *entry;

	if (pasts->count == 0 || !pod->is_vm || *pod->vm_name == '\0') {
		return true;
	}
	key = xasprintf("%s/%s", pod->namespace, pod->vm_name);
	entry = map_get(&pasts->by_key, key);
	if (entry != NULL && is_old(entry, now_us)) {
		forget(pasts, entry);
		entry = NULL;
	}
	if (entry == NULL) {
		entry = ask(pasts, pod, key, now_us);
	}
	/* A pod that was tried before has waited for it already. */
	if (waiting->failures == 0 &&
		now_us < entry->asked_us + PASTS_WAIT_US &&
		!is_settled(entry, connected(pasts))) {
		waiting->not_before_us = entry->asked_us + PASTS_WAIT_US;
		return false;
	}
	pod->past = entry->past;
	return true;
}

/* ---- those that run ---- */

static void begin_recall(struct pasts *pasts, const struct pod *pod,
	int64_t now_us)
{
	struct recall *recall = &pasts->recall;

	*recall = (struct recall){
		.number = ++pasts->recalls,
		.uid = xstrdup(pod->uid),
		.asked_us = now_us,
	};
	set_request(&recall->request, pod);
	for (size_t i = 0; i < pasts->count; i++) {
		speaker_go_on(pasts->sources[i].speaker);
	}
}

static void take_pace(void *owner)
{
	struct pasts *pasts = owner;
	int64_t now_us = (int64_t)clock_monotonic_us();
	const struct pod *pod;

	if (connected(pasts) == 0 ||
		(pasts->recall.number != 0 &&
			now_us - pasts->recall.asked_us < RECALL_PATIENCE_US)) {
		return;
	}
	end_recall(pasts);
	pod = cache_take_stranger(pasts->options.cache);
	if (pod == NULL) {
		timer_stop(pasts->pace);
		pasts->is_recalling = false;
		return;
	}
	begin_recall(pasts, pod, now_us);
}

void pasts_recall(struct pasts *pasts)
{
	if (pasts->count > 0 && !pasts->is_recalling) {
		pasts->is_recalling = true;
		timer_start(pasts->pace, 0, PASTS_RECALL_MS);
	}
}

/* ---- life ---- */

int pasts_new(struct pasts **out, uv_loop_t *loop,
	const struct pasts_options *options, struct error *err)
{
	struct pasts *pasts = xcalloc(1, sizeof(*pasts));
	int r = 0;

	pasts->options = *options;
	TAILQ_INIT(&pasts->entries);
	pasts->pace = timer_new(loop, take_pace, pasts);
	while (r == 0 && pasts->count < options->aggregators->count) {
		struct source *source = &pasts->sources[pasts->count];

		source->pasts = pasts;
		source->bit = UINT32_C(1) << pasts->count;
		r = speaker_new(&source->speaker, loop,
			&(const struct speaker_options){
				.url = options->aggregators
					       ->items[pasts->count],
				.dial = options->dial,
				.request_max = REQUEST_MAX,
				.complaint = "pasts of VMs cannot be asked for",
				.next = pack_next,
				.reply = on_reply,
				.owner = source,
			},
			err);
		pasts->count += r == 0;
	}
	if (r < 0) {
		pasts_close(pasts);
		return r;
	}
	*out = pasts;
	return 0;
}

void pasts_close(struct pasts *pasts)
{
	if (pasts == NULL) {
		return;
	}
	for (size_t i = 0; i < pasts->count; i++) {
		speaker_close(pasts->sources[i].speaker);
		free(pasts->sources[i].asking);
	}
	while (!TAILQ_EMPTY(&pasts->entries)) {
		forget(pasts, TAILQ_FIRST(&pasts->entries));
	}
	map_fini(&pasts->by_key);
	end_recall(pasts);
	timer_close(pasts->pace);
	free(pasts);
}
