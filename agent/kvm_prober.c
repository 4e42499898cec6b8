#include "agent/kvm_prober.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/inbox.h"
#include "lib/loop.h"
#include "lib/memory.h"

/* Shared by the event loop and the thread; the last user frees it. */
struct job {
	pthread_mutex_t mutex;
	struct inbox *inbox; /* guarded; NULL: prober is closed */
	bool thread_done;    /* guarded */
	bool has_clock;	     /* guarded */
	clockid_t clock;     /* guarded: of the thread's CPU time */
	kvm_probe_body body;
	struct kvm_plan plan;
	struct kvm kvm; /* owned by the thread until it pushes the result */
};

struct result {
	struct inbox_item item;
	struct kvm kvm;
};

struct kvm_prober {
	struct kvm_prober_options options;
	struct inbox *inbox;
	struct timer *every, *timeout;
	struct job *job;    /* running or hung; NULL: none */
	struct kvm devices; /* found when the job began */
	uint64_t waited_ms; /* for the job */
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
	struct result *result = xcalloc(1, sizeof(*result));
	bool abandoned;

	(void)pthread_mutex_lock(&job->mutex);
	job->has_clock =
		pthread_getcpuclockid(pthread_self(), &job->clock) == 0;
	(void)pthread_mutex_unlock(&job->mutex);
	job->body(&job->kvm, &job->plan);
	result->kvm = job->kvm;
	(void)pthread_mutex_lock(&job->mutex);
	abandoned = job->inbox == NULL;
	job->thread_done = true;
	if (!abandoned) {
		inbox_push(job->inbox, &result->item);
	}
	(void)pthread_mutex_unlock(&job->mutex);
	if (abandoned) {
		free(result);
		job_free(job);
	}
	return NULL;
}

/* The thread blocks signals: one would end KVM_RUN early. */
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

/* How often the limits of a job are checked. */
static uint64_t check_ms(const struct kvm_prober *prober)
{
	const struct kvm_prober_options *options = &prober->options;

	return options->cpu_ms < options->wall_ms ? options->cpu_ms
						  : options->wall_ms;
}

static void start_probe(void *owner)
{
	struct kvm_prober *prober = owner;
	struct job *job;
	int r;

	if (prober->job != NULL) {
		return;
	}
	prober->devices = (struct kvm){ 0 };
	kvm_read_devices(&prober->devices, &prober->options.plan);
	job = xcalloc(1, sizeof(*job));
	(void)pthread_mutex_init(&job->mutex, NULL);
	job->inbox = prober->inbox;
	job->body = prober->options.body;
	job->plan = prober->options.plan;
	job->kvm = prober->devices;
	prober->job = job;
	r = start_thread(job);
	if (r < 0) {
		job_free(take_ptr(prober->job));
		/* This concerns the agent only, like a missing permission. */
		prober->devices.error_number = -r;
		prober->options.probed(prober->options.owner, &prober->devices);
		return;
	}
	prober->waited_ms = 0;
	timer_start(prober->timeout, check_ms(prober), check_ms(prober));
}

/* The CPU time of the job's thread. */
static uint64_t spent_ms(struct job *job)
{
	uint64_t spent_us = 0;

	(void)pthread_mutex_lock(&job->mutex);
	if (job->has_clock && !job->thread_done) {
		spent_us = clock_cpu_us(job->clock);
	}
	(void)pthread_mutex_unlock(&job->mutex);
	return spent_us / 1000;
}

static void on_timeout(void *owner)
{
	struct kvm_prober *prober = owner;
	struct kvm kvm = prober->devices;

	prober->waited_ms += check_ms(prober);
	if (prober->waited_ms < prober->options.wall_ms &&
		spent_ms(prober->job) < prober->options.cpu_ms) {
		return;
	}
	kvm.state = KVM_RUN_FAILED;
	kvm.error_number = ETIMEDOUT;
	kvm.latency_us = prober->waited_ms * 1000;
	prober->options.probed(prober->options.owner, &kvm);
}

/* Frees the job of a thread that pushed its result. The thread pushed with the
 * mutex locked, so locking the mutex waits until the thread has released it. */
static void end_job(struct job *job)
{
	(void)pthread_mutex_lock(&job->mutex);
	(void)pthread_mutex_unlock(&job->mutex);
	job_free(job);
}

static void deliver(void *owner, struct inbox_item *item)
{
	struct kvm_prober *prober = owner;
	struct result *result = (struct result *)item;

	timer_stop(prober->timeout);
	end_job(prober->job);
	prober->job = NULL;
	if (!prober->closing) {
		prober->options.probed(prober->options.owner, &result->kvm);
	}
	free(result);
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

/* True: the thread still runs, and frees the job when it returns. */
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
	/* Delivers a result that was pushed meanwhile. */
	inbox_close(prober->inbox);
	timer_close(prober->every);
	timer_close(prober->timeout);
	free(prober);
}
