#include "scheduler/answers/answers.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "proto/question.h"
#include "scheduler/answers/manifest_check.h"
#include "scheduler/answers/outlooks.h"
#include "scheduler/answers/placement_answer.h"
#include "scheduler/answers/plan_answer.h"
#include "scheduler/answers/reach_answer.h"
#include "scheduler/answers/spec.h"
#include "scheduler/answers/subject.h"
#include "scheduler/cache/reservations.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/loads/profile_client.h"
#include "scheduler/loads/question_client.h"
#include "scheduler/planner/planner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

enum { WHY_MAX = 1024, HOST_MAX = 256 };

/* A question for a plan. The planner owns it between planner_start() and
 * done(). It may outlive the answers. */
struct plan_job {
	LIST_ENTRY(plan_job) link;
	struct answers *answers; /* NULL: closed */
	struct question_ref ref;
	struct plan_question question;
	unsigned status; /* 0: the search did not run */
	struct buffer body;
	char scheduler[HOST_MAX];
};

/* A placement that waits for its VM's profile, or for its turn. It may outlive
 * the answers while the profile is asked for. */
struct place_job {
	LIST_ENTRY(place_job) link;
	struct answers *answers; /* NULL: answered, or closed */
	struct question_ref ref;
	int64_t since_us;
	bool asks_profile;    /* on_profile() follows */
	struct usage profile; /* zeroed: not known */
	char namespace[DECISION_NAME_MAX];
	struct json_value *value; /* owned */
	struct placement_spec spec;
	struct timer *timer;
};

struct answers {
	struct answers_options options;
	char scheduler[HOST_MAX]; /* this replica, by its host's name */
	LIST_HEAD(plan_jobs, plan_job) jobs;
	LIST_HEAD(place_jobs, place_job) places;
	int64_t next_place_us; /* no placement is answered before */
	struct outlooks outlooks;
};

static void answer(struct answers *answers, const struct question_ref *ref,
	unsigned status, const struct buffer *body)
{
	question_client_answer(answers->options.questions, ref, status,
		body->data == NULL ? "" : body->data, body->len);
}

static void refuse(struct answers *answers, const struct question_ref *ref,
	unsigned status, const char *why)
{
	question_client_answer(answers->options.questions, ref, status, why,
		strlen(why));
}

static unsigned status_of(const struct error *err)
{
	return err->code == -ENOENT ? 404 : err->code == -EBADMSG ? 400 : 422;
}

static void refuse_error(struct answers *answers,
	const struct question_ref *ref, const struct error *err)
{
	refuse(answers, ref, status_of(err), err->text);
}

static struct placement_answer where_of(const struct answers *answers,
	const char *namespace)
{
	const struct answers_options *o = &answers->options;

	return (struct placement_answer){ .cache = o->cache,
		.reservations = o->reservations,
		.queue = o->queue,
		.policy = o->policy,
		.kubevirt = o->kubevirt,
		.keeps_constraints = o->planner != NULL,
		.scheduler = answers->scheduler,
		.namespace = namespace,
		.now_us = (int64_t)clock_monotonic_us(),
		.wall_us = clock_wall_us() };
}

/* The VM of a manifest; "": it is a pod's, or has no name. */
static const char *vm_of(const struct placement_spec *spec)
{
	const char *name = spec->kind == PLACEMENT_VMI_OBJECT ||
			spec->kind == PLACEMENT_VM_OBJECT
		? json_value_text_at(spec->object, "metadata/name", "")
		: "";

	return strlen(name) < PROFILE_NAME_MAX ? name : "";
}

/* ---- plans ---- */

static void work(void *owner, struct plan_input *input)
{
	struct plan_job *job = owner;

	job->status = plan_answer_write(&job->body, &job->question, input,
		clock_wall_us());
}

static void job_free(struct plan_job *job)
{
	plan_question_fini(&job->question);
	buffer_fini(&job->body);
	free(job);
}

static void refuse_unready(struct answers *answers,
	const struct question_ref *ref)
{
	scoped_buffer struct buffer why = BUFFER_MAX(WHY_MAX);

	if (kubevirt_is_ready(answers->options.kubevirt, &why)) {
		buffer_clear(&why);
		buffer_text(&why,
			"not all nodes and pods are known, or the scheduler "
			"stops; ask again in a few seconds");
	}
	answer(answers, ref, 503, &why);
}

static void on_done(void *owner, const struct plan_input *input, bool is_done)
{
	struct plan_job *job = owner;

	(void)input;
	if (job->answers != NULL) {
		LIST_REMOVE(job, link);
	}
	if (job->answers != NULL && is_done) {
		answer(job->answers, &job->ref, job->status, &job->body);
	} else if (job->answers != NULL) {
		refuse_unready(job->answers, &job->ref);
	}
	job_free(job);
}

