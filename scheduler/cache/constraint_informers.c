#include "scheduler/cache/constraint_informers.h"

#include "kube/reflector.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/memory.h"

#include <stdlib.h>

#define COMPLAIN_US UINT64_C(10000000)

struct watch {
	struct watches *watches;
	enum cluster_kind kind;
	struct reflector *reflector;
	bool is_given_up;
};

struct watches {
	struct cluster *cluster;
	struct watches_handler handler;
	struct watch list[CLUSTER_KINDS];
	struct log_limit limit;
	uint64_t since_us; /* when the server first answered; 0 before */
};

static void on_object(void *owner, const struct reflector_id *id,
	const struct value *object)
{
	struct watch *watch = owner;
	struct watches *watches = watch->watches;
	struct error err;

	if (cluster_put_object(watches->cluster, watch->kind, object, &err) <
		0) {
		if (log_allow(&watches->limit, clock_monotonic_us(),
			    COMPLAIN_US, NULL)) {
			log_warning("object not understood",
				log_str("name", id->name), log_err(&err),
				LOG_END);
		}
		return;
	}
	watches->handler.on_change(watches->handler.owner);
}

static void on_gone(void *owner, const struct reflector_id *id)
{
	struct watch *watch = owner;
	struct watches *watches = watch->watches;

	cluster_remove_object(watches->cluster, watch->kind, id->namespace_name,
		id->name);
	watches->handler.on_change(watches->handler.owner);
}

static void on_synced(void *owner)
{
	struct watch *watch = owner;
	struct watches *watches = watch->watches;

	watches->handler.on_synced(watches->handler.owner);
}

struct watches *watches_new(struct kube_client *client, struct cluster *cluster,
	const struct watches_handler *handler)
{
	struct watches *watches = xcalloc(1, sizeof(*watches));

	watches->cluster = cluster;
	watches->handler = *handler;
	for (int i = 0; i < CLUSTER_KINDS; i++) {
		struct watch *watch = &watches->list[i];
		struct reflector_handler calls = { on_object, on_gone,
			on_synced, watch };

		watch->watches = watches;
		watch->kind = (enum cluster_kind)i;
		watch->reflector = reflector_new(client,
			&(struct reflector_options){
				.path = cluster_kind_path(watch->kind) },
			&calls);
	}
	return watches;
}

static bool is_settled(const struct watch *watch)
{
	return watch->is_given_up ||
		reflector_state(watch->reflector).is_synced;
}

bool watches_complete(const struct watches *watches)
{
	for (int i = 0; i < CLUSTER_KINDS; i++) {
		if (!is_settled(&watches->list[i])) {
			return false;
		}
	}
	return true;
}

static bool is_hopeless(const struct reflector_state *state, uint64_t waited_us)
{
	return *state->trouble != '\0' &&
		waited_us >=
		(state->is_refused ? WATCHES_PATIENCE_US : WATCHES_SILENCE_US);
}

bool watches_look(struct watches *watches, bool is_answering, uint64_t now_us)
{
	bool is_news = false;

	if (!is_answering) {
		return false;
	}
	if (watches->since_us == 0) {
		watches->since_us = now_us;
	}
	for (int i = 0; i < CLUSTER_KINDS; i++) {
		struct watch *watch = &watches->list[i];
		struct reflector_state state =
			reflector_state(watch->reflector);

		if (is_settled(watch) ||
			!is_hopeless(&state, now_us - watches->since_us)) {
			continue;
		}
		watch->is_given_up = true;
		is_news = true;
		log_warning("placing pods without knowing these objects",
			log_str("path", cluster_kind_path(watch->kind)),
			log_str("err", state.trouble), LOG_END);
	}
	return is_news;
}

void watches_close(struct watches *watches)
{
	if (watches == NULL) {
		return;
	}
	for (int i = 0; i < CLUSTER_KINDS; i++) {
		reflector_close(watches->list[i].reflector);
	}
	free(watches);
}
