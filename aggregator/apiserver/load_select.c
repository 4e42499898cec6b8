#include "aggregator/apiserver/load_select.h"

#include "aggregator/apiserver/load_objects.h"
#include "aggregator/live/identity.h"
#include "aggregator/live/live.h"
#include "lib/memory.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* The texts of a selection: some five million VMs. */
enum { TEXTS_MAX = 1 << 30 };

/* Everything is borrowed until the event loop runs on. */

struct pod {
	const struct identity *identity; /* NULL: a node */
	const struct live_node *node;
	size_t index;	    /* in the report of the node */
	int64_t created_us; /* only of the pods of a VM with several */
	/* The first bytes of its namespace and of its name, as numbers in the
	 * order of strcmp(). */
	uint64_t namespace_start, name_start;
};

struct gathering {
	const struct load_view *view;
	const struct load_query *query;
	struct pod *pods;
	size_t count, capacity;
};

/* The pods of a VM, or a node. */
struct candidate {
	const struct pod *pods;
	size_t count;
};

static const char *uid_of(const struct pod *pod)
{
	return live_node_report(pod->node)->vms[pod->index].pod_uid;
}

/* Below 0: the object is before the key, in the order of strcmp() of namespace
 * and then name. */
static int compare_key(const struct identity *identity, const char *key)
{
	size_t len = strlen(identity->namespace);
	const char *slash = strchrnul(key, '/');
	size_t key_len = (size_t)(slash - key);
	int r = strncmp(identity->namespace, key,
		len < key_len ? len : key_len);

	if (r == 0 && len != key_len) {
		r = len < key_len ? -1 : 1;
	}
	return r != 0 ? r
		      : strcmp(identity->name, *slash == '\0' ? "" : slash + 1);
}

static uint64_t start_of(const char *text)
{
	char bytes[sizeof(uint64_t)] = { 0 };
	uint64_t number;

	memcpy(bytes, text, strnlen(text, sizeof(bytes)));
	memcpy(&number, bytes, sizeof(number));
	return be64toh(number);
}

static void add(struct gathering *g, const struct pod *pod)
{
	struct pod *own;

	g->pods = xgrow(g->pods, g->count, &g->capacity, sizeof(*g->pods));
	own = &g->pods[g->count++];
	*own = *pod;
	if (pod->identity != NULL) {
		own->namespace_start = start_of(pod->identity->namespace);
		own->name_start = start_of(pod->identity->name);
	}
}

static bool is_wanted(const char *wanted, const char *own)
{
	return wanted[0] == '\0' || strcmp(wanted, own) == 0;
}

static void gather_node(struct gathering *g, const struct live_node *node)
{
	const char *name = live_node_name(node);

	if (is_wanted(g->query->name, name) &&
		strcmp(name, g->query->after) > 0) {
		add(g, &(struct pod){ .node = node });
	}
}

static void gather_vms(struct gathering *g, const struct live_node *node)
{
	const struct load_query *query = g->query;
	const struct report *report = live_node_report(node);

	for (size_t i = 0; i < live_node_vms(node); i++) {
		const char *uid = report->vms[i].pod_uid;
		const struct identity *identity = identities_find(
			g->view->identities, uid, live_node_name(node));

		if (identity == NULL ||
			!is_wanted(query->namespace, identity->namespace) ||
			!is_wanted(query->name, identity->name) ||
			(query->after[0] != '\0' &&
				compare_key(identity, query->after) <= 0)) {
			continue;
		}
		add(g,
			&(struct pod){ .identity = identity,
				.node = node,
				.index = i });
	}
}

/* Most texts differ in their first bytes, or are equal and shorter. */
static int compare_texts(uint64_t a_start, const char *a, uint64_t b_start,
	const char *b)
{
	if (a_start != b_start) {
		return a_start < b_start ? -1 : 1;
	}
	return (a_start & 0xff) == 0 ? 0 : strcmp(a, b);
}