/* The pod of GOAL_MAKE_ROOM. */
static int find_pending(struct answers *answers, struct plan_job *job,
	struct error *err)
{
	const struct answers_options *o = &answers->options;
	const struct plan_question *question = &job->question;
	struct subject subject;
	int r = subject_find_pod(&subject, o->cache, o->queue,
		question->namespace, question->name, err);

	if (r == 0 && subject.node != NULL) {
		r = error_set(err, -EINVAL, "the pod %s/%s is on %s already",
			question->namespace, question->name,
			subject.node->name);
	}
	if (r == 0) {
		job->question.pod = pod_copy(subject.queued->pod,
			subject.queued->pod->uid, "");
	}
	return r;
}

static struct plan_job *job_new(struct answers *answers,
	const struct plan_spec *spec, const struct question *question,
	struct question_ref ref)
{
	struct plan_job *job = xcalloc(1, sizeof(*job));

	job->answers = answers;
	job->ref = ref;
	job->body = BUFFER_MAX(ANSWER_BODY_MAX);
	memcpy(job->scheduler, answers->scheduler, sizeof(job->scheduler));
	plan_question_init(&job->question, spec, question->namespace,
		question->is_visible);
	job->question.scheduler = job->scheduler;
	kubevirt_cluster_limits(answers->options.kubevirt,
		&job->question.limits);
	return job;
}

static void start_plan(struct answers *answers, struct plan_job *job)
{
	LIST_INSERT_HEAD(&answers->jobs, job, link);
	if (!planner_start(answers->options.planner,
		    &(const struct planner_job){ .work = work,
			    .done = on_done,
			    .owner = job,
			    .is_report = true,
			    .is_asked = true })) {
		LIST_REMOVE(job, link);
		refuse(answers, &job->ref, 503,
			"too many searches for plans wait; ask again later");
		job_free(job);
	}
}

static void find_plan(struct answers *answers, const struct json_value *value,
	const struct question *question, struct question_ref ref)
{
	struct plan_spec spec;
	struct error err;
	struct plan_job *job;

	if (plan_spec_read(&spec, value, &err) < 0) {
		refuse_error(answers, &ref, &err);
		return;
	}
	if (answers->options.planner == NULL) {
		refuse(answers, &ref, 503,
			"nothing watches KubeVirt with --rebalance off and "
			"--make-room off, so there are no plans");
		return;
	}
	job = job_new(answers, &spec, question, ref);
	if (spec.goal == GOAL_MAKE_ROOM &&
		find_pending(answers, job, &err) < 0) {
		refuse_error(answers, &ref, &err);
		job_free(job);
		return;
	}
	start_plan(answers, job);
}

/* ---- placements ---- */

static void place(struct answers *answers, const struct placement_spec *spec,
	const char *namespace, const struct usage *profile,
	const struct question_ref *ref)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ANSWER_BODY_MAX);
	struct placement_answer where = where_of(answers, namespace);
	struct error err;
	int64_t now;

	where.profile = profile->seconds > 0 ? profile : NULL;
	if (placement_answer_write(&body, &where, spec, &err) < 0) {
		refuse_error(answers, ref, &err);
	} else {
		answer(answers, ref, 200, &body);
	}
	now = (int64_t)clock_monotonic_us();
	answers->next_place_us =
		now + (now - where.now_us) * (ANSWERS_PLACE_PART - 1);
}

/* `job` is in no list. */
static void free_place(struct place_job *job)
{
	timer_close(take_ptr(job->timer));
	json_value_free(take_ptr(job->value));
	job->answers = NULL;
	if (!job->asks_profile) {
		free(job);
	}
}

static void end_place(struct place_job *job)
{
	LIST_REMOVE(job, link);
	free_place(job);
}

/* Answers, or waits until the placements are within their share of the loop. */
static void take_turn(struct place_job *job)
{
	struct answers *answers = job->answers;
	int64_t now = (int64_t)clock_monotonic_us();
	int64_t wait_us = answers->next_place_us - now;
	int64_t left_us = job->since_us + ANSWERS_PLACE_WAIT_US - now;

	if (left_us < 0) {
		refuse(answers, &job->ref, 503,
			"too many placements wait; ask again later");
	} else if (wait_us > 0) {
		wait_us = wait_us < left_us ? wait_us : left_us;
		timer_start(job->timer, (uint64_t)wait_us / 1000 + 1, 0);
		return;
	} else {
		place(answers, &job->spec, job->namespace, &job->profile,
			&job->ref);
	}
	end_place(job);
}

static void on_profile(void *owner, const void *profile, const char *why)
{
	struct place_job *job = owner;

	(void)why;
	job->asks_profile = false;
	if (job->answers == NULL) {
		free(job);
		return;
	}
	if (profile != NULL) {
		job->profile = *(const struct usage *)profile;
	}
	take_turn(job);
}

/* The turn came, or the aggregators do not answer. */
static void on_wait(void *owner)
{
	take_turn(owner);
}

