#include "kube/elector.h"

#include "kube/client.h"
#include "kube/lease.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <stdlib.h>

enum {
	REQUEST_TIMEOUT_MS = 5000, /* two of them in a renew deadline */
	GIVE_UP_MS = 1000,
	BODY_MAX = 4096,
};
#define COMPLAIN_US UINT64_C(60000000)

struct elector {
	struct kube_client *client;
	struct lease lease;
	struct timer *turn; /* the next question */
	struct timer *end;  /* the lease runs out, or giving up takes long */
	struct kube_request *request;
	uint64_t sent_us;
	bool led; /* what on_change said last */
	bool gives_up;
	void (*on_change)(void *owner, bool leads);
	void *owner;
	void (*done)(void *owner);
	void *done_owner;
	struct error trouble; /* why the last turn failed; "" if it did not */
	struct log_limit limit;
};

bool elector_leads(const struct elector *elector, uint64_t now_us)
{
	return !elector->gives_up && lease_is_held(&elector->lease, now_us);
}

void elector_say(const struct elector *elector, struct buffer *out,
	uint64_t now_us)
{
	if (elector_leads(elector, now_us)) {
		buffer_text(out, "this one leads");
	} else if (elector->trouble.text[0] != '\0') {
		buffer_text(out, elector->trouble.text);
	} else if (*elector->lease.holder != '\0') {
		buffer_text(out, elector->lease.holder);
		buffer_text(out, " leads");
	} else {
		buffer_text(out, "nobody leads yet");
	}
}

static void tell_change(struct elector *elector)
{
	uint64_t now = clock_monotonic_us();
	bool leads = elector_leads(elector, now);

	timer_stop(elector->end);
	if (leads) {
		timer_start(elector->end,
			(elector->lease.held_until_us - now) / 1000 + 1, 0);
	}
	if (leads == elector->led) {
		return;
	}
	elector->led = leads;
	if (leads) {
		log_info("this scheduler leads",
			log_str("lease", elector->lease.name),
			log_str("identity", elector->lease.identity), LOG_END);
	} else {
		log_warning("this scheduler leads no longer",
			log_str("lease", elector->lease.name),
			log_str("holder", elector->lease.holder), LOG_END);
	}
	elector->on_change(elector->owner, leads);
}

static void finish_giving_up(struct elector *elector)
{
	void (*done)(void *) = elector->done;

	timer_stop(elector->end);
	elector->done = NULL;
	if (done != NULL) {
		done(elector->done_owner);
	}
}

static void on_end(void *owner)
{
	struct elector *elector = owner;

	if (elector->gives_up) {
		finish_giving_up(elector);
	} else {
		tell_change(elector);
	}
}

static void end_turn(struct elector *elector, const struct error *err)
{
	if (err == NULL) {
		elector->trouble.text[0] = '\0';
	} else {
		elector->trouble = *err;
		lease_lost_track(&elector->lease);
		if (log_allow(&elector->limit, clock_monotonic_us(),
			    COMPLAIN_US, NULL)) {
			log_warning("cannot hold the lease", log_err(err),
				LOG_END);
		}
	}
	tell_change(elector);
	timer_start(elector->turn, LEASE_RETRY_MS, 0);
}

static int not_done(struct elector *elector, const struct kube_answer *answer,
	struct error *err)
{
	return error_set(err, -EIO, "lease %s/%s: %s", elector->lease.namespace,
		elector->lease.name,
		answer->error[0] != '\0' ? answer->error : "no answer");
}

static bool is_good(const struct kube_answer *answer)
{
	return answer->status >= 200 && answer->status < 300;
}

static void on_written(void *owner, const struct kube_answer *answer)
{
	struct elector *elector = owner;
	struct error err;
	int r;

	elector->request = NULL;
	if (answer->status == 409) {
		/* Somebody else was quicker: no trouble, look again. */
		lease_lost_track(&elector->lease);
		end_turn(elector, NULL);
		return;
	}
	r = is_good(answer) ? lease_written(&elector->lease, answer->body,
				      answer->len, elector->sent_us, &err)
			    : not_done(elector, answer, &err);
	end_turn(elector, r < 0 ? &err : NULL);
}

