#include "aggregator/apiserver/load_list.h"

#include "aggregator/apiserver/field_cells.h"
#include "aggregator/apiserver/load_match.h"
#include "aggregator/apiserver/load_objects.h"
#include "aggregator/live/live.h"
#include "lib/clock.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* The work of a turn of the event loop, which takes some milliseconds: bytes
 * that are written, and terms of selectors that are matched. */
enum { TURN_BYTES = 128 << 10, TURN_TERMS = 32 << 10 };

struct load_list {
	struct load_view view;
	struct load_query query; /* with its selectors and cells; no texts */
	struct json json;
	struct load_selection selection;
	size_t at;	  /* the next to match */
	size_t count;	  /* written */
	size_t last;	  /* the last that was written */
	size_t remaining; /* matched beyond the limit */
	bool is_begun;
};

struct load_list *load_list_new(const struct load_view *view,
	const struct load_query *query)
{
	struct load_list *list = xcalloc(1, sizeof(*list));

	list->view = *view;
	list->query = *query;
	list->query.namespace = list->query.name = NULL;
	list->json = json_into(NULL);
	load_select(&list->selection, view, query);
	list->remaining = list->selection.remaining;
	return list;
}

void load_list_free(struct load_list *list)
{
	if (list != NULL) {
		load_selection_fini(&list->selection);
		field_cells_free(list->query.cells);
		selector_fini(&list->query.labels);
		selector_fini(&list->query.fields);
		free(list);
	}
}

/* ---- writing ---- */

static void write_item(struct json *j, const struct load_list *list,
	const struct api_item *item, bool is_alone)
{
	if (list->query.cells != NULL) {
		field_cells_write(j, list->query.cells, item);
	} else if (is_alone) {
		api_write_one(j, list->query.form, list->query.include, item);
	} else {
		api_write_item(j, list->query.form, list->query.include, item);
	}
}

/* Chosen cells have none. */
static const struct label_set *labels_of(const struct load_list *list,
	const struct object_labels *labels, const char *key)
{
	return list->query.cells == NULL ? object_labels_find(labels, key)
					 : NULL;
}

static bool write_node(struct json *j, const struct load_list *list, size_t at,
	bool is_alone)
{
	const char *name = load_selection_texts(&list->selection, at);
	const struct live_node *node = live_find(list->view.live, name);
	struct node_object object;

	if (node == NULL) {
		return false;
	}
	node_object_fill(&object, node, clock_monotonic_us(), clock_wall_us());
	write_item(j, list,
		&(struct api_item){ .kind = API_NODE_LOADS,
			.namespace = "",
			.name = name,
			.labels = labels_of(list, list->view.nodes, name),
			.revision = live_node_revision(node),
			.object = &object },
		is_alone);
	node_object_fini(&object);
	return true;
}

/* Its index in the report, which it was before; SIZE_MAX: it is not there any
 * more. */
static size_t find_pod(const struct live_node *node, const char *uid,
	size_t before)
{
	const struct report *report = live_node_report(node);

	if (before < live_node_vms(node) &&
		strcmp(report->vms[before].pod_uid, uid) == 0) {
		return before;
	}
	for (size_t i = 0; i < live_node_vms(node); i++) {
		if (strcmp(report->vms[i].pod_uid, uid) == 0) {
			return i;
		}
	}
	return SIZE_MAX;
}

static uint64_t add_pods(struct vm_object *object, const struct load_list *list,
	size_t item)
{
	const struct load_chosen *chosen = &list->selection.items[item];
	const char *at = load_selection_texts(&list->selection, item);
	uint64_t revision = 0;

	at += strlen(at) + 1;

	for (size_t i = 0; i < chosen->pods; i++) {
		const char *uid = at + strlen(at) + 1;
		const struct live_node *node = live_find(list->view.live, at);
		size_t index = node == NULL
			? SIZE_MAX
			: find_pod(node, uid, chosen->index);

		if (index != SIZE_MAX) {
			vm_object_add(object, node, index,
				clock_monotonic_us());
			revision = live_node_revision(node) > revision
				? live_node_revision(node)
				: revision;
		}
		at = uid + strlen(uid) + 1;
	}
	return revision;
}

static bool write_vm(struct json *j, const struct load_list *list, size_t at,
	bool is_alone)
{
	const char *key = load_selection_texts(&list->selection, at);
	const char *slash = strchr(key, '/');
	scoped_free char *namespace = xstrndup(key, (size_t)(slash - key));
	struct vm_object object = { 0 };
	uint64_t revision = add_pods(&object, list, at);

	if (object.pod_list.count == 0) {
		return false;
	}
	vm_object_end(&object, clock_wall_us());
	object.reachable_nodes = load_reach(&list->view, key);
	write_item(j, list,
		&(struct api_item){ .kind = API_VM_LOADS,
			.namespace = namespace,
			.name = slash + 1,
			.labels = labels_of(list, list->view.pods,
				object.pods[0].load.pod_uid),
			.revision = revision,
			.object = &object },
		is_alone);
	return true;
}

static bool write_chosen(struct json *j, const struct load_list *list,
	size_t at, bool is_alone)
{
	return list->query.kind == API_NODE_LOADS
		? write_node(j, list, at, is_alone)
		: write_vm(j, list, at, is_alone);
}

static bool matches(const struct load_list *list, size_t at)
{
	return load_matches(&list->query, &list->view, &list->selection, at);
}

bool load_list_write_one(struct json *j, struct load_list *list)
{
	return list->selection.count > 0 && matches(list, 0) &&
		write_chosen(j, list, 0, true);
}

static void write_end(struct load_list *list)
{
	scoped_free char *next = list->remaining == 0
		? NULL
		: page_token_write(live_epoch(list->view.live),
			  api_plural(list->query.kind),
			  load_selection_texts(&list->selection, list->last));

	api_end_list(&list->json,
		&(struct api_list_end){ live_revision(list->view.live), next,
			list->remaining });
}

static void begin(struct load_list *list)
{
	if (list->query.cells != NULL) {
		field_cells_begin(&list->json, list->query.cells);
	} else {
		api_begin_list(&list->json, list->query.form, list->query.kind);
	}
}

/* Beyond the limit, what matches is counted. */
static void write_next(struct load_list *list)
{
	size_t at = list->at++;

	if (!matches(list, at)) {
		return;
	}
	if (list->query.limit > 0 && list->count == list->query.limit) {
		list->remaining++;
	} else {
		list->count += write_chosen(&list->json, list, at, false);
		list->last = at;
	}
}

static bool on_next(void *owner, struct buffer *out)
{
	struct load_list *list = owner;
	size_t terms = 0;

	list->json.out = out;
	if (!list->is_begun) {
		begin(list);
		list->is_begun = true;
	}
	while (list->at < list->selection.count && out->len < TURN_BYTES &&
		terms < TURN_TERMS) {
		write_next(list);
		terms += 1 + load_query_terms(&list->query);
	}
	if (list->at < list->selection.count) {
		return true;
	}
	write_end(list);
	return false;
}

static void on_done(void *owner)
{
	load_list_free(owner);
}

struct httpd_stream load_list_stream(struct load_list *list)
{
	return (struct httpd_stream){ on_next, on_done, list };
}
