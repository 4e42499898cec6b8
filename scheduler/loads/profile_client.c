#include "scheduler/loads/profile_client.h"

#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "proto/wire.h"
#include "scheduler/cache/cache.h"
#include "scheduler/loads/aggregator_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { REQUEST_MAX = 2048 };

/* A question without a final answer. */
struct request {
	TAILQ_ENTRY(request) link;
	struct query *query;
	uint32_t sent, answered; /* a bit for each aggregator */
	bool is_backfill;
	char **uids; /* of pods that wait; owned */
	size_t count, capacity;
};

TAILQ_HEAD(requests, request);

/* One aggregator. */
struct source {
	struct profile_client *owner;
	struct aggregator_client *client;
	uint32_t bit;
	struct request *asking; /* in flight; NULL: none, or ended */
};

struct profile_client {
	struct aggregators_options options;
	struct source sources[OPTION_LIST_MAX];
	size_t count;
	struct query_cache *queries; /* struct profile_request -> usage */
	struct requests requests;    /* oldest first */
	struct timer *backfill;
	char *backfill_uid; /* the pod whose VM is asked about */
	uint64_t backfill_asked_us;
	uint64_t backfill_after_us; /* the pause ends */
	bool is_backfilling;
};

_Static_assert(OPTION_LIST_MAX <= 32, "a bit for each aggregator");

struct usage profile_client_usage(const struct vm_profile *profile)
{
	double stdev = isnan(profile->stdev_cores) ? 0 : profile->stdev_cores;

	if (!(profile->seconds > 0) || isnan(profile->mean_cores)) {
		return (struct usage){ 0 };
	}
	return (struct usage){
		.seconds = fmin(profile->seconds, USAGE_MEMORY_S),
		.mean_cores = profile->mean_cores,
		.square_cores = profile->mean_cores * profile->mean_cores +
			stdev * stdev,
	};
}

/* ---- requests and replies ---- */

static uint32_t connected(const struct profile_client *client)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < client->count; i++) {
		if (aggregator_client_is_connected(client->sources[i].client)) {
			bits |= client->sources[i].bit;
		}
	}
	return bits;
}

/* The oldest request that this aggregator can answer in time. */
static struct request *find_next(const struct source *source, bool is_backfill)
{
	uint64_t now_us = clock_monotonic_us();
	struct request *request = TAILQ_FIRST(&source->owner->requests);

	for (; request != NULL; request = TAILQ_NEXT(request, link)) {
		/* The pod of an older request no longer waits. */
		bool is_late = now_us - query_asked_us(request->query) >
			(uint64_t)PROFILE_CLIENT_WAIT_US;

		if ((request->sent & source->bit) == 0 &&
			request->is_backfill == is_backfill &&
			(is_backfill || !is_late)) {
			return request;
		}
	}
	return NULL;
}

static bool pack_next(void *owner, struct buffer *out)
{
	struct source *source = owner;

	source->asking = find_next(source, false);
	if (source->asking == NULL) {
		source->asking = find_next(source, true);
	}
	if (source->asking == NULL) {
		return false;
	}
	source->asking->sent |= source->bit;
	wire_pack_profile_request(out, query_question(source->asking->query));
	return true;
}

static void settle(struct query *query, const struct usage *usage)
{
	query_settle(query, xmemdup(usage, sizeof(*usage)),
		usage->seconds > 0 ? PROFILE_CLIENT_KEPT_US
				   : PROFILE_CLIENT_UNKNOWN_US,
		clock_monotonic_us());
}

static enum aggregator_client_verdict on_reply(void *owner,
	const struct wire_reply *reply)
{
	struct source *source = owner;
	struct request *request = take_ptr(source->asking);
	struct usage usage;

	if (reply->kind != WIRE_PROFILE) {
		return AGGREGATOR_CLIENT_UNEXPECTED;
	}
	if (request == NULL) {
		return AGGREGATOR_CLIENT_NEXT;
	}
	request->answered |= source->bit;
	usage = profile_client_usage(&reply->profile);
	if (usage.seconds > 0 ||
		(connected(source->owner) & ~request->answered) == 0) {
		settle(request->query, &usage);
	}
	return AGGREGATOR_CLIENT_NEXT;
}

/* ---- queries ---- */

