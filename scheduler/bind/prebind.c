#include "scheduler/bind/prebind.h"

#include "kube/client.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/bind/bodies.h"
#include "scheduler/filter/volume_match.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { POLL_MS = 1000, BODY_MAX = 65536 };

static const char deleted[] = "a claim or volume was deleted";

/* The volumes of one pod. */
struct job {
	struct prebind *prebind;
	LIST_ENTRY(job) link;
	char *uid, *node, *why;
	struct volume_plan plan;
	bool *seen;   /* by choice: the informer delivered our patch */
	size_t wrote; /* the choices before this one are written */
	struct kube_request *request; /* NULL: none in flight */
	int64_t until_us;
};

struct prebind {
	struct kube_client *client;
	struct cluster *cluster;
	struct prebind_handler handler;
	struct timer *timer;
	LIST_HEAD(job_list, job) jobs;
	size_t pending;
};

static void job_free(struct job *job)
{
	struct prebind *prebind = job->prebind;

	LIST_REMOVE(job, link);
	prebind->pending--;
	kube_request_cancel(job->request);
	volume_plan_forget(&job->plan, &prebind->cluster->storage);
	volume_plan_fini(&job->plan);
	free(job->seen);
	free(job->uid);
	free(job->node);
	free(job->why);
	free(job);
}

static void finish(struct job *job, const char *error)
{
	struct prebind *prebind = job->prebind;
	const struct prebind_result result = {
		.uid = job->uid,
		.node = job->node,
		.why = job->why,
		.error = error,
	};

	volume_plan_forget(&job->plan, &prebind->cluster->storage);
	prebind->handler.on_done(prebind->handler.owner, &result);
	job_free(job);
}

/* ---- writing ---- */

static void write_next(struct job *job);

static void on_written(void *owner, const struct http_response *response)
{
	struct job *job = owner;

	job->request = NULL;
	if (response->status < 200 || response->status >= 300) {
		finish(job, response->error);
		return;
	}
	job->wrote++;
	write_next(job);
}

static void send_patch(struct job *job, const char *path,
	const struct buffer *body)
{
	struct kube_call call = {
		.method = "PATCH",
		.path = path,
		.type = "application/merge-patch+json",
		.body = body->data,
		.len = body->len,
		.on_done = on_written,
		.owner = job,
	};

	job->request = kube_request_send(job->prebind->client, &call);
}

/* False: the claim or volume was deleted. */
static bool write_choice(struct job *job, const struct volume_choice *choice)
{
	const struct storage *storage = &job->prebind->cluster->storage;
	const struct claim *claim =
		storage_claim(storage, choice->namespace_name, choice->claim);
	const struct volume *volume = choice->volume != NULL
		? storage_volume(storage, choice->volume)
		: NULL;
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	scoped_free char *path = NULL;

	if (claim == NULL || (choice->volume != NULL && volume == NULL)) {
		return false;
	}
	if (volume != NULL) {
		path = xasprintf("/api/v1/persistentvolumes/%s", volume->name);
		body_volume_claim(&body, volume, claim);
	} else {
		path = xasprintf(
			"/api/v1/namespaces/%s/persistentvolumeclaims/%s",
			claim->namespace_name, claim->name);
		body_selected_node(&body, claim, job->node);
	}
	send_patch(job, path, &body);
	return true;
}

static bool is_wanted(const struct job *job)
{
	const struct prebind_handler *handler = &job->prebind->handler;

	return handler->is_wanted(handler->owner, job->uid);
}

static void write_next(struct job *job)
{
	if (job->wrote == job->plan.count || !is_wanted(job)) {
		prebind_poll(job->prebind, (int64_t)clock_monotonic_us());
	} else if (!write_choice(job, &job->plan.list[job->wrote])) {
		finish(job, deleted);
	}
}

/* ---- waiting ---- */

static const struct node *node_of(const struct job *job)
{
	const struct cluster *cluster = job->prebind->cluster;

	for (size_t i = 0; i < cluster->count; i++) {
		if (strcmp(cluster->nodes[i]->name, job->node) == 0) {
			return cluster->nodes[i];
		}
	}
	return NULL;
}

static bool has_reference(const struct volume *volume,
	const struct volume_choice *choice)
{
	return volume->claim_uid != NULL &&
		strcmp(volume->claim_uid, choice->claim_uid) == 0;
}

static bool is_selected(const struct claim *claim, const char *node)
{
	return claim->selected_node != NULL &&
		strcmp(claim->selected_node, node) == 0;
}

