#include "aggregator/apiserver/vm_reach.h"

#include "aggregator/ingest/questions.h"
#include "kube/json_value.h"
#include "lib/clock.h"
#include "lib/loop.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "proto/report.h"

#include <math.h>
#include <stdlib.h>

enum { POLL_MS = 1000, SPEC_MAX = 64 };

/* No cluster has more nodes. */
#define NODES_MAX 1e6

struct reach_entry {
	uint64_t nodes, said_us;
};

struct vm_reach {
	struct questions *questions;
	struct timer *timer; /* runs while no question is open */
	struct map by_vm;    /* "namespace/name" -> struct reach_entry */
	size_t from;	     /* of the next page */
};

static bool is_old(const struct reach_entry *entry, uint64_t now_us)
{
	return now_us - entry->said_us > VM_REACH_KEPT_US;
}

/* ---- a page ---- */

static void put(struct vm_reach *reach, const char *vm, double nodes,
	uint64_t now_us)
{
	struct reach_entry *entry = map_get(&reach->by_vm, vm);

	if (!(nodes >= 0 && nodes <= NODES_MAX) ||
		(entry == NULL && reach->by_vm.count >= VM_REACH_MAX)) {
		return;
	}
	if (entry == NULL) {
		entry = xcalloc(1, sizeof(*entry));
		(void)map_put(&reach->by_vm, vm, entry);
	}
	*entry = (struct reach_entry){ (uint64_t)nodes, now_us };
}

static void take_page(struct vm_reach *reach, const struct json_value *page)
{
	const struct json_value *v =
		json_value_first(json_value_get(page, "reach"));
	uint64_t now_us = clock_monotonic_us();

	for (; v != NULL; v = json_value_next(v)) {
		double nodes = NAN;

		(void)json_value_number(&nodes, v);
		if (json_value_key(v) != NULL) {
			put(reach, json_value_key(v), nodes, now_us);
		}
	}
}

static void forget_old(struct vm_reach *reach)
{
	uint64_t now_us = clock_monotonic_us();
	const char *vm;
	size_t at = 0;
	void *value;

	while (map_next(&reach->by_vm, &at, &vm, &value)) {
		if (is_old(value, now_us)) {
			free(map_remove(&reach->by_vm, vm));
		}
	}
}

/* False: this was the last page, or a page does not lead on. */
static bool find_next(struct vm_reach *reach, const struct json_value *page)
{
	double next = 0;

	(void)json_value_number(&next, json_value_get(page, "next"));
	if (!(next > (double)reach->from && next <= VM_REACH_MAX)) {
		return false;
	}
	reach->from = (size_t)next;
	return true;
}

static void rest(struct vm_reach *reach, uint64_t ms)
{
	reach->from = 0;
	forget_old(reach);
	timer_start(reach->timer, ms, 0);
}

/* A question_done. */
static void on_page(void *owner, unsigned status, const char *body, size_t len)
{
	struct vm_reach *reach = owner;
	struct json_value *page = NULL;

	if (status != 200 ||
		json_value_parse_bounded(&page, body, len, NULL) < 0) {
		rest(reach, VM_REACH_RETRY_MS);
		return;
	}
	take_page(reach, page);
	if (find_next(reach, page)) {
		timer_start(reach->timer, 0, 0);
	} else {
		rest(reach, VM_REACH_EVERY_MS);
	}
	json_value_free(page);
}

/* ---- the question ---- */

static void on_timer(void *owner)
{
	struct vm_reach *reach = owner;
	scoped_buffer struct buffer spec = BUFFER_MAX(SPEC_MAX);

	if (!questions_has_leader(reach->questions)) {
		rest(reach, POLL_MS);
		return;
	}
	buffer_printf(&spec, "{\"from\":%zu}", reach->from);
	/* No user has such a name. */
	if (questions_ask(reach->questions,
		    &(const struct asked){ .kind = QUESTION_REACH,
			    .namespace = "",
			    .body = spec.data,
			    .len = spec.len,
			    .peer = "\n\n",
			    .is_reserved = true },
		    on_page, reach, NULL) < 0) {
		rest(reach, VM_REACH_RETRY_MS);
	}
}

/* ---- all ---- */

uint64_t vm_reach_nodes(const struct vm_reach *reach, const char *vm,
	uint64_t now_us)
{
	const struct reach_entry *entry = map_get(&reach->by_vm, vm);

	return entry == NULL || is_old(entry, now_us) ? REPORT_UNKNOWN
						      : entry->nodes;
}

struct vm_reach *vm_reach_new(uv_loop_t *loop, struct questions *questions)
{
	struct vm_reach *reach = xcalloc(1, sizeof(*reach));

	reach->questions = questions;
	reach->timer = timer_new(loop, on_timer, reach);
	timer_start(reach->timer, POLL_MS, 0);
	return reach;
}

void vm_reach_free(struct vm_reach *reach)
{
	size_t at = 0;
	void *value;

	if (reach == NULL) {
		return;
	}
	questions_cancel(reach->questions, reach);
	timer_close(reach->timer);
	while (map_next(&reach->by_vm, &at, NULL, &value)) {
		free(value);
	}
	map_fini(&reach->by_vm);
	free(reach);
}