static void ask(struct elector *elector, const char *method, bool has_name,
	const struct buffer *body, kube_done on_done)
{
	const struct lease *lease = &elector->lease;
	scoped_free char *path = xasprintf(
		"/apis/coordination.k8s.io/v1/namespaces/%s/leases%s%s",
		lease->namespace, has_name ? "/" : "",
		has_name ? lease->name : "");
	struct kube_call call = {
		.method = method,
		.path = path,
		.body = body == NULL ? NULL : body->data,
		.len = body == NULL ? 0 : body->len,
		.timeout_ms = REQUEST_TIMEOUT_MS,
		.on_done = on_done,
		.owner = elector,
	};

	elector->sent_us = clock_monotonic_us();
	elector->request = kube_request_send(elector->client, &call);
}

static void write_lease(struct elector *elector, enum lease_step step)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	bool exists = step == LEASE_UPDATE;

	lease_body(&elector->lease, &body, clock_monotonic_us(),
		clock_wall_us());
	ask(elector, exists ? "PUT" : "POST", exists, &body, on_written);
}

static void on_read(void *owner, const struct kube_answer *answer)
{
	struct elector *elector = owner;
	enum lease_step next = LEASE_CREATE;
	struct error err;
	int r = 0;

	elector->request = NULL;
	if (answer->status == 404) {
		lease_missing(&elector->lease);
	} else if (is_good(answer)) {
		r = lease_read(&elector->lease, &next, answer->body,
			answer->len, clock_monotonic_us(), &err);
	} else {
		r = not_done(elector, answer, &err);
	}
	if (r < 0 || next == LEASE_WAIT) {
		end_turn(elector, r < 0 ? &err : NULL);
	} else {
		write_lease(elector, next);
	}
}

static void take_turn(void *owner)
{
	struct elector *elector = owner;
	enum lease_step step =
		lease_begin(&elector->lease, clock_monotonic_us());

	if (step == LEASE_READ) {
		ask(elector, "GET", true, NULL, on_read);
	} else {
		write_lease(elector, step);
	}
}

struct elector *elector_new(struct kube_client *client,
	const struct elector_options *options)
{
	struct elector *elector = xcalloc(1, sizeof(*elector));
	uv_loop_t *loop = kube_client_loop(client);

	elector->client = client;
	elector->on_change = options->on_change;
	elector->owner = options->owner;
	lease_init(&elector->lease, options->namespace, options->name,
		options->identity);
	elector->turn = timer_new(loop, take_turn, elector);
	elector->end = timer_new(loop, on_end, elector);
	timer_start(elector->turn, 0, 0);
	return elector;
}

static void on_given_up(void *owner, const struct kube_answer *answer)
{
	struct elector *elector = owner;

	(void)answer; /* if it was not heard, the lease runs out by itself */
	elector->request = NULL;
	finish_giving_up(elector);
}

void elector_give_up(struct elector *elector, void (*done)(void *owner),
	void *owner)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	bool leads = elector_leads(elector, clock_monotonic_us());

	timer_stop(elector->turn);
	kube_request_cancel(take_ptr(elector->request));
	elector->gives_up = true;
	elector->done = done;
	elector->done_owner = owner;
	timer_start(elector->end, leads ? GIVE_UP_MS : 0, 0);
	if (leads) {
		lease_give_up(&elector->lease, &body, clock_wall_us());
		ask(elector, "PUT", true, &body, on_given_up);
	}
}

void elector_close(struct elector *elector)
{
	if (elector == NULL) {
		return;
	}
	kube_request_cancel(elector->request);
	timer_close(elector->turn);
	timer_close(elector->end);
	lease_fini(&elector->lease);
	free(elector);
}