static void on_start(void *owner, struct query *query)
{
	struct profile_client *client = owner;
	struct request *request = xcalloc(1, sizeof(*request));

	request->query = query;
	query_set_data(query, request);
	TAILQ_INSERT_TAIL(&client->requests, request, link);
	for (size_t i = 0; i < client->count; i++) {
		aggregator_client_send_next(client->sources[i].client);
	}
}

/* The pods that wait for the profile are ready. */
static void release(struct profile_client *client,
	const struct request *request)
{
	for (size_t i = 0; i < request->count; i++) {
		struct queued_pod *queued =
			queue_find(client->options.queue, request->uids[i]);

		if (queued != NULL && queued->state == QUEUED_READY &&
			queued->failures == 0) {
			queued->not_before_us = 0;
		}
	}
	client->options.on_profile(client->options.owner);
}

static void request_free(struct request *request)
{
	for (size_t i = 0; i < request->count; i++) {
		free(request->uids[i]);
	}
	free(request->uids);
	free(request);
}

static void on_ended(void *owner, struct query *query)
{
	struct profile_client *client = owner;
	struct request *request = query_data(query);

	for (size_t i = 0; i < client->count; i++) {
		if (client->sources[i].asking == request) {
			client->sources[i].asking = NULL;
		}
	}
	TAILQ_REMOVE(&client->requests, request, link);
	query_set_data(query, NULL);
	if (!request->is_backfill) {
		release(client, request);
	}
	request_free(request);
}

static struct profile_request question_about(const struct pod *pod)
{
	struct profile_request question = { .name = "" };

	(void)snprintf(question.namespace, sizeof(question.namespace), "%s",
		pod->namespace);
	(void)snprintf(question.name, sizeof(question.name), "%s",
		pod->vm_name);
	return question;
}

/* Makes a backfill query one that a pod waits for. False: every
 * connected aggregator has replied. */
static bool awaits_reply(const struct profile_client *client,
	const struct query *query)
{
	struct request *request = query_data(query);

	if (request == NULL || (connected(client) & ~request->answered) == 0) {
		return false;
	}
	request->is_backfill = false;
	return true;
}

static void wait_for(struct request *request, const char *uid)
{
	request->uids = xgrow(request->uids, request->count, &request->capacity,
		sizeof(*request->uids));
	request->uids[request->count++] = xstrdup(uid);
}

static struct query *find_or_ask(struct profile_client *client,
	const struct profile_request *question, uint64_t now_us)
{
	struct query *query = query_cache_find(client->queries, question,
		sizeof(*question), now_us);

	if (query == NULL) {
		query_cache_ask(client->queries, question, sizeof(*question),
			NULL, NULL, now_us);
		query = query_cache_find(client->queries, question,
			sizeof(*question), now_us);
	}
	return query;
}

bool profile_client_may_schedule(struct profile_client *client,
	struct queued_pod *queued, int64_t now_us)
{
	struct pod *pod = queued->pod;
	struct profile_request question;
	const struct usage *usage = NULL;
	const struct query *query;
	int64_t until_us;

	if (client->count == 0 || !pod->is_vm || *pod->vm_name == '\0') {
		return true;
	}
	question = question_about(pod);
	query = find_or_ask(client, &question, (uint64_t)now_us);
	if (query != NULL) {
		until_us =
			(int64_t)query_asked_us(query) + PROFILE_CLIENT_WAIT_US;
		/* A pod that was tried before has waited already. */
		if (queued->failures == 0 && now_us < until_us &&
			awaits_reply(client, query)) {
			queued->not_before_us = until_us;
			wait_for(query_data(query), pod->uid);
			return false;
		}
		usage = query_answer(query);
	}
	pod->usage = (struct usage){ 0 };
	if (usage != NULL) {
		pod->usage = *usage;
	}
	return true;
}

void profile_client_ask(struct profile_client *client,
	const struct profile_request *vm, query_done done, void *owner)
{
	if (client->count == 0) {
		done(owner, NULL, "there is no aggregator");
		return;
	}
	query_cache_ask(client->queries, vm, sizeof(*vm), done, owner,
		clock_monotonic_us());
}

/* ---- running VMs ---- */

