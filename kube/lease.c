#include "kube/lease.h"

#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/json.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A lease that claims to hold for longer is not believed. */
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

static void set(char **text, const char *value)
{
	free(*text);
	*text = xstrdup(value);
}

static bool is_ours(const struct lease *lease)
{
	return strcmp(lease->holder, lease->identity) == 0;
}

/* Nobody may take it from its holder yet. */
static bool is_taken(const struct lease *lease, uint64_t now_us)
{
	return *lease->holder != '\0' && !is_ours(lease) &&
		now_us < lease->seen_us + lease->valid_us;
}

enum lease_step lease_begin(const struct lease *lease, uint64_t now_us)
{
	return lease_is_held(lease, now_us) && !lease->must_read ? LEASE_UPDATE
								 : LEASE_READ;
}

static uint64_t whole(const struct value *value, uint64_t max,
	uint64_t fallback)
{
	double number;

	if (!value_number(&number, value) || !(number >= 0) ||
		number > (double)max) {
		return fallback;
	}
	return (uint64_t)number;
}

/* Takes over what the object says. A version that was seen before is no sign
 * of life. */
static int take(struct lease *lease, const struct value *object,
	uint64_t now_us, struct error *err)
{
	const struct value *spec = value_get(object, "spec");
	const char *version =
		value_text_at(object, "metadata/resourceVersion", "");

	if (*version == '\0') {
		return error_set(err, -EBADMSG,
			"the answer for lease %s/%s is no lease",
			lease->namespace, lease->name);
	}
	if (strcmp(version, lease->version) != 0 || lease->seen_us == 0) {
		lease->seen_us = now_us;
	}
	set(&lease->version, version);
	set(&lease->holder, value_text_at(spec, "holderIdentity", ""));
	set(&lease->acquired, value_text_at(spec, "acquireTime", ""));
	lease->transitions =
		whole(value_get(spec, "leaseTransitions"), INT32_MAX - 1, 0);
	lease->valid_us = whole(value_get(spec, "leaseDurationSeconds"),
				  DURATION_MAX_S, LEASE_DURATION_S) *
		US_PER_S;
	lease->must_read = false;
	if (!is_ours(lease)) {
		lease->held_until_us = 0;
	}
	return 0;
}

static int take_text(struct lease *lease, const char *body, size_t len,
	uint64_t now_us, struct error *err)
{
	struct value *object;
	int r = value_parse(&object, body, len, err);

	if (r == 0) {
		r = take(lease, object, now_us, err);
		value_free(object);
	}
	return r;
}

void lease_missing(struct lease *lease)
{
	set(&lease->version, "");
	set(&lease->holder, "");
	lease->held_until_us = 0;
}

int lease_read(struct lease *lease, enum lease_step *next, const char *body,
	size_t len, uint64_t now_us, struct error *err)
{
	int r = take_text(lease, body, len, now_us, err);

	if (r == 0) {
		*next = is_taken(lease, now_us) ? LEASE_WAIT : LEASE_UPDATE;
	}
	return r;
}

/* What of the object does not depend on who holds it. */
static void write_metadata(const struct lease *lease, struct json *j)
{
	json_string(j, "apiVersion", "coordination.k8s.io/v1");
	json_string(j, "kind", "Lease");
	json_object(j, "metadata");
	json_string(j, "name", lease->name);
	json_string(j, "namespace", lease->namespace);
	if (*lease->version != '\0') {
		json_string(j, "resourceVersion", lease->version);
	}
	json_object_end(j);
}

void lease_body(const struct lease *lease, struct buffer *out, uint64_t now_us,
	uint64_t wall_us)
{
	bool renews = is_ours(lease) && lease_is_held(lease, now_us) &&
		*lease->acquired != '\0';
	bool exists = *lease->version != '\0';
	struct json j = json_into(out);
	char now[CLOCK_TEXT_MAX];

	json_object(&j, NULL);
	write_metadata(lease, &j);
	json_object(&j, "spec");
	json_string(&j, "holderIdentity", lease->identity);
	json_integer(&j, "leaseDurationSeconds", LEASE_DURATION_S);
	json_string(&j, "acquireTime",
		renews ? lease->acquired : clock_text(now, wall_us));
	json_string(&j, "renewTime", clock_text(now, wall_us));
	json_unsigned(&j, "leaseTransitions",
		lease->transitions + (exists && !is_ours(lease) ? 1 : 0));
	json_object_end(&j);
	json_object_end(&j);
}

int lease_written(struct lease *lease, const char *body, size_t len,
	uint64_t sent_us, struct error *err)
{
	int r = take_text(lease, body, len, sent_us, err);

	if (r == 0 && is_ours(lease)) {
		lease->held_until_us = sent_us + LEASE_RENEW_US;
	}
	return r;
}

void lease_lost_track(struct lease *lease)
{
	lease->must_read = true;
}

void lease_give_up(struct lease *lease, struct buffer *out, uint64_t wall_us)
{
	struct json j = json_into(out);
	char now[CLOCK_TEXT_MAX];

	lease->held_until_us = 0;
	json_object(&j, NULL);
	write_metadata(lease, &j);
	json_object(&j, "spec");
	json_string(&j, "holderIdentity", "");
	json_integer(&j, "leaseDurationSeconds", 1);
	json_string(&j, "acquireTime", clock_text(now, wall_us));
	json_string(&j, "renewTime", clock_text(now, wall_us));
	json_unsigned(&j, "leaseTransitions", lease->transitions);
	json_object_end(&j);
	json_object_end(&j);
}

bool lease_is_held(const struct lease *lease, uint64_t now_us)
{
	return now_us < lease->held_until_us;
}
