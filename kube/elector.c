#include "kube/elector.h"

#include "kube/client.h"
#include "kube/lease.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/memory.h"

#include <stdlib.h>

enum {
	REQUEST_TIMEOUT_MS = 5000, /* two fit into the renew deadline */
	RELEASE_MS = 1000,
	BODY_MAX = 4096,
};
#define LOG_EVERY_US UINT64_C(60000000)

struct elector {
	struct kube_client *client;
	struct lease lease;
	struct timer *retry; /* the next try */
	struct timer *end;   /* the lease expires, or the release is slow */
	struct kube_request *request;
	uint64_t sent_us;
	uint64_t renewed_us; /* sent_us of the last write that succeeded */
	bool was_leader;     /* the last value given to on_change */
	bool is_releasing;
	void (*on_change)(void *owner, bool leads);
	void *owner;
	void (*done)(void *owner);
	void *done_owner;
	struct error last_error; /* of the last try; "" if it succeeded */
	struct log_limit limit;
};

bool elector_leads(const struct elector *elector, uint64_t now_us)
{
	return !elector->is_releasing && lease_is_held(&elector->lease, now_us);
}

void elector_describe(const struct elector *elector, struct buffer *out,
	uint64_t now_us)
{
	if (elector_leads(elector, now_us)) {
		buffer_text(out, "this process is leader");
	} else if (elector->last_error.text[0] != '\0') {
		buffer_text(out, elector->last_error.text);
	} else if (*elector->lease.holder != '\0') {
		buffer_printf(out, "leader is %s", elector->lease.holder);
	} else {
		buffer_text(out, "no leader yet");
	}
}

static void report_change(struct elector *elector)
{
	uint64_t now = clock_monotonic_us();
	bool leads = elector_leads(elector, now);

	timer_stop(elector->end);
	if (leads) {
		timer_start(elector->end,
			(elector->lease.held_until_us - now) / 1000 + 1, 0);
	}
	if (leads == elector->was_leader) {
		return;
	}
	elector->was_leader = leads;
	if (leads) {
		log_info("became leader", log_str("lease", elector->lease.name),
			log_str("identity", elector->lease.identity), LOG_END);
	} else {
		log_warning("lost leader election",
			log_str("lease", elector->lease.name),
			log_str("holder", elector->lease.holder),
			log_num("renewed_s_ago",
				(double)(now - elector->renewed_us) / 1e6),
			LOG_END);
	}
	elector->on_change(elector->owner, leads);
}

/* The next leader waits until the lease expires, unless it was given back. */
static void finish_release(struct elector *elector, bool was_given_back)
{
	void (*done)(void *) = elector->done;

	if (!was_given_back) {
		log_warning("cannot give the lease back, it expires",
			log_str("lease", elector->lease.name),
			log_int("seconds", LEASE_DURATION_S), LOG_END);
	}
	timer_stop(elector->end);
	elector->done = NULL;
	if (done != NULL) {
		done(elector->done_owner);
	}
}

static void on_end(void *owner)
{
	struct elector *elector = owner;

	if (elector->is_releasing) {
		finish_release(elector, elector->request == NULL);
	} else {
		report_change(elector);
	}
}

static void end_try(struct elector *elector, const struct error *err)
{
	if (err == NULL) {
		elector->last_error.text[0] = '\0';
	} else {
		elector->last_error = *err;
		lease_invalidate(&elector->lease);
		if (log_allow(&elector->limit, clock_monotonic_us(),
			    LOG_EVERY_US, NULL)) {
			log_warning("cannot acquire or renew lease",
				log_err(err), LOG_END);
		}
	}
	report_change(elector);
	timer_start(elector->retry, LEASE_RETRY_MS, 0);
}

static int set_failure(struct elector *elector,
	const struct http_response *response, struct error *err)
{
	return error_set(err, -EIO, "lease %s/%s: %s", elector->lease.namespace,
		elector->lease.name,
		response->error[0] != '\0' ? response->error : "no response");
}

static bool has_succeeded(const struct http_response *response)
{
	return response->status >= 200 && response->status < 300;
}

static void on_written(void *owner, const struct http_response *response)
{
	struct elector *elector = owner;
	struct error err;
	int r;

	elector->request = NULL;
	if (response->status == 409) {
		/* Another process was faster; that is not an error. */
		lease_invalidate(&elector->lease);
		end_try(elector, NULL);
		return;
	}
	r = has_succeeded(response)
		? lease_written(&elector->lease, response->body, response->len,
			  elector->sent_us, &err)
		: set_failure(elector, response, &err);
	if (r == 0) {
		elector->renewed_us = elector->sent_us;
	}
	end_try(elector, r < 0 ? &err : NULL);
}

static void send_request(struct elector *elector, const char *method,
	bool has_name, const struct buffer *body, http_done on_done)
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
		.priority = HTTP_AT_ONCE,
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
	send_request(elector, exists ? "PUT" : "POST", exists, &body,
		on_written);
}

static void on_read(void *owner, const struct http_response *response)
{
	struct elector *elector = owner;
	enum lease_step next = LEASE_CREATE;
	struct error err;
	int r = 0;

	elector->request = NULL;
	if (response->status == 404) {
		lease_not_found(&elector->lease);
	} else if (has_succeeded(response)) {
		r = lease_read(&elector->lease, &next, response->body,
			response->len, clock_monotonic_us(), &err);
	} else {
		r = set_failure(elector, response, &err);
	}
	if (r < 0 || next == LEASE_WAIT) {
		end_try(elector, r < 0 ? &err : NULL);
	} else {
		write_lease(elector, next);
	}
}

static void try_acquire_or_renew(void *owner)
{
	struct elector *elector = owner;
	enum lease_step step =
		lease_begin(&elector->lease, clock_monotonic_us());

	if (step == LEASE_READ) {
		send_request(elector, "GET", true, NULL, on_read);
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
	elector->retry = timer_new(loop, try_acquire_or_renew, elector);
	elector->end = timer_new(loop, on_end, elector);
	timer_start(elector->retry, 0, 0);
	return elector;
}

static void on_released(void *owner, const struct http_response *response)
{
	struct elector *elector = owner;

	elector->request = NULL;
	finish_release(elector, has_succeeded(response));
}

void elector_release(struct elector *elector, void (*done)(void *owner),
	void *owner)
{
	scoped_buffer struct buffer body = BUFFER_MAX(BODY_MAX);
	bool leads = elector_leads(elector, clock_monotonic_us());

	timer_stop(elector->retry);
	kube_request_cancel(take_ptr(elector->request));
	elector->is_releasing = true;
	elector->done = done;
	elector->done_owner = owner;
	timer_start(elector->end, leads ? RELEASE_MS : 0, 0);
	if (leads) {
		lease_release(&elector->lease, &body, clock_wall_us());
		send_request(elector, "PUT", true, &body, on_released);
	}
}

void elector_close(struct elector *elector)
{
	if (elector == NULL) {
		return;
	}
	kube_request_cancel(elector->request);
	timer_close(elector->retry);
	timer_close(elector->end);
	lease_fini(&elector->lease);
	free(elector);
}