uint64_t profile_client_pause_us(uint64_t took_us)
{
	uint64_t pause_us = PROFILE_CLIENT_PAUSES * took_us;

	return pause_us < PROFILE_CLIENT_PAUSE_MAX_US
		? pause_us
		: PROFILE_CLIENT_PAUSE_MAX_US;
}

static void on_backfilled(void *owner, const void *answer, const char *why)
{
	struct profile_client *client = owner;
	const struct usage *usage = answer;
	scoped_free char *uid = take_ptr(client->backfill_uid);
	uint64_t now_us = clock_monotonic_us();

	(void)why;
	client->backfill_after_us = now_us +
		profile_client_pause_us(now_us - client->backfill_asked_us);
	if (usage != NULL && usage->seconds > 0) {
		cache_update_profile(client->options.cache, uid, usage);
	}
}

/* A question that somebody waits for stays theirs. */
static void backfill(struct profile_client *client, const struct pod *pod,
	uint64_t now_us)
{
	struct profile_request question = question_about(pod);
	struct query *query = query_cache_find(client->queries, &question,
		sizeof(question), now_us);
	bool is_new = query == NULL;
	struct request *request;

	client->backfill_uid = xstrdup(pod->uid);
	client->backfill_asked_us = now_us;
	query_cache_ask(client->queries, &question, sizeof(question),
		on_backfilled, client, now_us);
	query = query_cache_find(client->queries, &question, sizeof(question),
		now_us);
	request = query == NULL ? NULL : query_data(query);
	if (request != NULL && is_new) {
		request->is_backfill = true;
	}
}

static void on_backfill_timer(void *owner)
{
	struct profile_client *client = owner;
	uint64_t now_us = clock_monotonic_us();
	const struct pod *pod;

	query_cache_expire(client->queries, now_us);
	if (connected(client) == 0 || client->backfill_uid != NULL ||
		now_us < client->backfill_after_us) {
		return;
	}
	pod = cache_next_unprofiled(client->options.cache);
	if (pod == NULL) {
		timer_stop(client->backfill);
		client->is_backfilling = false;
		return;
	}
	backfill(client, pod, now_us);
}

void profile_client_backfill(struct profile_client *client)
{
	if (client->count > 0 && !client->is_backfilling) {
		client->is_backfilling = true;
		timer_start(client->backfill, 0, PROFILE_CLIENT_BACKFILL_MS);
	}
}

/* ---- life ---- */

static int open_source(struct profile_client *client, uv_loop_t *loop,
	struct error *err)
{
	struct source *source = &client->sources[client->count];
	const struct aggregator_client_options options = {
		.url = client->options.urls->items[client->count],
		.credentials = client->options.credentials,
		.tls = client->options.tls,
		.request_max = REQUEST_MAX,
		.failure = "cannot get VM profiles",
		.next = pack_next,
		.reply = on_reply,
		.owner = source,
	};

	source->owner = client;
	source->bit = UINT32_C(1) << client->count;
	return aggregator_client_new(&source->client, loop, &options, err);
}

int profile_client_new(struct profile_client **out, uv_loop_t *loop,
	const struct aggregators_options *options, struct error *err)
{
	struct profile_client *client = xcalloc(1, sizeof(*client));
	int r = 0;

	client->options = *options;
	TAILQ_INIT(&client->requests);
	client->queries = query_cache_new(&(const struct query_cache_options){
		.queries_max = PROFILE_CLIENT_MAX,
		.running_max = PROFILE_CLIENT_MAX,
		.timeout_us = PROFILE_CLIENT_UNKNOWN_US,
		.start = on_start,
		.ended = on_ended,
		.free_answer = free,
		.owner = client,
	});
	client->backfill = timer_new(loop, on_backfill_timer, client);
	while (r == 0 && client->count < options->urls->count) {
		r = open_source(client, loop, err);
		client->count += r == 0;
	}
	if (r < 0) {
		profile_client_close(client);
		return r;
	}
	*out = client;
	return 0;
}

void profile_client_close(struct profile_client *client)
{
	if (client == NULL) {
		return;
	}
	query_cache_free(client->queries);
	for (size_t i = 0; i < client->count; i++) {
		aggregator_client_close(client->sources[i].client);
	}
	timer_close(client->backfill);
	free(client);
}
