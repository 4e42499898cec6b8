#include "scheduler/cache/constraint_informers.h"

#include "kube/reflector.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <stdlib.h>

#define LOG_AGAIN_US UINT64_C(10000000)

struct informer {
	struct constraint_informers *informers;
	enum cluster_kind kind;
	struct reflector *reflector;
	bool is_skipped;
};

struct constraint_informers {
	struct cluster *cluster;
	struct constraint_informers_handler handler;
	struct informer list[CLUSTER_KINDS];
	struct log_limit limit;
	uint64_t since_us; /* the first poll with is_answering; 0: none */
};

static void on_object(void *owner, const struct reflector_id *id,
	const struct json_value *object)
{
	struct informer *informer = owner;
	struct constraint_informers *informers = informer->informers;
	struct error err;

	if (cluster_put_object(informers->cluster, informer->kind, object,
		    &err) < 0) {
		if (log_allow(&informers->limit, clock_monotonic_us(),
			    LOG_AGAIN_US, NULL)) {
			log_warning("ignoring invalid object",
				log_str("name", id->name), log_err(&err),
				LOG_END);
		}
		return;
	}
	informers->handler.on_change(informers->handler.owner);
}

static void on_deleted(void *owner, const struct reflector_id *id)
{
	struct informer *informer = owner;
	struct constraint_informers *informers = informer->informers;

	cluster_remove_object(informers->cluster, informer->kind,
		id->namespace_name, id->name);
	informers->handler.on_change(informers->handler.owner);
}

static void on_synced(void *owner)
{
	struct informer *informer = owner;
	struct constraint_informers *informers = informer->informers;

	informers->handler.on_synced(informers->handler.owner);
}

struct constraint_informers *constraint_informers_new(
	struct kube_client *client, struct cluster *cluster,
	const struct constraint_informers_handler *handler)
{
	struct constraint_informers *informers = xcalloc(1, sizeof(*informers));

	informers->cluster = cluster;
	informers->handler = *handler;
	for (int i = 0; i < CLUSTER_KINDS; i++) {
		struct informer *informer = &informers->list[i];
		struct reflector_handler calls = { on_object, on_deleted,
			on_synced, informer };

		informer->informers = informers;
		informer->kind = (enum cluster_kind)i;
		informer->reflector = reflector_new(client,
			&(struct reflector_options){
				.path = cluster_kind_path(informer->kind) },
			&calls);
	}
	return informers;
}

static bool is_settled(const struct informer *informer)
{
	return informer->is_skipped ||
		reflector_state(informer->reflector).is_synced;
}

bool constraint_informers_complete(const struct constraint_informers *informers)
{
	for (int i = 0; i < CLUSTER_KINDS; i++) {
		if (!is_settled(&informers->list[i])) {
			return false;
		}
	}
	return true;
}

static bool is_overdue(const struct reflector_state *state, uint64_t waited_us)
{
	return *state->last_error != '\0' &&
		waited_us >=
		(state->is_refused ? CONSTRAINT_INFORMERS_REFUSED_US
				   : CONSTRAINT_INFORMERS_UNREACHABLE_US);
}

bool constraint_informers_poll(struct constraint_informers *informers,
	bool is_answering, uint64_t now_us)
{
	bool has_skipped = false;

	if (!is_answering) {
		return false;
	}
	if (informers->since_us == 0) {
		informers->since_us = now_us;
	}
	for (int i = 0; i < CLUSTER_KINDS; i++) {
		struct informer *informer = &informers->list[i];
		struct reflector_state state =
			reflector_state(informer->reflector);

		if (is_settled(informer) ||
			!is_overdue(&state, now_us - informers->since_us)) {
			continue;
		}
		informer->is_skipped = true;
		has_skipped = true;
		log_warning("continuing without these objects",
			log_str("path", cluster_kind_path(informer->kind)),
			log_str("err", state.last_error), LOG_END);
	}
	return has_skipped;
}

uint64_t constraint_informers_contact_us(
	const struct constraint_informers *informers)
{
	uint64_t earliest = UINT64_MAX;

	for (int i = 0; i < CLUSTER_KINDS; i++) {
		struct reflector_state state =
			reflector_state(informers->list[i].reflector);

		if (state.is_synced && state.contact_us < earliest) {
			earliest = state.contact_us;
		}
	}
	return earliest;
}

void constraint_informers_close(struct constraint_informers *informers)
{
	if (informers == NULL) {
		return;
	}
	for (int i = 0; i < CLUSTER_KINDS; i++) {
		reflector_close(informers->list[i].reflector);
	}
	free(informers);
}