/* Takes the value, of which the spec borrows. */
static struct place_job *place_job_new(struct answers *answers,
	struct json_value *value, const struct placement_spec *spec,
	const struct question *question, struct question_ref ref)
{
	struct place_job *job = xcalloc(1, sizeof(*job));

	*job = (struct place_job){ .answers = answers,
		.ref = ref,
		.since_us = (int64_t)clock_monotonic_us(),
		.value = value,
		.spec = *spec,
		.timer = timer_new(answers->options.loop, on_wait, job) };
	(void)snprintf(job->namespace, sizeof(job->namespace), "%s",
		question->namespace);
	LIST_INSERT_HEAD(&answers->places, job, link);
	return job;
}

static void await_profile(struct place_job *job)
{
	struct profile_request vm = { 0 };

	(void)snprintf(vm.namespace, sizeof(vm.namespace), "%s",
		job->namespace);
	(void)snprintf(vm.name, sizeof(vm.name), "%s", vm_of(&job->spec));
	job->asks_profile = true;
	timer_start(job->timer, ANSWERS_PROFILE_MS, 0);
	/* The last step: the answer may come inside this. */
	profile_client_ask(job->answers->options.profiles, &vm, on_profile,
		job);
}

/* Takes the value. */
static void find_place(struct answers *answers, struct json_value *value,
	const struct question *question, struct question_ref ref)
{
	const struct placement_answer where =
		where_of(answers, question->namespace);
	struct placement_spec spec;
	struct place_job *job;
	struct error err;

	if (placement_spec_read(&spec, value, &err) < 0 ||
		(spec.object != NULL && manifest_check(&spec, &err) < 0)) {
		refuse_error(answers, &ref, &err);
		json_value_free(value);
		return;
	}
	job = place_job_new(answers, value, &spec, question, ref);
	if (*vm_of(&spec) != '\0' &&
		!placement_answer_runs(&where, vm_of(&spec))) {
		await_profile(job);
	} else {
		take_turn(job);
	}
}

/* ---- reaches ---- */

static void tell_reach(struct answers *answers, const struct json_value *value,
	const struct question_ref *ref)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ANSWER_BODY_MAX);

	if (answers->options.planner == NULL) {
		refuse(answers, ref, 503,
			"nothing watches KubeVirt with --rebalance off and "
			"--make-room off");
	} else if (!reach_answer_write(&body, answers->options.room.reach,
			   value)) {
		refuse(answers, ref, 503,
			"what VMs can reach is not known yet; ask again in a "
			"few seconds");
	} else {
		answer(answers, ref, 200, &body);
	}
}

/* ---- all ---- */

static bool leads(void *owner)
{
	const struct answers *answers = owner;

	return answers->options.leads(answers->options.owner);
}

static void on_ask(void *owner, const struct question *question,
	struct question_ref ref)
{
	struct answers *answers = owner;
	struct json_value *value = NULL;
	struct error err;

	if (!answers->options.is_synced(answers->options.owner)) {
		refuse(answers, &ref, 503,
			"the scheduler does not know the whole cluster yet; "
			"ask again in a few seconds");
		return;
	}
	if (json_value_parse_bounded(&value, question->body, question->len,
		    &err) < 0) {
		refuse_error(answers, &ref, &err);
		return;
	}
	if (question->kind == QUESTION_PLACEMENT) {
		find_place(answers, take_ptr(value), question, ref);
	} else if (question->kind == QUESTION_PLAN) {
		find_plan(answers, value, question, ref);
	} else if (question->kind == QUESTION_REACH) {
		tell_reach(answers, value, &ref);
	} else {
		outlooks_ask(&answers->outlooks, value, question, &ref);
	}
	json_value_free(value);
}

struct answers *answers_new(const struct answers_options *options)
{
	struct answers *answers = xcalloc(1, sizeof(*answers));

	answers->options = *options;
	LIST_INIT(&answers->jobs);
	LIST_INIT(&answers->places);
	answers->outlooks = (struct outlooks){ .options = &answers->options,
		.scheduler = answers->scheduler };
	if (gethostname(answers->scheduler, sizeof(answers->scheduler) - 1) !=
		0) {
		answers->scheduler[0] = '\0';
	}
	question_client_listen(options->questions,
		&(const struct question_listener){ leads, on_ask, answers });
	return answers;
}

void answers_close(struct answers *answers)
{
	struct plan_job *job;
	struct place_job *place;

	if (answers == NULL) {
		return;
	}
	question_client_listen(answers->options.questions,
		&(const struct question_listener){ 0 });
	while ((job = LIST_FIRST(&answers->jobs)) != NULL) {
		LIST_REMOVE(job, link);
		job->answers = NULL;
		planner_cancel(answers->options.planner, job);
	}
	while ((place = LIST_FIRST(&answers->places)) != NULL) {
		LIST_REMOVE(place, link);
		free_place(place);
	}
	outlooks_close(&answers->outlooks);
	free(answers);
}
