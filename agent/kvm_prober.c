#include "agent/kvm_prober.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"

/* Shared by the loop and the thread, freed by whichever lets go last. */
struct job {
	pthread_mutex_t mutex;
	struct inbox *inbox; /* guarded; NULL: nobody waits any more */
	bool thread_done;    /* guarded */
	kvm_probe_body body;
	struct kvm_plan plan;
	struct kvm kvm; /* the thread's until it pushes the answer */
};

struct answer {
	struct inbox_item item;
	struct kvm kvm;
};

struct kvm_prober {
	struct kvm_prober_options options;
	struct inbox *inbox;
	struct timer *every, *timeout;
	struct job *job; /* under way or hung; NULL: none */
	struct kvm seen; /* what looking found when the job began */
	bool closing;
};

static void job_free(struct job *job)
{
	(void)pthread_mutex_destroy(&job->mutex);
	free(job);
}

static void *run_job(void *argument)
{
	struct job *job = argument;
	struct answer *answer = xcalloc(1, sizeof(*answer));
	bool abandoned;

	job->body(&job->kvm, &job->plan);
	answer->kvm = job->kvm;
	(void)pthread_mutex_lock(&job->mutex);
	abandoned = job->inbox == NULL;
	job->thread_done = true;
	if (!abandoned) {
		inbox_push(job->inbox, &answer->item);
	}
	(void)pthread_mutex_unlock(&job->mutex);
	if (abandoned) {
		free(answer);
		job_free(job);
	}
	return NULL;
}

/* Signals are the loop's: one that hit the thread would end KVM_RUN early. */
static int start_thread(struct job *job)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all;
	sigset_t before;
	int r = pthread_attr_init(&attributes);

	if (r != 0) {
		return -r;
	}
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attributes, run_job, job);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -r;
}

static void start_probe(void *owner)
{
	struct kvm_prober *prober = owner;
	struct job *job;
	int r;

	if (prober->job != NULL) {
		return;
	}
	prober->seen = (struct kvm){ 0 };
	kvm_look(&prober->seen, &prober->options.plan);
	job = xcalloc(1, sizeof(*job));
	(void)pthread_mutex_init(&job->mutex, NULL);
	job->inbox = prober->inbox;
	job->body = prober->options.body;
	job->plan = prober->options.plan;
	job->kvm = prober->seen;
	prober->job = job;
	r = start_thread(job);
	if (r < 0) {
		job_free(take_ptr(prober->job));
		/* Speaks of the agent, like a lack of permission. */
		prober->seen.error_number = -r;
		prober->options.probed(prober->options.owner, &prober->seen);
		return;
	}
	timer_start(prober->timeout, prober->options.timeout_ms, 0);
}

static void on_timeout(void *owner)
{
	struct kvm_prober *prober = owner;
	struct kvm kvm = prober->seen;

	kvm.state = KVM_RUN_FAILED;
	kvm.error_number = ETIMEDOUT;
	kvm.latency_us = prober->options.timeout_ms * 1000;
	prober->options.probed(prober->options.owner, &kvm);
}

/* The thread is done with its job once its answer is here: it pushed under the
 * mutex, and taking that waits for it to leave. */
static void end_job(struct job *job)
{
	(void)pthread_mutex_lock(&job->mutex);
	(void)pthread_mutex_unlock(&job->mutex);
	job_free(job);
}

static void deliver(void *owner, struct inbox_item *item)
{
	struct kvm_prober *prober = owner;
	struct answer *answer = (struct answer *)item;

	timer_stop(prober->timeout);
	end_job(prober->job);
	prober->job = NULL;
	if (!prober->closing) {
		prober->options.probed(prober->options.owner, &answer->kvm);
	}
	free(answer);
}

struct kvm_prober *kvm_prober_new(uv_loop_t *loop,
	const struct kvm_prober_options *options)
{
	struct kvm_prober *prober = xcalloc(1, sizeof(*prober));

	prober->options = *options;
	prober->inbox = inbox_new(loop, deliver, prober);
	prober->every = timer_new(loop, start_probe, prober);
	prober->timeout = timer_new(loop, on_timeout, prober);
	timer_start(prober->every, 0, options->every_ms);
	return prober;
}

/* True: the thread still runs, and frees the job when it comes back. */
static bool abandon(struct job *job)
{
	bool runs;

	(void)pthread_mutex_lock(&job->mutex);
	runs = !job->thread_done;
	job->inbox = NULL;
	(void)pthread_mutex_unlock(&job->mutex);
	return runs;
}

void kvm_prober_close(struct kvm_prober *prober)
{
	if (prober == NULL) {
		return;
	}
	prober->closing = true;
	if (prober->job != NULL && abandon(prober->job)) {
		prober->job = NULL;
	}
	/* An answer that was pushed meanwhile is delivered in here. */
	inbox_close(prober->inbox);
	timer_close(prober->every);
	timer_close(prober->timeout);
	free(prober);
}
