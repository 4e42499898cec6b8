#include "kube/lease.h"

#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Longer durations in a lease are ignored. */
enum { DURATION_MAX_S = 3600 };
#define US_PER_S UINT64_C(1000000)

void lease_init(struct lease *lease, const char *namespace, const char *name,
	const char *identity)
{
	*lease = (struct lease){
		.name = xstrdup(name),
		.namespace = xstrdup(namespace),
		.identity = xstrdup(identity),
		.holder = xstrdup(""),
		.version = xstrdup(""),
		.acquired = xstrdup(""),
	};
}

void lease_fini(struct lease *lease)
{
	free(lease->name);
	free(lease->namespace);
	free(lease->identity);
	free(lease->holder);
	free(lease->version);
	free(lease->acquired);
}

static bool is_ours(const struct lease *lease)
{
	return strcmp(lease->holder, lease->identity) == 0;
}

/* Whether another process holds the lease. */
static bool is_held_by_other(const struct lease *lease, uint64_t now_us)
{
	return *lease->holder != '\0' && !is_ours(lease) &&
		now_us < lease->seen_us + lease->valid_us;
}

enum lease_step lease_begin(const struct lease *lease, uint64_t now_us)
{
	return lease_is_held(lease, now_us) && !lease->must_read ? LEASE_UPDATE
								 : LEASE_READ;
}

static uint64_t whole_number(const struct json_value *value, uint64_t max,
	uint64_t fallback)
{
	double number;

	if (!json_value_number(&number, value) || !(number >= 0) ||
		number > (double)max) {
		return fallback;
	}
	return (uint64_t)number;
}

/* Takes over the object's state. A resourceVersion seen before does not extend
 * the lease. */
static int apply_object(struct lease *lease, const struct json_value *object,
	uint64_t now_us, struct error *err)
{
	const struct json_value *spec = json_value_get(object, "spec");
	const char *version =
		json_value_text_at(object, "metadata/resourceVersion", "");

	if (*version == '\0') {
		return error_set(err, -EBADMSG,
			"the response for lease %s/%s is not a lease",
			lease->namespace, lease->name);
	}
	if (strcmp(version, lease->version) != 0 || lease->seen_us == 0) {
		lease->seen_us = now_us;
	}
	xreplace(&lease->version, version);
	xreplace(&lease->holder,
		json_value_text_at(spec, "holderIdentity", ""));
	xreplace(&lease->acquired, json_value_text_at(spec, "acquireTime", ""));
	lease->transitions = whole_number(
		json_value_get(spec, "leaseTransitions"), INT32_MAX - 1, 0);
	lease->valid_us =
		whole_number(json_value_get(spec, "leaseDurationSeconds"),
			DURATION_MAX_S, LEASE_DURATION_S) *
		US_PER_S;
	lease->must_read = false;
	if (!is_ours(lease)) {
		lease->held_until_us = 0;
	}
	return 0;
}

static int apply_text(struct lease *lease, const char *body, size_t len,
	uint64_t now_us, struct error *err)
{
	struct json_value *object;
	int r = json_value_parse(&object, body, len, err);

	if (r == 0) {
		r = apply_object(lease, object, now_us, err);
		json_value_free(object);
	}
	return r;
}

void lease_not_found(struct lease *lease)
{
	xreplace(&lease->version, "");
	xreplace(&lease->holder, "");
	lease->held_until_us = 0;
}

int lease_read(struct lease *lease, enum lease_step *next, const char *body,
	size_t len, uint64_t now_us, struct error *err)
{
	int r = apply_text(lease, body, len, now_us, err);

	if (r == 0) {
		*next = is_held_by_other(lease, now_us) ? LEASE_WAIT
							: LEASE_UPDATE;
	}
	return r;
}

/* acquired NULL: now. An empty holder releases the lease. */
static void write_body(const struct lease *lease, struct buffer *out,
	const char *holder, const char *acquired, uint64_t wall_us)
{
	bool releases = *holder == '\0';
	bool exists = *lease->version != '\0';
	bool is_transition = !releases && exists && !is_ours(lease);
	struct json j = json_into(out);
	char now[CLOCK_TEXT_MAX];

	clock_text(now, wall_us);
	json_object(&j, NULL);
	json_string(&j, "apiVersion", "coordination.k8s.io/v1");
	json_string(&j, "kind", "Lease");
	json_object(&j, "metadata");
	json_string(&j, "name", lease->name);
	json_string(&j, "namespace", lease->namespace);
	if (exists) {
		json_string(&j, "resourceVersion", lease->version);
	}
	json_object_end(&j);
	json_object(&j, "spec");
	json_string(&j, "holderIdentity", holder);
	json_integer(&j, "leaseDurationSeconds",
		releases ? 1 : LEASE_DURATION_S);
	json_string(&j, "acquireTime", acquired == NULL ? now : acquired);
	json_string(&j, "renewTime", now);
	json_unsigned(&j, "leaseTransitions",
		lease->transitions + (is_transition ? 1 : 0));
	json_object_end(&j);
	json_object_end(&j);
}

void lease_body(const struct lease *lease, struct buffer *out, uint64_t now_us,
	uint64_t wall_us)
{
	bool renews = is_ours(lease) && lease_is_held(lease, now_us) &&
		*lease->acquired != '\0';

	write_body(lease, out, lease->identity, renews ? lease->acquired : NULL,
		wall_us);
}

int lease_written(struct lease *lease, const char *body, size_t len,
	uint64_t sent_us, struct error *err)
{
	int r = apply_text(lease, body, len, sent_us, err);

	if (r == 0 && is_ours(lease)) {
		lease->held_until_us = sent_us + LEASE_RENEW_US;
	}
	return r;
}

void lease_invalidate(struct lease *lease)
{
	lease->must_read = true;
}

void lease_release(struct lease *lease, struct buffer *out, uint64_t wall_us)
{
	lease->held_until_us = 0;
	write_body(lease, out, "", NULL, wall_us);
}

bool lease_is_held(const struct lease *lease, uint64_t now_us)
{
	return now_us < lease->held_until_us;
}
