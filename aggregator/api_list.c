#include "aggregator/api_list.h"

#include "aggregator/api_body.h"
#include "aggregator/vms.h"
#include "lib/memory.h"

#include <stdlib.h>
#include <string.h>

/* What one turn of the loop writes, some milliseconds' worth. One node with
 * 2,048 VMs may come on top, 1.2 MB with the longest names. */
enum { TURN_BYTES = 256 << 10 };

struct list {
	struct list_options options;
	struct json json;
	bool is_begun;
	size_t at, count;
	char **nodes;	    /* owned; a list of nodes */
	struct vm_rows vms; /* a list of VMs */
};

static void write_head(struct list *list)
{
	struct json *j = &list->json;

	json_object(j, NULL);
	json_unsigned(j, "epoch", live_epoch(list->options.live));
	json_unsigned(j, "rev", live_revision(list->options.live));
	body_write_time(j, "now", list->options.wall_us);
	json_array(j, list->nodes == NULL ? "vms" : "nodes");
}

static void write_item(struct list *list, size_t at)
{
	const struct live *live = list->options.live;
	const struct live_node *node;

	if (list->nodes == NULL) {
		vm_row_write(&list->json, &list->vms.rows[at], live,
			list->options.now_us);
		return;
	}
	node = live_find(live, list->nodes[at]);
	if (node != NULL) {
		body_write_node(&list->json, node, list->options.now_us);
	}
}

static bool next(void *owner, struct buffer *out)
{
	struct list *list = owner;

	list->json.out = out;
	if (!list->is_begun) {
		write_head(list);
		list->is_begun = true;
	}
	while (list->at < list->count && out->len < TURN_BYTES) {
		write_item(list, list->at);
		list->at++;
	}
	if (list->at < list->count) {
		return true;
	}
	json_array_end(&list->json);
	json_object_end(&list->json);
	buffer_char(out, '\n');
	return false;
}

static void done(void *owner)
{
	struct list *list = owner;

	for (size_t i = 0; list->nodes != NULL && i < list->count; i++) {
		free(list->nodes[i]);
	}
	free(list->nodes);
	vm_rows_fini(&list->vms);
	*list->options.running -= 1;
	free(list);
}

static struct list *list_new(const struct list_options *options)
{
	struct list *list = xcalloc(1, sizeof(*list));

	list->options = *options;
	list->json = json_into(NULL);
	*options->running += 1;
	return list;
}

static int by_name(const void *a, const void *b)
{
	char *const *x = a;
	char *const *y = b;

	return strcmp(*x, *y);
}

struct http_stream list_nodes(const struct list_options *options)
{
	struct list *list = list_new(options);

	list->nodes = xcalloc(live_count(options->live), sizeof(char *));
	for (const struct live_node *node = live_after(options->live, 0);
		node != NULL; node = live_next(node)) {
		list->nodes[list->count] = xstrdup(live_node_name(node));
		list->count++;
	}
	qsort(list->nodes, list->count, sizeof(*list->nodes), by_name);
	return (struct http_stream){ next, done, list };
}

struct http_stream list_vms(const struct list_options *options)
{
	struct list *list = list_new(options);

	vm_rows_list(&list->vms, options->live, options->identities);
	list->count = list->vms.count;
	return (struct http_stream){ next, done, list };
}
