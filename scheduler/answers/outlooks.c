#include "scheduler/answers/outlooks.h"

#include "kube/json_value.h"
#include "lib/buffer.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/memory.h"
#include "scheduler/answers/answers.h"
#include "scheduler/answers/outlook.h"
#include "scheduler/answers/subject.h"
#include "scheduler/kubevirt/kubevirt.h"
#include "scheduler/planner/planner.h"

#include <stdlib.h>
#include <string.h>

enum { REASON_MAX = 1024 };

/* A question on the cluster that waits for the room. */
struct outlook_job {
	LIST_ENTRY(outlook_job) link;
	struct outlooks *outlooks;
	struct question_ref ref;
	struct timer *timer;
};

static void answer(const struct outlooks *outlooks,
	const struct question_ref *ref, unsigned status,
	const struct buffer *body)
{
	question_client_answer(outlooks->options->questions, ref, status,
		body->data, body->len);
}

/* ---- the cluster ---- */

static void answer_cluster(const struct outlooks *outlooks,
	const struct question_ref *ref, const char *room)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ANSWER_BODY_MAX);
	struct rebalance_state rebalance;

	question_client_rebalance(outlooks->options->questions, &rebalance);
	outlook_write(&body,
		&(const struct outlook){
			.cluster = &outlooks->options->cache->cluster,
			.scheduler = outlooks->scheduler,
			.room = room,
			.rebalance = rebalance.mode,
			.why = rebalance.why,
			.now_us = (int64_t)clock_monotonic_us(),
			.wall_us = clock_wall_us() });
	answer(outlooks, ref, 200, &body);
}

static void end(struct outlook_job *job)
{
	LIST_REMOVE(job, link);
	timer_close(job->timer);
	free(job);
}

/* As moves_ask_room() calls it: a refusal has a body, too. */
static void on_room(void *owner, int status, const struct buffer *body)
{
	struct outlook_job *job = owner;

	(void)status;
	answer_cluster(job->outlooks, &job->ref, body->data);
	end(job);
}

static void on_late(void *owner)
{
	struct outlook_job *job = owner;
	const struct answers_room *room = &job->outlooks->options->room;

	room->forget(room->moves, job);
	answer_cluster(job->outlooks, &job->ref,
		"{\"fits_error\":\"the search for what fits is not done; ask "
		"again later\"}");
	end(job);
}

static void ask_room(struct outlooks *outlooks, const struct question_ref *ref)
{
	const struct answers_room *room = &outlooks->options->room;
	struct outlook_job *job = xcalloc(1, sizeof(*job));

	*job = (struct outlook_job){ .outlooks = outlooks,
		.ref = *ref,
		.timer = timer_new(outlooks->options->loop, on_late, job) };
	LIST_INSERT_HEAD(&outlooks->jobs, job, link);
	timer_start(job->timer, OUTLOOKS_ROOM_MS, 0);
	/* The last step: the answer may come inside this. */
	room->ask(room->moves, on_room, job);
}

/* ---- a VM ---- */

/* A question about a VM. */
struct vm_question {
	const struct outlooks *outlooks;
	const char *namespace, *name;
	const struct question_ref *ref;
};

static void answer_vm(const struct vm_question *q, const struct subject *at,
	struct vm_outlook *vm)
{
	scoped_buffer struct buffer body = BUFFER_MAX(ANSWER_BODY_MAX);

	vm->scheduler = q->outlooks->scheduler;
	vm->wall_us = clock_wall_us();
	vm->node = at->node == NULL ? NULL : at->node->name;
	outlook_write_vm(&body, vm);
	answer(q->outlooks, q->ref, 200, &body);
}

static void refuse_vm(const struct vm_question *q)
{
	scoped_buffer struct buffer why = BUFFER_MAX(REASON_MAX);

	buffer_printf(&why, "the scheduler knows no VM %s/%s", q->namespace,
		q->name);
	answer(q->outlooks, q->ref, 404, &why);
}

/* KubeVirt's watches do not tell, for this reason, whether it may be moved. */
static void answer_unwatched(const struct vm_question *q, const char *reason)
{
	const struct answers_options *o = q->outlooks->options;
	struct vm_outlook vm = { .reason = reason };
	struct subject at;

	if (subject_find_vm(&at, o->cache, o->queue, q->namespace, q->name,
		    NULL) < 0) {
		refuse_vm(q);
	} else {
		answer_vm(q, &at, &vm);
	}
}

static void answer_watched(const struct vm_question *q, const struct vmi *vmi)
{
	scoped_buffer struct buffer reason = BUFFER_MAX(REASON_MAX);
	const struct answers_options *o = q->outlooks->options;
	struct vm_outlook vm = { .is_known = true };
	struct subject at;

	buffer_text(&reason, "");
	subject_find_vmi(&at, o->cache, vmi);
	if (at.node == NULL) {
		buffer_text(&reason, "has no node yet");
	} else {
		vm.is_movable =
			planner_may_move(o->planner, at.pod, at.node, &reason);
	}
	vm.reason = reason.data;
	answer_vm(q, &at, &vm);
}

static void find_vm(const struct vm_question *q)
{
	scoped_buffer struct buffer why = BUFFER_MAX(REASON_MAX);
	const struct answers_options *o = q->outlooks->options;
	const struct vmi *vmi;

	if (o->planner == NULL) {
		answer_unwatched(q,
			"nothing watches KubeVirt with --rebalance off and "
			"--make-room off");
		return;
	}
	if (!kubevirt_is_ready(o->kubevirt, &why)) {
		answer_unwatched(q, why.data);
		return;
	}
	vmi = kubevirt_vmi_named(o->kubevirt, q->namespace, q->name);
	if (vmi == NULL) {
		refuse_vm(q);
	} else {
		answer_watched(q, vmi);
	}
}

/* ---- all ---- */

void outlooks_ask(struct outlooks *outlooks, const struct json_value *body,
	const struct question *question, const struct question_ref *ref)
{
	static const char nameless[] = "spec.vmName is missing";
	const char *name = json_value_text_at(body, "vmName", "");

	if (*question->namespace != '\0' && *name == '\0') {
		question_client_answer(outlooks->options->questions, ref, 422,
			nameless, sizeof(nameless) - 1);
	} else if (*question->namespace != '\0') {
		find_vm(&(const struct vm_question){ outlooks,
			question->namespace, name, ref });
	} else if (outlooks->options->planner == NULL) {
		answer_cluster(outlooks, ref, NULL);
	} else {
		ask_room(outlooks, ref);
	}
}

void outlooks_close(struct outlooks *outlooks)
{
	const struct answers_room *room = &outlooks->options->room;
	struct outlook_job *next;

	for (struct outlook_job *job = LIST_FIRST(&outlooks->jobs); job != NULL;
		job = next) {
		next = LIST_NEXT(job, link);
		room->forget(room->moves, job);
		end(job);
	}
}