static int by_key(const void *a, const void *b)
{
	const struct pod *x = a;
	const struct pod *y = b;
	int r;

	if (x->identity == NULL) {
		return strcmp(live_node_name(x->node), live_node_name(y->node));
	}
	r = compare_texts(x->namespace_start, x->identity->namespace,
		y->namespace_start, y->identity->namespace);
	return r != 0 ? r
		      : compare_texts(x->name_start, x->identity->name,
				y->name_start, y->identity->name);
}

static int by_age(const void *a, const void *b)
{
	const struct pod *x = a;
	const struct pod *y = b;

	if (x->created_us != y->created_us) {
		return x->created_us < y->created_us ? -1 : 1;
	}
	return strcmp(uid_of(x), uid_of(y));
}

/* The source of a move is the older pod. Few VMs have two. */
static void order_pods(const struct load_view *view, struct pod *pods,
	size_t count)
{
	if (count < 2) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		pods[i].created_us = label_set_created_us(
			object_labels_find(view->pods, uid_of(&pods[i])));
	}
	qsort(pods, count, sizeof(*pods), by_age);
}

static bool is_same_vm(const struct pod *a, const struct pod *b)
{
	return a->identity != NULL &&
		strcmp(a->identity->name, b->identity->name) == 0 &&
		strcmp(a->identity->namespace, b->identity->namespace) == 0;
}

static void append(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text) + 1);
}

static struct load_chosen copy(struct buffer *texts,
	const struct candidate *candidate)
{
	const struct pod *first = candidate->pods;
	struct load_chosen chosen = { .texts = texts->len,
		.pods = candidate->count < VM_OBJECT_PODS
			? (uint16_t)candidate->count
			: VM_OBJECT_PODS,
		.index = (uint16_t)first->index };

	if (first->identity == NULL) {
		append(texts, live_node_name(first->node));
		return chosen;
	}
	buffer_text(texts, first->identity->namespace);
	buffer_char(texts, '/');
	append(texts, first->identity->name);
	for (size_t i = 0; i < chosen.pods; i++) {
		append(texts, live_node_name(first[i].node));
		append(texts, uid_of(&first[i]));
	}
	return chosen;
}

/* Takes the candidates in order: up to the limit, unless selectors choose. */
static void choose(struct load_selection *out, const struct gathering *g)
{
	size_t limit = load_query_terms(g->query) > 0 ? 0 : g->query->limit;
	size_t capacity = 0;

	for (size_t i = 0, end; i < g->count; i = end) {
		struct candidate candidate = { &g->pods[i], 1 };

		for (end = i + 1; end < g->count &&
			is_same_vm(&g->pods[i], &g->pods[end]);
			end++) {
			candidate.count++;
		}
		order_pods(g->view, &g->pods[i], candidate.count);
		if (out->texts.overflowed ||
			(limit > 0 && out->count == limit)) {
			out->remaining++;
			continue;
		}
		out->items = xgrow(out->items, out->count, &capacity,
			sizeof(*out->items));
		out->items[out->count] = copy(&out->texts, &candidate);
		out->count += !out->texts.overflowed;
		out->remaining += out->texts.overflowed;
	}
}

size_t load_query_terms(const struct load_query *query)
{
	return query->labels.terms.count + query->fields.terms.count;
}

void load_select(struct load_selection *out, const struct load_view *view,
	const struct load_query *query)
{
	struct gathering g = { .view = view, .query = query };

	*out = (struct load_selection){ .texts = BUFFER_MAX(TEXTS_MAX) };
	for (const struct live_node *node = live_after(view->live, 0);
		node != NULL; node = live_next(node)) {
		if (query->kind == API_NODE_LOADS) {
			gather_node(&g, node);
		} else {
			gather_vms(&g, node);
		}
	}
	if (g.count > 0) {
		qsort(g.pods, g.count, sizeof(*g.pods), by_key);
	}
	choose(out, &g);
	free(g.pods);
}

void load_selection_fini(struct load_selection *selection)
{
	buffer_fini(&selection->texts);
	free(selection->items);
}

const char *load_selection_texts(const struct load_selection *selection,
	size_t at)
{
	return selection->texts.data + selection->items[at].texts;
}