/* Why this choice cannot succeed, or NULL. Updates job->seen. */
static const char *find_error(struct job *job, size_t index,
	const struct node *node)
{
	const struct volume_choice *choice = &job->plan.list[index];
	const struct storage *storage = &job->prebind->cluster->storage;
	const struct claim *claim =
		storage_claim(storage, choice->namespace_name, choice->claim);
	const struct volume *volume;
	bool is_kept;

	if (claim == NULL || strcmp(claim->uid, choice->claim_uid) != 0) {
		return "a claim was deleted";
	}
	volume = storage_volume(storage,
		choice->volume != NULL ? choice->volume : claim->volume);
	if (volume == NULL && choice->volume != NULL) {
		return "a volume was deleted";
	}
	if (volume != NULL && !volume_match_node(volume, node)) {
		return "a volume's node affinity does not match the node";
	}
	is_kept = choice->volume != NULL ? has_reference(volume, choice)
					 : is_selected(claim, job->node);
	if (is_kept) {
		job->seen[index] = true;
	} else if (job->seen[index] && choice->volume != NULL) {
		return "a volume's claimRef was reset";
	} else if (job->seen[index]) {
		return "the provisioner reset the selected node";
	}
	return NULL;
}

static bool is_bound(const struct job *job, const struct volume_choice *choice)
{
	const struct claim *claim =
		storage_claim(&job->prebind->cluster->storage,
			choice->namespace_name, choice->claim);

	return claim != NULL && claim->is_bound;
}

static void check_job(struct job *job, int64_t now_us)
{
	const struct node *node = node_of(job);
	const char *error = node == NULL ? "the node was deleted" : NULL;
	bool are_bound = true;

	for (size_t i = 0; i < job->plan.count && error == NULL; i++) {
		error = find_error(job, i, node);
		are_bound &= is_bound(job, &job->plan.list[i]);
	}
	if (error == NULL && !are_bound && now_us >= job->until_us) {
		error = PREBIND_TIMED_OUT;
	}
	if (error != NULL) {
		finish(job, error);
	} else if (are_bound) {
		finish(job, "");
	}
}

void prebind_poll(struct prebind *prebind, int64_t now_us)
{
	for (struct job *job = LIST_FIRST(&prebind->jobs), *next; job != NULL;
		job = next) {
		next = LIST_NEXT(job, link);
		if (!is_wanted(job)) {
			finish(job, "the pod no longer waits");
		} else if (job->request == NULL &&
			job->wrote < job->plan.count) {
			finish(job, deleted);
		} else if (job->request == NULL) {
			check_job(job, now_us);
		}
	}
	if (prebind->pending == 0) {
		timer_stop(prebind->timer);
	}
}

static void on_timer(void *owner)
{
	prebind_poll(owner, (int64_t)clock_monotonic_us());
}

/* ---- life ---- */

struct prebind *prebind_new(struct kube_client *client, uv_loop_t *loop,
	struct cluster *cluster, const struct prebind_handler *handler)
{
	struct prebind *prebind = xcalloc(1, sizeof(*prebind));

	*prebind = (struct prebind){
		.client = client,
		.cluster = cluster,
		.handler = *handler,
	};
	prebind->timer = timer_new(loop, on_timer, prebind);
	LIST_INIT(&prebind->jobs);
	return prebind;
}

void prebind_start(struct prebind *prebind, const struct pod *pod,
	const char *node, const char *why, struct volume_plan *plan,
	int64_t now_us)
{
	struct job *job = xcalloc(1, sizeof(*job));

	*job = (struct job){
		.prebind = prebind,
		.uid = xstrdup(pod->uid),
		.node = xstrdup(node),
		.why = xstrdup(why),
		.plan = *plan,
		.seen = xcalloc(plan->count, sizeof(*job->seen)),
		.until_us = now_us + PREBIND_TIMEOUT_US,
	};
	*plan = (struct volume_plan){ 0 };
	LIST_INSERT_HEAD(&prebind->jobs, job, link);
	prebind->pending++;
	volume_plan_assume(&job->plan, &prebind->cluster->storage, node);
	timer_start(prebind->timer, POLL_MS, POLL_MS);
	/* If nothing can be written, the timer finds that out. */
	(void)write_choice(job, &job->plan.list[0]);
}

size_t prebind_pending(const struct prebind *prebind)
{
	return prebind->pending;
}

void prebind_drop(struct prebind *prebind)
{
	for (struct job *job = LIST_FIRST(&prebind->jobs), *next; job != NULL;
		job = next) {
		next = LIST_NEXT(job, link);
		job_free(job);
	}
}

void prebind_close(struct prebind *prebind)
{
	if (prebind == NULL) {
		return;
	}
	prebind_drop(prebind);
	timer_close(prebind->timer);
	free(prebind);
}
